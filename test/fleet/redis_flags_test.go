package fleet

import (
	"testing"
	"time"

	"leasehold/test/fleet/check"
)

// A server forgets flags that were set at run time when it restarts, and nothing says
// so; flags of others are nobody's to take away. C01: redis/node-redis#2155,
// spring-projects/spring-data-redis#2200.
func TestFlagsAreSetAgainAfterARestartAndOthersFlagsKept(t *testing.T) {
	long(t)
	f := newFleet(t, plan{interval: 2 * time.Second})
	flag := func(flags string) {
		if err := f.rdb.ConfigSet(t.Context(), "notify-keyspace-events", flags).Err(); err != nil {
			t.Fatal(err)
		}
	}
	flag("Kgz") // as another application needs it
	ids := f.putMany(6)
	nodes := f.start("a", "b")
	f.settled(10*time.Second, nodes...)
	f.flagsSet("KgzEx$e", time.Second)
	flag("Kgz") // and sets it again as it knows it, over ours
	f.flagsSet("KgzEx$e", 12*time.Second)
	before, tokens := f.pulse(), f.history()

	_ = f.rdb.ShutdownNoSave(t.Context()) // it answers by closing the connection
	f.redis.Stop()
	wait(2 * time.Second)
	if err := f.redis.Start(); err != nil {
		t.Fatal(err)
	}
	back := f.target.Now()
	until(t, 5*time.Second, "Redis answers", func() bool { return f.rdb.Ping(t.Context()).Err() == nil })
	f.putMany(6)
	f.flagsSet("KgEx$e", 10*time.Second)
	t.Logf("flags are set again %s after the start", (f.target.Now() - back).Round(time.Millisecond))
	f.revived(ids, back, f.recovered())
	held := f.settled(2*f.plan.ttl, nodes...)
	f.flat(before)

	lost := of(held, nodes[0])
	nodes[0].kill()
	dead := f.target.Now()
	f.revived(lost, dead, f.recovered())
	h := f.history()
	f.pass("restart", check.All(
		check.Overlaps(h, 30), check.Tokens(h, 30), check.Owners(h, check.OwnerTolerance, 30),
		check.FailClosed(h, check.OwnerTolerance, 30),
		check.Acquisitions(h, check.Window{To: back}, 30),
		check.Acquisitions(h, check.Window{From: back + f.recovered(), To: f.target.Now()}, 30),
	))
	f.neverFell(tokens, h)
}
