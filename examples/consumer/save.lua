-- save keeps a result unless the session has one that is as new.
-- KEYS  [1] a hash for the session
-- ARGV  [1] token  [2] sequence  [3] the event
-- Returns 1 accepted, 0 refused
-- Numbers are compared as text, since Lua's are exact to 2^53 only.
local function after(a, b)
  if #a ~= #b then
    return #a > #b
  end
  return a > b
end

local token = redis.call('HGET', KEYS[1], 'token')
local sequence = redis.call('HGET', KEYS[1], 'sequence')
if token and not after(ARGV[1], token) and not (ARGV[1] == token and after(ARGV[2], sequence)) then
  return 0
end
redis.call('HSET', KEYS[1], 'token', ARGV[1], 'sequence', ARGV[2], 'event', ARGV[3])
return 1
