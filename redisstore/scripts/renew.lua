-- renew restarts the TTL of each lease that still holds.
--
-- KEYS  for each lease i: [2i-1] the lease key, [2i] its state hash
-- ARGV  [1] base TTL of the state in ms
--       for each lease i: [5i-3] holder, [5i-2] token, [5i-1] lease TTL in ms,
--       [5i] '1' to restart the TTL of the state too, [5i+1] how long its poll in flight
--       may still last in ms, or 0
-- Returns for each lease 1 renewed, -1 the lease key has a foreign type, -2 its state
--       has, else who has the lease instead ('' when it is missing).
--
-- Invariant: only the holder with the current token renews; a lease that is
-- missing is never made again. A poll in flight is marked in its state, also where the
-- server has lost the writes of its start.
local call, pcall = redis.call, redis.pcall
local base, now = tonumber(ARGV[1]), nil

local function clock()
  if not now then
    local time = call('TIME')
    now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
  end
  return now
end

-- extend has a poll in flight go on as long as the lease does, up to its own bound. A
-- renewal for less that was held up on its way takes nothing back of what another gave.
local function extend(state, ttl)
  local s = call('HMGET', state, 'busy_max', 'busy_until')
  local most = tonumber(s[1] or '')
  if most then
    local to = math.max(clock() + tonumber(ttl), tonumber(s[2] or '') or 0)
    call('HSET', state, 'busy_until', string.format('%.0f', math.min(most, to)))
  end
end

-- mark says again that a poll is in flight. A mark with another token is of one that has
-- ended, else this one had not begun.
local function mark(state, token, ttl, left)
  local most = clock() + tonumber(left)
  call('HSET', state, 'busy_until', string.format('%.0f', math.min(most, clock() + tonumber(ttl))),
    'busy', token, 'busy_max', string.format('%.0f', most))
end

local function renew(holder, lease, state, me, token, ttl, refresh, busy)
  if not holder then
    holder = pcall('GET', lease) -- MGET does not tell a foreign type
    if foreign(holder) then
      return -1
    end
    if not holder then
      return ''
    end
  end
  local s = pcall('HMGET', state, 'version', 'busy')
  if foreign(s) then
    return -2
  end
  if holder ~= me or s[1] ~= token then
    return holder
  end
  call('PEXPIRE', lease, ttl)
  if s[2] == token then
    extend(state, ttl)
  elseif busy ~= '0' then
    mark(state, token, ttl, busy)
  end
  if refresh == '1' then
    local interval = tonumber(call('HGET', state, 'interval') or '') or 0
    call('PEXPIRE', state, string.format('%.0f', base + 10 * interval))
  end
  return 1
end

local leases, out = {}, {}
for i = 1, #KEYS / 2 do
  leases[i] = KEYS[2 * i - 1]
end
for i, holder in ipairs(call('MGET', unpack(leases))) do
  local o = 5 * i
  out[i] = renew(holder, leases[i], KEYS[2 * i], ARGV[o - 3], ARGV[o - 2], ARGV[o - 1], ARGV[o], ARGV[o + 1])
end
return out
