-- acquire takes each lease that is free.
--
-- KEYS  for each lease i: [2i-1] the lease key, [2i] its state hash
-- ARGV  [1] holder  [2] base TTL of the state in ms
--       for each lease i: [3i] lease TTL in ms, [3i+1] holder that abandoned it, or '',
--       [3i+2] interval of its polls in ms by the caller's document, or 0; -1 where work
--       begins with the grant, without begin
-- Returns for each lease, one after the other: flags, holder, token, remaining ms, wait ms.
--       flags 0 held by holder, -1 the lease key has a foreign type, -2 its state has
--       (nothing touched),
--       else 1 granted + 2 was ours already + 4 there was no counter + 8 the last poll failed.
--       remaining is -1 for a lease without expiry; without a holder, how long a poll of
--       the last one may still be in flight.
--
-- Invariant: the token grows by one if and only if a lease is taken; where no
-- counter exists it is the server's time in microseconds, so it never falls.
local call, pcall = redis.call, redis.pcall
local time = call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local text = string.format('%.0f', now)
local micros = string.format('%.0f', tonumber(time[1]) * 1000000 + tonumber(time[2]))
local me, base = ARGV[1], tonumber(ARGV[2])

-- raise sets the counter to its next value and says whether there was none. A
-- counter that is no number counts as none. Below 2^53 Lua's numbers are exact.
local function raise(key, version)
  local n = version and string.find(version, '^[1-9]%d*$') and tonumber(version)
  if n and n < 9007199254740991 then
    call('HSET', key, 'version', n + 1, 'since', text) -- since is for people
    return n + 1, 0
  end
  if version and type(pcall('HINCRBY', key, 'version', 1)) == 'number' then
    call('HSET', key, 'since', text)
    return call('HGET', key, 'version'), 0
  end
  call('HSET', key, 'version', micros, 'since', text)
  return micros, 4
end

-- keep restarts the TTL of a state, unless nearly all of it is left: each restart is
-- announced.
local function keep(state, life, fresh)
  if fresh or call('PTTL', state) < life - life / 100 then
    call('PEXPIRE', state, string.format('%.0f', life))
  end
end

-- flight is how long a poll may still be in flight of whose lease did not end by itself:
-- somebody deleted it, or an operator released it.
local function flight(state)
  local s = call('HMGET', state, 'busy_until', 'last', 'busy_max')
  local left, last = (tonumber(s[1] or '') or 0) - now, tonumber(s[2] or '') or 0
  if last > now then -- begun by a clock that has been set back
    left = math.min(left, (tonumber(s[3] or '') or 0) - last)
  end
  return left
end

local leases, free, out = {}, {}, {}
for i = 1, #KEYS / 2 do
  leases[i] = KEYS[2 * i - 1]
end
local holders = call('MGET', unpack(leases))
for i, lease in ipairs(leases) do
  if not holders[i] then
    free[#free + 1] = lease
  end
end
-- What is there and was not read has a foreign type, which is rare.
local odd = #free > 0 and call('EXISTS', unpack(free)) > 0

-- acquire returns what is told of a lease.
local function acquire(holder, lease, state, ttl, abandoned, wanted)
  if odd and not holder then
    holder = pcall('GET', lease)
  end
  local s = pcall('HMGET', state, 'version', 'due', 'retry_at', 'interval', 'failures')
  local code = strange(holder, s)
  if code then
    return code, '', 0, 0, 0
  end
  if not holder and wanted < 0 then
    local left = flight(state)
    if left > 0 then
      return 0, '', s[1] or 0, left, 0
    end
  end
  if not holder and not call('SET', lease, me, 'NX', 'PX', ttl) then
    holder = call('GET', lease) -- the batch named it before
  end
  local flags, token, fresh = 1, s[1], 0
  if holder and holder ~= me then
    local left = call('PTTL', lease)
    if abandoned == '' or abandoned ~= holder or left ~= -1 then
      return 0, holder, token or 0, left, 0
    end
    call('DEL', lease)
    call('SET', lease, me, 'NX', 'PX', ttl)
    holder = false
  end
  if holder then
    flags = 3
    call('PEXPIRE', lease, ttl)
  end
  if not holder or not token then
    token, fresh = raise(state, token)
  end
  local interval, due = tonumber(s[4] or '') or 0, tonumber(s[2] or '') or 0
  keep(state, base + 10 * interval, fresh == 4)
  if wanted > 0 and wanted ~= interval then
    local last = tonumber(call('HGET', state, 'last') or '')
    if last then
      interval, due = wanted, last + wanted -- edited since: begin will say the same
    end
  end
  local next = math.max(due, tonumber(s[3] or '') or 0)
  local wait = math.max(0, next - now)
  if interval > 0 then
    wait = math.min(wait, 2 * interval)
  end
  if s[5] and s[5] ~= '0' then
    flags = flags + 8
  end
  return flags + fresh, me, token, tonumber(ttl), wait
end

for i, lease in ipairs(leases) do
  local o = 5 * i - 4
  out[o], out[o + 1], out[o + 2], out[o + 3], out[o + 4] =
    acquire(holders[i], lease, KEYS[2 * i], ARGV[3 * i], ARGV[3 * i + 1], tonumber(ARGV[3 * i + 2]))
end
return out
