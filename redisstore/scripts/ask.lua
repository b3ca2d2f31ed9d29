-- ask has a task begun as soon as its holder looks, due or not.
--
-- KEYS  [1] the lease key  [2] its state hash
-- ARGV  [1] base TTL of the state in ms
-- Returns 1, or -1 where the lease key has a foreign type, -2 where its state has
--
-- Invariant: who runs it, and that nothing else runs meanwhile, is still for begin to
-- say; asking twice before a run is asking once.
local s = redis.pcall('HMGET', KEYS[2], 'asked')
local code = strange(redis.pcall('GET', KEYS[1]), s)
if code then
  return code
end
if not s[1] then
  local time = redis.call('TIME')
  local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
  redis.call('HSET', KEYS[2], 'asked', string.format('%.0f', now))
  if redis.call('PTTL', KEYS[2]) < 0 then
    redis.call('PEXPIRE', KEYS[2], ARGV[1])
  end
end
return 1
