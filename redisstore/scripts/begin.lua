-- begin records the start of a poll, if it may start.
--
-- KEYS  [1] the lease key  [2] its state hash
-- ARGV  [1] holder  [2] token  [3] interval in ms  [4] longest time of the poll in ms
--       [5] name of the attempt : number of the question, or ''
--       only for tasks: [6] '1' the slot stays due until finish  [7] name of the
--       calendar that has the slots, or ''  [8] its next slot in ms, or ''
--       [9] how late a slot may be served in ms, or 0
-- Returns {1, start ms, slot ms (0 for a first poll), failures, sequence}: go ahead
--       {2, ms to wait}: not due, or another poll is in flight
--       {0, holder}: not the holder's lease, or an old token
--       {-1}: the lease key has a foreign type, {-2}: its state has
--
-- Invariant: polls of one session are never in flight together, whatever
-- happened to the lease key, and a slot is served by one token at most: the next
-- slot becomes due with the start already, and finish corrects it. (A task's slot is
-- served until finish.) The sequence grows by one with each start; where there is none
-- it is the server's time in microseconds, so it never falls.
-- An attempt that is repeated (the reply was lost) is begun anew, with its slot and its
-- sequence: its poll has not started. Any other one asks for the next slot, whether or
-- not finish came through, and whether or not the same holder found its lease again. A
-- question that comes after a later one of its token was answered begins nothing: it was
-- held up on its way, and nobody waits for the answer.
local function ms(n)
  return string.format('%.0f', n)
end

local holder = redis.pcall('GET', KEYS[1])
local s = redis.pcall('HMGET', KEYS[2], 'version', 'due', 'last', 'interval', 'busy', 'busy_until',
  'retry_at', 'failures', 'slot', 'sequence', 'plan', 'asked', 'attempt', 'busy_max')
local code = strange(holder, s)
if code then
  return {code}
end
local me, token, interval, bound = ARGV[1], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4])
if holder ~= me or s[1] ~= token then
  return {0, holder or ''}
end

local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local due, last = tonumber(s[2] or '') or 0, tonumber(s[3] or '')
local busy, busy_until = s[5], tonumber(s[6] or '') or 0
local retry_at, failures = tonumber(s[7] or '') or 0, tonumber(s[8] or '') or 0
local sequence = tonumber(s[10] or '')
local keep, plan = ARGV[6] == '1', ARGV[7] or ''
local next, grace = tonumber(ARGV[8] or ''), tonumber(ARGV[9] or '') or 0

if busy and busy ~= token and busy_until > now then
  -- A poll that is yet to begin was begun by a clock that has been set back: it lasts no
  -- longer from now than it could then.
  local most = last and last > now and now + math.max(0, (tonumber(s[14] or '') or 0) - last)
  if most and most < busy_until then
    busy_until = most
    redis.call('HSET', KEYS[2], 'busy_until', string.format('%.0f', most))
  end
  return {2, busy_until - now}
end
local attempt, question = string.match(ARGV[5], '^(%d+):(%d+)$')
local by, begun, answered = string.match(s[13] or '', '^(%d+):(%d+):(%d+)$')
local ours = attempt and by == token -- the start that was answered last is of this token
if ours and tonumber(question) < tonumber(answered) then
  return {2, 1}
end
local again = ours and busy == token and attempt == begun

-- A task's slot that was begun and not served stays due, whatever is edited meanwhile.
local open = keep and last and due > 0 and due <= last
local function reset(to)
  due = open and due or to
  redis.call('HSET', KEYS[2], 'due', ms(due), 'interval', ms(interval))
  if plan ~= (s[11] or '') then
    redis.call('HSET', KEYS[2], 'plan', plan)
  end
end
if again then
  due, retry_at = math.min(tonumber(s[9] or '') or 0, now), 0
elseif plan ~= '' then
  if s[11] ~= plan then
    reset(next) -- a new calendar
  end
elseif (s[11] or '') ~= '' or last and tonumber(s[4] or '') ~= interval then
  reset(last and last + interval or now) -- an edited interval counts from the last start
end
-- A slot or a retry this far off was written by a clock that has been set back. A
-- calendar's slots are moments of the clock itself.
if plan == '' and due > now + 2 * interval then
  due = now + interval
  redis.call('HSET', KEYS[2], 'due', ms(due))
end
if retry_at > now + interval then
  retry_at = now + interval
  redis.call('HSET', KEYS[2], 'retry_at', ms(retry_at))
end
-- Nobody began this slot in time: neither did it fail, nor did its run die.
if grace > 0 and due > 0 and now - due > grace and failures == 0 and not busy then
  reset(plan ~= '' and next or due + interval * (math.floor((now - due) / interval) + 1))
end
local asked = tonumber(s[12] or '')
if asked then -- somebody wants it now
  due, retry_at = math.min(asked, now), 0
end
local wait = math.max(due, retry_at) - now
if wait > 0 then
  return {2, wait}
end

local left = redis.call('PTTL', KEYS[1])
if left < 0 then
  left = bound
end
-- Slots count from this one if it is served in time, else from now, as finish has it.
local following = now + interval
if keep then
  following = due > 0 and due or now
elseif due > 0 and now - due <= interval / 20 then
  following = due + interval
end
sequence = again and sequence or sequence and sequence + 1 or tonumber(time[1]) * 1000000 + tonumber(time[2])
if asked then
  redis.call('HDEL', KEYS[2], 'asked')
end
redis.call('HSET', KEYS[2], 'last', ms(now), 'slot', ms(due), 'due', ms(following),
  'interval', ms(interval), 'sequence', ms(sequence), 'busy', token, 'busy_max', ms(now + bound),
  'busy_until', ms(now + math.min(bound, left)), 'attempt', attempt and token .. ':' .. ARGV[5] or '')
return {1, now, due, failures, sequence}
