package fleet

import (
	"fmt"
	"maps"
	"testing"
	"time"

	"leasehold/test/fleet/check"
)

// A server that says nothing and keeps its connections open. C17: redis/ioredis#1318,
// redis/node-redis#2205.
func TestASilentServerIsNotWaitedForBeyondTheLease(t *testing.T) {
	for _, ttl := range []time.Duration{6 * time.Second, 30 * time.Second} {
		t.Run(fmt.Sprintf("TTL %s", ttl), func(t *testing.T) {
			long(t)
			f := newFleet(t, plan{ttl: ttl})
			ids := f.putMany(8)
			nodes := f.start("a", "b")
			f.settled(20*time.Second, nodes...)
			wait(f.plan.interval)
			before := f.pulse()
			f.silentShort(ids)
			f.silentLong(ids)
			f.settled(2*ttl, nodes...)
			f.flat(before)
			f.safe(100)
		})
	}
}

// silentShort freezes Redis for half a TTL: nothing moves.
func (f *fleet) silentShort(ids []string) {
	f.t.Helper()
	before := f.holders()
	w := check.Window{From: f.target.Now()}
	f.redis.Pause()
	f.passes(w.From, f.plan.ttl/2)
	f.redis.Continue()
	back := f.target.Now()
	f.t.Logf("silent for half a TTL: %s", f.quiet(w.From, back))
	f.revived(ids, back, f.recovered()+time.Second)
	w.To = f.target.Now()
	if after := f.holders(); !maps.Equal(after, before) {
		f.t.Errorf("half a TTL moved sessions: %v, before %v", after, before)
	}
	f.pass("half a TTL", check.AcquiredOnce(f.history(), ids, w, len(ids)).Err())
}

// silentLong freezes Redis for two TTLs: no poll starts beyond what was granted before,
// and commands that were queued meanwhile make nobody a holder who does not poll.
func (f *fleet) silentLong(ids []string) {
	f.t.Helper()
	granted := f.granted(ids)
	from := f.target.Now()
	f.redis.Pause()
	f.passes(from, 2*f.plan.ttl)
	f.redis.Continue()
	back := f.target.Now()
	f.t.Logf("silent for 2 TTL: %s", f.quiet(from, back))
	for _, p := range f.target.Records() {
		if p.From > from && p.From < back && p.From > granted[p.Session]+check.OwnerTolerance {
			f.t.Errorf("%s was polled %s after the lease of its last renewal", p.Session, p.From-granted[p.Session])
		}
	}
	f.revived(ids, back, f.recovered()+time.Second)
	bound := f.plan.ttl/3 + 2*time.Second
	h := f.history()
	f.pass("late commands", check.Idle(h, ids, check.Window{From: back, To: f.target.Now()}, bound+time.Second, 50).Err())
	for _, s := range h.Leases {
		if s.At > back+bound && s.At < back+bound+time.Second && s.Holder != "" && !f.polledBy(s.Holder, s.Session, back, s.At+f.plan.interval) {
			f.t.Errorf("%s after %s names %s, who has not polled it", s.Session, s.At-back, s.Holder)
			break
		}
	}
}

// granted reads until when each lease is granted now.
func (f *fleet) granted(ids []string) map[string]time.Duration {
	f.t.Helper()
	until := map[string]time.Duration{}
	for id, at := range f.deadlines(ids) {
		until[id] = f.target.Now() + time.Until(at)
	}
	all := map[string]time.Duration{}
	for _, id := range ids {
		all[id] = until[f.keys.Lease(id)]
	}
	return all
}

// polledBy reports whether the holder started a poll of the session in the stretch.
func (f *fleet) polledBy(holder, session string, from, to time.Duration) bool {
	for _, p := range f.target.Records() {
		if p.Session == session && p.Instance == holder && p.From > from && p.From < to {
			return true
		}
	}
	return false
}
