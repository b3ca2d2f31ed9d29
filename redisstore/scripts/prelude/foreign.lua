-- Stands before every script. foreign says that a read met a key of a type that the
-- fleet does not write; any other error reply ends the script.
local function foreign(v)
  if type(v) ~= 'table' or not v.err then
    return false
  end
  if string.find(v.err, 'WRONGTYPE', 1, true) then
    return true
  end
  error(v.err)
end
-- strange says which of the reads of a lease's two keys met one: -1 that of the lease,
-- -2 that of its state, false neither.
local function strange(holder, state)
  return foreign(holder) and -1 or foreign(state) and -2
end
