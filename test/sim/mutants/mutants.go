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
		{name: "the cell has no deadline", edits: []edit{
			{cell, "	c.finish(ErrExpired, time.Now())\n}", "}"},
			{cell, "	return c.holds(time.Now()) && !c.suspended", "	return c.alive() && !c.suspended"},
		}},
		{name: "trust has no margin", edits: []edit{
			{renew, "			t.cell.Extend(sent.Add(renewals[i].TTL - margin))", "			t.cell.Extend(sent.Add(renewals[i].TTL))"},
		}},
		{name: "a refused renewal counts as one", edits: []edit{
			{renew, "			t.cell.Kill(lossOf(v))", "			t.cell.Extend(sent.Add(renewals[i].TTL - margin))"},
		}},
		{name: "a lease that was not renewed is polled on", edits: []edit{
			{cell, "	return c.holds(time.Now()) && !c.suspended", "	return c.holds(time.Now())"},
		}},
		{name: "a lease is released while its poll goes on", edits: []edit{
			{"actors/leaseholder/actor.go", "		c.Send(h.poller, &poller.Stop{})\n", `		c.Send(h.poller, &poller.Stop{})
		c.Send(h.deps.Renewer, &renewer.Release{
			Release: lease.Release{Grant: h.cell.Grant()}, ReplyTo: tree.Self(c), GiveUp: h.cell.TrustedUntil(),
		})
`},
		}},
	}
}

// scripts has mutants of what Redis decides.
func scripts() []mutant {
	const dir = "redisstore/scripts/"
	return []mutant{
		{name: "begin does not check holder and token", edits: []edit{
			{dir + "begin.lua", "if holder ~= me or s[1] ~= token then", "if false then"},
		}},
		{name: "begin ignores a poll in flight", edits: []edit{
			{dir + "begin.lua", "if busy and busy ~= token and busy_until > now then", "if false then"},
		}},
		{name: "begin takes any attempt for a repetition", edits: []edit{
			{dir + "begin.lua", "local again = ours and busy == token and attempt == begun", "local again = busy == token"},
		}},
		{name: "begin ignores the due time", edits: []edit{
			{dir + "begin.lua", "local wait = math.max(due, retry_at) - now", "local wait = 0"},
		}},
		{name: "begin gives a task's slot up", edits: []edit{
			{dir + "begin.lua", "if keep then\n", "if false then\n"},
		}},
		{name: "begin keeps every slot", edits: []edit{
			{dir + "begin.lua", "if keep then\n", "if true then\n"},
		}},
		{name: "finish is not fenced", edits: []edit{
			{dir + "finish.lua", "if holder ~= me or s[1] ~= token then", "if false then"},
			{dir + "finish.lua", "if not current then", "if false then"},
		}},
		{name: "finish records nothing", edits: []edit{
			{dir + "finish.lua", "if not current then", "if true then"},
		}},
		{name: "results do not go into the stream", edits: []edit{
			{dir + "finish.lua", "if KEYS[3] then", "if false then"},
		}},
		{name: "the token is not raised", edits: []edit{
			{dir + "acquire.lua", "'version', n + 1, 'since'", "'version', n, 'since'"},
			{dir + "acquire.lua", "    return n + 1, 0", "    return n, 0"},
		}},
		{name: "a new counter starts at one", edits: []edit{
			{dir + "acquire.lua", "call('HSET', key, 'version', micros, 'since', text)\n  return micros, 4", "call('HSET', key, 'version', '1', 'since', text)\n  return '1', 4"},
		}},
		{name: "acquire takes what another holds", edits: []edit{
			{dir + "acquire.lua", "if holder and holder ~= me then", "if false then"},
		}},
		{name: "release deletes another's lease", edits: []edit{
			{dir + "release.lua", "if holder == me and (s[1] == token or not s[1]) then", "if holder then"},
		}},
		{name: "renew makes a missing lease again", edits: []edit{
			{dir + "renew.lua", "    return ''\n", "    redis.call('SET', lease, me, 'PX', ttl)\n    return 1\n"},
		}},
		{name: "renew does not check the holder", edits: []edit{
			{dir + "renew.lua", "if holder ~= me or s[1] ~= token then", "if false then"},
		}},
	}
}

// decisions has mutants of the plan, and of what follows from it.
func decisions() []mutant {
	const dir = "actors/membership/"
	return []mutant{
		{name: "a holder believes that its lease went", edits: []edit{
			{dir + "claims.go", "m.out.tells = append(m.out.tells, tell{id: c.id, message: &leaseholder.Verify{}})", "m.release(c, leaseholder.Rebalance)"},
		}},
		{name: "a node is believed to be gone because an event says so", edits: []edit{
			{
				dir + "view.go", "instance]; known {\n		m.out.check = append(m.out.check, instance)",
				"instance]; known {\n		m.onMember(lease.Member{Instance: instance}, time.Now())",
			},
		}},
		{name: "nothing is ever scanned again", edits: []edit{
			{dir + "actor.go", "	m := a.machine\n	a.round++", "	m := a.machine\n	a.round++\n	if a.round > 0 {\n		return\n	}"},
			{dir + "hints.go", "	m.out.list, m.out.scan = true, true\n	if g.Server", "	if g.Server"},
		}},
		{name: "a paused session is still polled", edits: []edit{
			{"session/session.go", "return s.Kind != External && !s.Paused", "return s.Kind != External"},
		}},
		{name: "a draining node keeps its heartbeat", edits: []edit{
			{"node/node.go", "if err := n.heart.Leave(ctx); err != nil {", "if err := ctx.Err(); err != nil {"},
		}},
	}
}
