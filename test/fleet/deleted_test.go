package fleet

import (
	"testing"
	"time"

	"leasehold/test/fleet/check"
)

// Somebody deletes leases under their holders, at rest and with polls in flight. Nobody
// polls beside what is in flight, and each session is polled on, with a higher token.
func TestALeaseThatIsDeletedIsClaimedAnew(t *testing.T) {
	t.Parallel()
	f := newFleet(t, plan{ttl: 3 * time.Second})
	ids := f.putMany(9)
	nodes := f.start("a", "b", "c")
	f.settled(10*time.Second, nodes...)
	for _, id := range ids[:3] {
		f.hold(id, 2*time.Second)
	}
	before := f.tokens(ids)
	at := f.target.Now()
	for _, id := range ids {
		f.del(f.keys.Lease(id))
	}
	f.revived(ids, at, f.plan.ttl+f.plan.interval+time.Second)
	for id, token := range f.tokens(ids) {
		if token <= before[id] {
			t.Errorf("%s: token %d after %d", id, token, before[id])
		}
	}
	h := f.history()
	f.pass("safety", check.All(check.Overlaps(h, 3*len(ids)), check.Tokens(h, 3*len(ids))))
	f.settled(2*f.plan.ttl, nodes...)
}
