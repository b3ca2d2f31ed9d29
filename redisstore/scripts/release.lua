-- release ends each lease that still holds.
--
-- KEYS  for each lease i: [2i-1] the lease key, [2i] its state hash
-- ARGV  for each lease i: [3i-2] holder, [3i-1] token, [3i] '1' to forget the state,
--       'forced' where not the holder asks
-- Returns for each lease 1 released, 0 not ours (any more), -1 the lease key
--       has a foreign type, -2 its state has.
--
-- Invariant: a lease of another holder or of another token is never touched, and
-- a state is forgotten only where no lease is left. Who is not the holder can't know
-- that no poll is in flight: then its mark stays, and begin waits for it. Where the
-- state with the token has gone, the holder alone tells: nobody can have had the lease
-- since.
local call, pcall = redis.call, redis.pcall

local function release(holder, lease, state, me, token, forget)
  if not holder then
    holder = pcall('GET', lease) -- MGET does not tell a foreign type
  end
  local s = pcall('HMGET', state, 'version', 'busy')
  local code = strange(holder, s)
  if code then
    return code
  end
  local released = 0
  if holder == me and (s[1] == token or not s[1]) then
    released = call('DEL', lease) -- 0 where the batch named it before
    holder = false
    if s[2] == token and forget ~= 'forced' then
      call('HDEL', state, 'busy', 'busy_until', 'busy_max')
    end
  end
  if forget == '1' and not holder then
    call('DEL', state)
  end
  return released
end

local leases, out = {}, {}
for i = 1, #KEYS / 2 do
  leases[i] = KEYS[2 * i - 1]
end
for i, holder in ipairs(call('MGET', unpack(leases))) do
  out[i] = release(holder, leases[i], KEYS[2 * i], ARGV[3 * i - 2], ARGV[3 * i - 1], ARGV[3 * i])
end
return out
