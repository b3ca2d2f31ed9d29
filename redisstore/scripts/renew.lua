-- renew restarts the TTL of each lease that still holds.
--
-- KEYS  for each lease i: [2i-1] the lease key, [2i] its state hash
-- ARGV  [1] lease TTL in ms  [2] base TTL of the state in ms
--       for each lease i: [3i] holder, [3i+1] token, [3i+2] '1' to restart the
--       TTL of the state too
-- Returns for each lease 1 renewed, -1 a key has a foreign type, else who has the
--       lease instead ('' when it is missing).
--
-- Invariant: only the holder with the current token renews; a lease that is
-- missing is never made again.
local ttl, base, now = tonumber(ARGV[1]), tonumber(ARGV[2]), nil

local function clock()
  if not now then
    local time = redis.call('TIME')
    now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
  end
  return now
end

local function renew(lease, state, me, token, refresh)
  local holder = redis.pcall('GET', lease)
  if foreign(holder) then
    return -1
  end
  if not holder then
    return ''
  end
  local s = redis.pcall('HMGET', state, 'version', 'busy', 'busy_max', 'interval')
  if foreign(s) then
    return -1
  end
  if holder ~= me or s[1] ~= token then
    return holder
  end
  redis.call('PEXPIRE', lease, ARGV[1])
  -- A poll in flight may go on as long as the lease does, up to its own bound.
  if s[2] == token and s[3] then
    local till = math.min(tonumber(s[3]), clock() + ttl)
    redis.call('HSET', state, 'busy_until', string.format('%.0f', till))
  end
  if refresh == '1' then
    local interval = tonumber(s[4] or '') or 0
    redis.call('PEXPIRE', state, string.format('%.0f', base + 10 * interval))
  end
  return 1
end

local out = {}
for i = 1, #KEYS / 2 do
  out[i] = renew(KEYS[2 * i - 1], KEYS[2 * i], ARGV[3 * i], ARGV[3 * i + 1], ARGV[3 * i + 2])
end
return out
