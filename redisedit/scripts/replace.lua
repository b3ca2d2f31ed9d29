-- replace writes a document that is still as it was read.
--
-- KEYS  [1] the document
-- ARGV  [1] what it was  [2] what it is to be
-- Returns 1 written, 0 it is another one by now, or gone, -1 no string
--
-- Invariant: what somebody else wrote is never lost; an expiry stays.
local now = redis.pcall('GET', KEYS[1])
if type(now) == 'table' and now.err then
  if string.find(now.err, 'WRONGTYPE', 1, true) then
    return -1
  end
  error(now.err)
end
if now ~= ARGV[1] then
  return 0
end
redis.call('SET', KEYS[1], ARGV[2], 'KEEPTTL')
return 1
