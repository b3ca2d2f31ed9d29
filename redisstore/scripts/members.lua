-- members reads heartbeats, and what is wanted of their nodes.
--
-- KEYS  for each node i: [2i-1] its heartbeat, [2i] its cordon
-- ARGV  [1] how many bytes of a cordon are of interest
-- Returns for each node, one after the other: type of the heartbeat, remaining ms, cordon ('' where
--       there is none). remaining is -1 without an expiry, -2 where there is no heartbeat.
--
-- Invariant: nothing is written. A heartbeat past its deadline is removed by the reading.
local call = redis.call
local out = {}
for i, value in ipairs(call('MGET', unpack(KEYS))) do
  local o = math.floor((i - 1) / 2) * 3
  if i % 2 == 0 then
    out[o + 3] = string.sub(value or '', 1, tonumber(ARGV[1])) -- a cordon of a foreign type is none
  else
    out[o + 1] = value and 'string' or call('TYPE', KEYS[i]).ok
    out[o + 2] = call('PTTL', KEYS[i])
  end
end
return out
