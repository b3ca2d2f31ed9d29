-- read tells who has each lease, and with which token.
--
-- KEYS  for each lease i: [2i-1] the lease key, [2i] its state hash
-- ARGV  more fields of the state hashes to read
-- Returns for each lease {holder ('' when free), token ('0': none yet), remaining ms,
--       the value of each field, or false}, or {-1} where the lease key has a foreign type,
--       {-2} where its state has.
--       remaining is -1 for a lease without expiry.
--
-- Invariant: holder, token and remaining time are of one moment; nothing is written.
local function read(lease, state)
  local holder = redis.pcall('GET', lease)
  local s = redis.pcall('HMGET', state, 'version', unpack(ARGV))
  local code = strange(holder, s)
  if code then
    return {code}
  end
  local left = 0
  if holder then
    left = redis.call('PTTL', lease)
  end
  return {holder or '', s[1] or '0', left, unpack(s, 2)}
end

local out = {}
for i = 1, #KEYS / 2 do
  out[i] = read(KEYS[2 * i - 1], KEYS[2 * i])
end
return out
