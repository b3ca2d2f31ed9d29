-- look tells who has each lease.
--
-- KEYS  the lease keys
-- ARGV  none
-- Returns for each lease, one after the other: holder ('' when free), remaining ms.
--       remaining is -1 for a lease without expiry, -2 where the key has a foreign type.
--
-- Invariant: holder and remaining time are of one moment; nothing is written.
local call, pcall = redis.call, redis.pcall
local out, free = {}, {}
for i, holder in ipairs(call('MGET', unpack(KEYS))) do
  if holder then
    out[2 * i - 1], out[2 * i] = holder, call('PTTL', KEYS[i])
  else
    out[2 * i - 1], out[2 * i] = '', 0
    free[#free + 1] = KEYS[i]
  end
end
-- What is there and was not read has a foreign type, which is rare.
if #free > 0 and call('EXISTS', unpack(free)) > 0 then
  for i = 1, #KEYS do
    if out[2 * i - 1] == '' and foreign(pcall('GET', KEYS[i])) then
      out[2 * i] = -2
    end
  end
end
return out
