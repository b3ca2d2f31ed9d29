-- acquire takes each lease that is free.
--
-- KEYS  for each lease i: [2i-1] the lease key, [2i] its state hash
-- ARGV  [1] holder  [2] base TTL of the state in ms
--       for each lease i: [3i] lease TTL in ms, [3i+1] holder that abandoned it, or '',
--       [3i+2] interval of its polls in ms by the caller's document, or 0
-- Returns for each lease {flags, holder, token, remaining ms, wait ms}:
--       flags 0 held by holder, -1 a key has a foreign type (nothing touched),
--       else 1 granted + 2 was ours already + 4 there was no counter.
--       remaining is -1 for a lease without expiry.
--
-- Invariant: the token grows by one if and only if a lease is taken; where no
-- counter exists it is the server's time in microseconds, so it never falls.
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local micros = string.format('%.0f', tonumber(time[1]) * 1000000 + tonumber(time[2]))
local me, base = ARGV[1], tonumber(ARGV[2])

-- raise sets the counter to its next value and says whether there was none. A
-- counter that is no number counts as none.
local function raise(key, version)
  if version then
    local raised = redis.pcall('HINCRBY', key, 'version', 1)
    if type(raised) == 'number' then
      return redis.call('HGET', key, 'version'), 0
    end
  end
  redis.call('HSET', key, 'version', micros)
  return micros, 4
end

local function acquire(lease, state, ttl, abandoned, wanted)
  local holder = redis.pcall('GET', lease)
  local s = redis.pcall('HMGET', state, 'version', 'due', 'retry_at', 'interval', 'last')
  if foreign(holder) or foreign(s) then
    return {-1, '', '0', 0, 0}
  end
  if holder and holder ~= me then
    local left = redis.call('PTTL', lease)
    if abandoned == '' or abandoned ~= holder or left ~= -1 then
      return {0, holder, s[1] or '0', left, 0}
    end
    redis.call('DEL', lease)
    holder = false
  end
  local flags, token, fresh = 1, s[1], 0
  if holder then
    flags = 3
    redis.call('PEXPIRE', lease, ttl)
    if not token then
      token, fresh = raise(state, token)
    end
  else
    redis.call('SET', lease, me, 'NX', 'PX', ttl)
    token, fresh = raise(state, token)
    redis.pcall('HSET', state, 'since', string.format('%.0f', now)) -- for people
  end
  local interval, due = tonumber(s[4] or '') or 0, tonumber(s[2] or '') or 0
  redis.call('PEXPIRE', state, string.format('%.0f', base + 10 * interval))
  local last = tonumber(s[5] or '')
  if wanted > 0 and wanted ~= interval and last then
    interval, due = wanted, last + wanted -- edited since: begin will say the same
  end
  local next = math.max(due, tonumber(s[3] or '') or 0)
  local wait = math.max(0, next - now)
  if interval > 0 then
    wait = math.min(wait, 2 * interval)
  end
  return {flags + fresh, me, token, tonumber(ttl), wait}
end

local out = {}
for i = 1, #KEYS / 2 do
  out[i] = acquire(KEYS[2 * i - 1], KEYS[2 * i], ARGV[3 * i], ARGV[3 * i + 1], tonumber(ARGV[3 * i + 2]))
end
return out
