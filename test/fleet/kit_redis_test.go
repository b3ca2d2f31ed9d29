package fleet

import (
	"time"

	"leasehold/test/fleet/check"
)

// resultStream is where Redis has the results of polls.
const resultStream = "poll:results"

// recovered is how soon each session must be polled again once a fault has ended.
func (f *fleet) recovered() time.Duration {
	return f.plan.ttl + f.plan.interval + 2*time.Second
}

// passes waits for the rest of a stretch that began at the moment.
func (f *fleet) passes(from, d time.Duration) { wait(from + d - f.target.Now()) }

// revived checks that each session is polled within the bound after a fault that ended
// at the moment.
func (f *fleet) revived(ids []string, back, bound time.Duration) {
	f.t.Helper()
	f.passes(back, bound+2*f.plan.interval)
	h := f.history()
	f.t.Logf("polls after the fault: %s", firstPolls(h, ids, back))
	f.pass("liveness", check.Resumed(h, ids, back, bound, len(ids)).Err())
}
