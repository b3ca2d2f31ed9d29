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
