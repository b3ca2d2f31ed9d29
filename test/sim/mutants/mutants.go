package main

// edit replaces a text that occurs exactly once in a file.
type edit struct{ file, from, to string }

// mutant is a way to break the product.
type mutant struct {
	name  string
	edits []edit
}

// mutants are all of them, after the build that is whole.
func mutants() []mutant {
	all := []mutant{{name: "nothing is broken"}}
	all = append(all, trust()...)
	all = append(all, scripts()...)
	return append(all, decisions()...)
}

// trust has mutants of the node's own reckoning.
func trust() []mutant {
	const cell, renew = "lease/cell/cell.go", "actors/renewer/renew.go"
	return []mutant{
		{"the cell has no deadline", []edit{
			{cell, "	c.cancel(ErrExpired)\n}", "}"},
			{cell, "now.Before(c.until) && !c.slept(now)", "!now.IsZero()"},
		}},
		{"trust counts from the reply", []edit{
			{renew, "			t.cell.Extend(sent.Add(ttl - margin))", "			t.cell.Extend(time.Now().Add(ttl - margin))"},
		}},
		{"trust has no margin", []edit{
			{renew, "			t.cell.Extend(sent.Add(ttl - margin))", "			t.cell.Extend(sent.Add(ttl))"},
		}},
		{"a refused renewal counts as one", []edit{
			{renew, "			t.cell.Kill(lossOf(v))", "			t.cell.Extend(sent.Add(ttl - margin))"},
		}},
		{"a lease is released while its poll goes on", []edit{
			{"actors/leaseholder/actor.go", "		c.Send(h.poller, &poller.Stop{})\n", `		c.Send(h.poller, &poller.Stop{})
		c.Send(h.deps.Renewer, &renewer.Release{
			Release: lease.Release{Grant: h.cfg.Term.Grant}, ReplyTo: tree.Self(c), GiveUp: h.cell.TrustedUntil(),
		})
`},
		}},
	}
}

// scripts has mutants of what Redis decides.
func scripts() []mutant {
	const dir = "redisstore/scripts/"
	return []mutant{
		{"begin does not check holder and token", []edit{
			{dir + "begin.lua", "if holder ~= me or s[1] ~= token then", "if false then"},
		}},
		{"begin ignores a poll in flight", []edit{
			{dir + "begin.lua", "if busy and busy ~= token and busy_until > now then", "if false then"},
		}},
		{"begin ignores the due time", []edit{
			{dir + "begin.lua", "local wait = math.max(due, retry_at) - now", "local wait = 0"},
		}},
		{"finish is not fenced", []edit{
			{dir + "finish.lua", "if holder ~= me or s[1] ~= token then", "if false then"},
			{dir + "finish.lua", "if not current then", "if false then"},
		}},
		{"the token is not raised", []edit{
			{dir + "acquire.lua", "'HINCRBY', key, 'version', 1)", "'HINCRBY', key, 'version', 0)"},
		}},
		{"a new counter starts at one", []edit{
			{dir + "acquire.lua", "redis.call('HSET', key, 'version', micros)\n  return micros, 4", "redis.call('HSET', key, 'version', '1')\n  return '1', 4"},
		}},
		{"acquire takes what another holds", []edit{
			{dir + "acquire.lua", "if holder and holder ~= me then", "if false then"},
		}},
		{"release deletes another's lease", []edit{
			{dir + "release.lua", "if holder == me and s[1] == token then", "if holder then"},
		}},
		{"renew makes a missing lease again", []edit{
			{dir + "renew.lua", "    return ''\n", "    redis.call('SET', lease, me, 'PX', ARGV[1])\n    return 1\n"},
		}},
		{"renew does not check the holder", []edit{
			{dir + "renew.lua", "if holder ~= me or s[1] ~= token then", "if false then"},
		}},
	}
}

// decisions has mutants of the plan, and of what follows from it.
func decisions() []mutant {
	const dir = "actors/membership/"
	return []mutant{
		{"the hash has no finaliser", []edit{
			{"planner/name.go", "func mix(h uint64) uint64 {\n", "func mix(h uint64) uint64 {\n	if h != 0 {\n		return h\n	}\n"},
		}},
		{"a holder believes that its lease went", []edit{
			{dir + "claims.go", "m.out.tells = append(m.out.tells, tell{id: c.id, message: &leaseholder.Verify{}})", "m.release(c, leaseholder.Rebalance)"},
		}},
		{"nobody holds off after a restart", []edit{
			{dir + "hints.go", "	m.forgotAt = now\n", ""},
		}},
		{"nothing is ever scanned again", []edit{
			{dir + "actor.go", "	m.out.list = true\n	a.round++", "	a.round++\n	if a.round > 0 {\n		return\n	}"},
			{dir + "hints.go", "	m.out.list, m.out.scan = true, true\n", ""},
		}},
		{"a paused session is still polled", []edit{
			{"session/session.go", "return s.Kind != External && !s.Paused", "return s.Kind != External"},
		}},
		{"a draining node keeps its heartbeat", []edit{
			{"node/node.go", "if err := n.heart.Leave(leave); err != nil {", "if err := leave.Err(); err != nil {"},
		}},
	}
}
