-- note tells those that start that Redis may have lost data.
--
-- KEYS  [1] the note
-- ARGV  [1] who saw it, [2] for how many ms it is told
-- Returns for how many ms it is told from now on.
--
-- Invariant: a note is told for no less than those before it, each from its own time. It says
--            for how long it is told, so that who reads it knows since when. A key of a
--            foreign type is left alone.
local call = redis.call
local left, keep = call('PTTL', KEYS[1]), tonumber(ARGV[2])
if foreign(redis.pcall('GET', KEYS[1])) then
  return left
end
keep = math.max(keep, left)
call('SET', KEYS[1], string.format('%.0f %s', keep, ARGV[1]), 'PX', keep)
return keep
