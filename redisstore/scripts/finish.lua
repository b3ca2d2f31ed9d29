-- finish records the end of a poll, if its token is still the current one.
--
-- KEYS  [1] the lease key  [2] its state hash  [3] the stream of results, on a
--       single server that has one
-- ARGV  [1] holder  [2] token  [3] base TTL of the state in ms  [4] next due ms, or ''
--       [5] retry not before ms, or ''  [6] failures  [7] ok '1' or '0'  [8] class
--       [9] error  [10] status  [11] duration ms  [12] bytes  [13] started ms
--       only with a stream: [14] session  [15] the result as an event  [16] most entries of the stream
-- Returns {1} recorded (now or before), {2, error} recorded but not appended to the stream,
--       {0, holder} refused, {-1} the lease key has a foreign type, {-2} its state has
--
-- Invariant: a result with an old token changes nothing but the poll's own mark
-- that it is in flight, which a successor need not wait for any more. A repetition
-- (the reply was lost), or one that comes late, changes nothing. A start that the server
-- forgot, in a fail-over that kept the lease and its token, is known again.
local holder = redis.pcall('GET', KEYS[1])
local s = redis.pcall('HMGET', KEYS[2], 'version', 'busy', 'interval', 'last')
local code = strange(holder, s)
if code then
  return {code}
end
local me, token = ARGV[1], ARGV[2]
local current = s[2] == token and s[4] == ARGV[13]
local lost = s[1] == token and (tonumber(s[4] or '') or 0) < (tonumber(ARGV[13]) or 0)
if current or lost and s[2] == token then
  redis.call('HDEL', KEYS[2], 'busy', 'busy_until', 'busy_max')
end
if holder ~= me or s[1] ~= token then
  return {0, holder or ''}
end
if lost then
  redis.call('HSET', KEYS[2], 'last', ARGV[13])
elseif not current then
  return {1}
end

local function set(field, value)
  if value == '' then
    redis.call('HDEL', KEYS[2], field)
  else
    redis.call('HSET', KEYS[2], field, value)
  end
end
set('due', ARGV[4])
set('retry_at', ARGV[5])
redis.call('HSET', KEYS[2], 'failures', ARGV[6], 'ok', ARGV[7], 'class', ARGV[8], 'error', ARGV[9],
  'status', ARGV[10], 'duration_ms', ARGV[11], 'bytes', ARGV[12], 'started', ARGV[13])
local life = tonumber(ARGV[3]) + 10 * (tonumber(s[3] or '') or 0)
if redis.call('PTTL', KEYS[2]) < life - life / 100 then -- each restart is announced
  redis.call('PEXPIRE', KEYS[2], string.format('%.0f', life))
end
if KEYS[3] then
  local added = redis.pcall('XADD', KEYS[3], 'MAXLEN', '~', ARGV[16], '*', 'session', ARGV[14],
    'token', token, 'event', ARGV[15])
  if type(added) == 'table' and added.err then
    return {2, added.err}
  end
end
return {1}
