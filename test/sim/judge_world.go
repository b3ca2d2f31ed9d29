package sim

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"leasehold/rediskey"
)

// bailiff shows the judge the world. Its methods run on the engine's goroutine.
type bailiff struct {
	*judge
	w *world

	settled int // of the faults that were applied, how many before the last calm ended
	owners  map[string]string
}

func newReferee(w *world) referee {
	b := &bailiff{w: w}
	t := w.scenario.Timings
	set := settings{ttl: t.LeaseTTL.D(), margin: t.Margin.D(), longest: t.Longest.D(), timeout: t.Timeout.D()}
	b.judge = newJudge(set, b, time.Now, w.fleet.Mini.InScript)
	w.fleet.Hook(b.command)
	w.refused = b.denied
	w.fleet.Mini.OnReplace(b.replaced)
	w.fleet.Target.Observe(b.judge)
	return b
}

// step implements referee.
func (b *bailiff) step() {
	b.compare()
	b.left()
	b.judge.step()
}

// left checks that a node that stopped took its heartbeat away, if it could.
func (b *bailiff) left() {
	for _, d := range b.w.drains {
		if d.judged {
			continue
		}
		select {
		case <-d.Done:
		default:
			continue
		}
		d.judged = true
		if b.w.fleet.Mini.Exists(heartbeats+d.Name) && b.w.reachable(d.Asked) {
			b.mu.Lock()
			b.convict(nil, "drain", "%s has stopped, and its heartbeat goes on", d.Name)
			b.mu.Unlock()
		}
	}
}

// calm implements referee.
func (b *bailiff) calm() {
	b.step()
	if b.err() != nil {
		return
	}
	t := b.w.scenario.Timings
	s := scene{
		leases: b.leases(), settled: time.Now().Add(-2 * t.Longest.D()), change: b.change(), slowReply: b.slowReply(),
	}
	for _, d := range b.w.docs {
		ttl := d.LeaseTTL
		if ttl == 0 {
			ttl = t.LeaseTTL.D()
		}
		s.docs = append(s.docs, sessionDoc{
			id: d.ID, polled: d.polled(), release: d.OnFailure == "release",
			interval: d.Interval, timeout: d.Timeout, ttl: ttl, changed: d.changed, calendar: d.Calendar,
		})
	}
	for _, m := range b.w.nodes {
		s.nodes = append(s.nodes, m.Name)
	}
	for _, key := range b.w.keys(heartbeats) {
		s.beats = append(s.beats, strings.TrimPrefix(key, heartbeats))
	}
	s.endless = map[string]bool{}
	for id := range s.leases {
		s.endless[id] = b.w.fleet.Mini.TTL(b.keys.Lease(id)) == 0
	}
	b.judgeCalm(s)
	b.settled, b.owners = len(b.w.applied), s.leases
	b.watch()
}

// slowReply is how long an answer may have taken since the last calm.
func (b *bailiff) slowReply() time.Duration {
	most := 3 * b.w.scenario.Timings.Latency.D() // there and back, with jitter
	for _, a := range b.w.applied[b.settled:] {
		if a.Kind == "link slow" {
			most = max(most, 2*a.By.D())
		}
	}
	return most
}

// change is what happened since the last calm, if it was one change of membership.
func (b *bailiff) change() *change {
	if b.owners == nil || len(b.w.applied) != b.settled+1 {
		return nil
	}
	a := b.w.applied[b.settled]
	switch {
	case moveNothing[a.Kind]:
	case a.Lasts == 0 && (a.Kind == "join" || a.Kind == "kill" || a.Kind == "drain"):
	default:
		return nil
	}
	return &change{kind: a.Kind, who: a.Hit, at: a.Begun, from: b.owners}
}

// leases reads all leases of the right type.
func (b *bailiff) leases() map[string]string {
	out := map[string]string{}
	for _, key := range b.w.keys(leases) {
		if holder, err := b.w.fleet.Mini.Get(key); err == nil {
			_, id := rediskey.Default().Parse(key)
			out[id] = holder
		}
	}
	return out
}

// compare holds the ledger against what Redis has, at a moment when nothing is
// under way.
func (b *bailiff) compare() { b.each(b.compareOne) }

// replaced has the ledger follow another server's data. One that lost nothing explains
// nothing.
func (b *bailiff) replaced() {
	b.mu.Lock()
	if b.w.back == withData {
		b.reloaded()
		b.mu.Unlock()
		return
	}
	b.forget()
	b.mu.Unlock()
	b.each(func(l *ledger, t truth) {
		t.replica = b.w.back == replica
		b.follow(l, t)
	})
}

// each reads what Redis has of each session.
func (b *bailiff) each(do func(l *ledger, t truth)) {
	mini := b.w.fleet.Mini
	b.w.fleet.Events.Advance()
	b.mu.Lock()
	defer b.mu.Unlock()
	for id, l := range b.sessions {
		t := truth{last: mini.HGet(b.keys.State(id), "last")}
		t.busy, _ = strconv.ParseInt(mini.HGet(b.keys.State(id), "busy"), 10, 64)
		t.holder, _ = mini.Get(b.keys.Lease(id))
		t.token, _ = strconv.ParseInt(mini.HGet(b.keys.State(id), "version"), 10, 64)
		t.left = mini.TTL(b.keys.Lease(id))
		do(l, t)
	}
}

// task implements facts. Of a session that has gone meanwhile nothing is sure.
func (b *bailiff) task(session string) (ever, always bool) {
	for _, d := range b.w.docs {
		if d.ID == session {
			return d.task, d.isTask() && d.Misfire != "skip" && !d.edited
		}
	}
	return true, false
}

// calendar implements facts.
func (b *bailiff) calendar(session string) (rules, bool) {
	for _, d := range b.w.docs {
		if d.ID == session {
			return rules{calendar: d.Calendar, skip: d.Misfire == "skip", ttl: d.LeaseTTL}, d.Calendar.every > 0 && !d.edited
		}
	}
	return rules{}, false
}

// nameless implements facts. Nodes ask soon after they found their connections broken.
func (b *bailiff) nameless(at time.Time) bool {
	const soon = 5 * time.Second
	return slices.ContainsFunc(b.w.applied, func(a applied) bool {
		return a.Kind == "errors" && a.Text == "NOPERM" && mayBeDenied[a.Count] == "INFO" &&
			a.Begun.Before(at.Add(soon)) && (a.Ended.IsZero() || at.Before(a.Ended))
	})
}

// thaw implements facts.
func (b *bailiff) thaw(instance string, at time.Time) (until time.Time) {
	for _, a := range b.w.applied {
		if a.Kind != "freeze" || a.Hit != instance || at.Before(a.Begun) {
			continue
		}
		switch {
		case a.Ended.IsZero():
			return never
		case !at.After(a.Ended):
			until = later(until, a.Ended)
		}
	}
	for _, m := range b.w.fleet.Members() {
		if died := m.Died(); m.Name == instance && !died.IsZero() && !later(at, until).Before(died) {
			return never
		}
	}
	return until
}
