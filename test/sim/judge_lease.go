package sim

import (
	"slices"
	"strconv"
	"time"
)

// acquired books a lease that was set.
func (j *judge) acquired(l *ledger, holder, ttl string) {
	now := j.now()
	if j.running.name != "acquire" || j.running.caller(0).holder != holder {
		j.convict(l, "foreign", "%s set the lease for %s", j.running.name, holder)
	}
	j.settled(l)
	if g := l.current(); g != nil && g.sure(now) {
		j.doubt(l, j.byData(l, g.extended), "stolen", "%s acquired the lease of %s, which had %s left", holder, g.holder, g.until().Sub(now))
	}
	j.churned(l)
	l.grants = append(l.grants, &grant{holder: holder, begun: now, extended: now, checked: now, ttl: millis(ttl)})
	l.denied = denial{} // was of another lease, though Redis may give its token once more after it forgot
	j.saw(l, "acquired by", holder, 0)
}

// churn is how many acquisitions of one session within a TTL have no good reason.
const churn = 100

func (j *judge) churned(l *ledger) {
	n := len(l.grants)
	if n < churn {
		return
	}
	if took := j.now().Sub(l.grants[n-churn].begun); took < j.set.ttl {
		j.convict(l, "churn", "acquired %d times in %s", churn, took)
	}
}

// settled checks that the last acquisition has got its own token.
func (j *judge) settled(l *ledger) {
	if g := l.current(); g != nil && g.token == 0 {
		g.token = -1 // once is enough
		j.convict(l, "token", "%s acquired the lease without a new token", g.holder)
	}
}

// raised books a counter that goes up by one, as every acquisition must have it.
func (j *judge) raised(l *ledger, by string) {
	switch {
	case by != "1":
		j.convict(l, "token", "raised by %s", by)
	case !l.known:
		j.unknown(l)
		return
	}
	l.counter++
	j.number(l, l.counter)
}

// unknown books a token whose value will be told by what uses it.
func (*judge) unknown(l *ledger) {
	if g := l.current(); g != nil && g.token == 0 {
		g.token = unknown
	}
}

// unknown is the token of a grant whose counter was changed behind the judge's back.
const unknown = -2

// renumbered books a counter that is set: to the next number, or to start from the
// server's time.
func (j *judge) renumbered(l *ledger, value string) {
	n, err := strconv.ParseInt(value, 10, 64)
	if err != nil {
		j.convict(l, "token", "set to %q", value)
		return
	}
	if l.known && n != l.counter+1 {
		j.doubt(l, j.byData(l, j.told(l.current())), "token", "set to %d although the counter was %d", n, l.counter)
	}
	l.counter, l.known = n, true
	j.number(l, n)
}

// number gives the current grant its token.
func (j *judge) number(l *ledger, token int64) {
	if token <= l.high {
		j.convict(l, "token", "%d after %d", token, l.high)
	}
	l.high = max(l.high, token)
	now := j.now()
	g := l.current()
	switch {
	case g == nil:
		j.convict(l, "token", "%d without an acquisition", token)
		return
	case g.token == 0 || g.token == unknown:
		g.token, g.checked = token, now
	default: // the holder found its lease, and no counter
		next := *g
		next.token, next.begun, next.checked = token, now, now
		l.grants = append(l.grants, &next)
	}
	j.saw(l, "token for", l.current().holder, token)
}

// renewed books a TTL that starts anew.
func (j *judge) renewed(l *ledger, key, ttl string) {
	j.settled(l)
	now, g := j.now(), l.current()
	if g == nil {
		j.doubt(l, j.byData(l, j.now()), "renewal", "of a lease that nobody acquired")
		return
	}
	if !g.alive(now) {
		j.doubt(l, j.byData(l, g.told()), "renewal", "of the lease of %s, which has ended", g.holder)
	}
	if by, ok := j.owned(l, key, "renewal"); ok && j.running.name == "renew" { // acquire asks for no token
		g.checked = now
		if left := millis(by.busy); left > 0 {
			g.marked, g.covered = now, now.Add(left)
		}
	}
	g.extended, g.ttl, g.ended = now, millis(ttl), time.Time{}
	l.denied = denial{}
	j.saw(l, "renewed for", g.holder, g.token)
}

// released books a lease that a script deleted.
func (j *judge) released(l *ledger, key string) {
	j.settled(l)
	now, g := j.now(), l.current()
	if g == nil {
		j.doubt(l, j.byData(l, j.now()), "release", "of a lease that nobody acquired")
		return
	}
	j.saw(l, "lease deleted of", g.holder, g.token)
	if j.running.name != "acquire" { // which ends one that has no expiry and no holder any more
		j.owned(l, key, "release")
	}
	for _, f := range l.flying {
		if f.grant == g && !j.running.forced(key) {
			p := f.Poll
			j.doubt(l, func() (string, bool) {
				return "a process stood still", j.still(p.Instance, now)
			}, "release", "before the poll of %s has ended", g.holder)
		}
	}
	g.ended = now
	if j.running.forced(key) {
		g.forced = now
	}
}

// owned checks that the script that runs was called by the lease's holder, and returns
// the call.
func (j *judge) owned(l *ledger, key, check string) (by caller, ok bool) {
	g := l.current()
	callers := j.running.callers(key)
	i := slices.IndexFunc(callers, func(c caller) bool {
		return c.holder == g.holder && (g.token == unknown || c.token == "" || c.token == strconv.FormatInt(g.token, 10))
	})
	if i < 0 {
		j.doubt(l, j.byData(l, g.told()), check, "%v changes the lease of %s (token %d)", callers, g.holder, g.token)
		return caller{}, false
	}
	return callers[i], true
}

// began books a start that begin recorded.
func (j *judge) began(l *ledger, f map[string]string) {
	j.settled(l)
	token, _ := strconv.ParseInt(f["busy"], 10, 64)
	now, g := j.now(), l.current()
	if g != nil && g.token == unknown {
		l.counter, l.known = token, true
		j.number(l, token)
	}
	j.saw(l, "begin for slot", f["slot"], token)
	if holder := j.running.caller(0).holder; g == nil || g.token != token || g.holder != holder || !g.alive(now) {
		j.doubt(l, j.byData(l, j.told(g)), "begin", "passed with token %d, which is not that of the lease", token)
	} else {
		g.checked = now
	}
	at, _ := strconv.ParseInt(f["last"], 10, 64)
	if slot, _ := strconv.ParseInt(f["slot"], 10, 64); slot > at {
		j.convict(l, "slot", "begun %d ms before it is due", slot-at)
	}
	wished := j.granted(l, f["slot"], at)
	j.given(l, f["slot"], token, wished)
	j.called(l, f["slot"], at, wished)
	if !l.start.used {
		l.spent = append(l.spent, l.start)
	}
	l.start = start{
		by: j.running.caller(0).holder, token: token, at: f["last"], slot: f["slot"], seen: now, open: true, wished: wished,
	}
	l.plan.due, l.plan.seen = f["due"], now
}

// finished books a result that finish recorded in the state.
func (j *judge) finished(l *ledger, f map[string]string) {
	now, g := j.now(), l.current()
	if r := j.reported(l); r != nil {
		r.recorded = true
	}
	switch {
	case f["started"] != l.start.at:
		j.doubt(l, j.byData(l, l.start.seen), "fence", "a result of the start at %s was recorded, the last start was at %s", f["started"], l.start.at)
	case g == nil || g.token != l.start.token || !g.alive(now):
		since := l.start.seen
		if g != nil && g.token == l.start.token && g.extended.Before(since) {
			since = g.extended // a lease that was deprived of its expiry since does not end
		}
		j.doubt(l, j.byData(l, since), "fence", "a result with token %d was recorded", l.start.token)
	}
	if f["ok"] == "1" && !l.start.wished {
		l.plan.done, _ = strconv.ParseInt(l.start.slot, 10, 64)
		l.plan.ended = now
	}
}

// resulted books a result that went into the stream.
func (j *judge) resulted(session, token, holder string) {
	l, now := j.ledger(session), j.now()
	g := l.current()
	if r := j.reported(l); r != nil {
		r.streamed = true
	}
	if g == nil || strconv.FormatInt(g.token, 10) != token || g.holder != holder || !g.alive(now) {
		j.doubt(l, j.byData(l, j.told(g)), "fence", "a result of %s with token %s is in the stream", holder, token)
	}
}

// told is since when a change of data explains that a grant is not what there is. Where
// there is none, nothing before now does.
func (j *judge) told(g *grant) time.Time {
	if g == nil {
		return j.now()
	}
	return g.told()
}

// byData explains by keys that were changed since from by something else than nodes.
func (j *judge) byData(l *ledger, from time.Time) func() (string, bool) {
	known := !l.meddle.Before(from) || !j.meddled.Before(from)
	return func() (string, bool) { return "data was changed", known }
}
