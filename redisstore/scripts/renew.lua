-- renew restarts the TTL of each lease that still holds.
--
-- KEYS  for each lease i: [2i-1] the lease key, [2i] its state hash
-- ARGV  [1] base TTL of the state in ms
--       for each lease i: [4i-2] holder, [4i-1] token, [4i] lease TTL in ms,
--       [4i+1] '1' to restart the TTL of the state too
-- Returns for each lease 1 renewed, -1 a key has a foreign type, else who has the
--       lease instead ('' when it is missing).
--
-- Invariant: only the holder with the current token renews; a lease that is
-- missing is never made again.
local call, pcall = redis.call, redis.pcall
local base, now = tonumber(ARGV[1]), nil

local function clock()
  if not now then
    local time = call('TIME')
    now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
  end
  return now
end

-- extend has a poll in flight go on as long as the lease does, up to its own bound.
local function extend(state, ttl)
  local most = tonumber(call('HGET', state, 'busy_max') or '')
  if most then
    call('HSET', state, 'busy_until', string.format('%.0f', math.min(most, clock() + tonumber(ttl))))
  end
end

local function renew(holder, lease, state, me, token, ttl, refresh)
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
    return -1
  end
  if holder ~= me or s[1] ~= token then
    return holder
  end
  call('PEXPIRE', lease, ttl)
  if s[2] == token then
    extend(state, ttl)
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
  local o = 4 * i
  out[i] = renew(holder, leases[i], KEYS[2 * i], ARGV[o - 2], ARGV[o - 1], ARGV[o], ARGV[o + 1])
end
return out
