package lease_test

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"leasehold/lease"
)

func TestLeasesOfOneTTLEndOneAfterTheOtherButNeverLaterAndTheHeartbeatFirst(t *testing.T) {
	const leases, most = 1000, 30 * time.Second
	stagger := lease.Stagger(50)
	spread := most / 50
	tenths := map[time.Duration]int{}
	for i := range leases {
		id := fmt.Sprintf("session-%06d", i)
		ttl := stagger.TTL(id, most)
		if ttl > most || ttl <= most-spread || ttl != stagger.TTL(id, most) {
			t.Fatalf("%s: %s", id, ttl)
		}
		if beat := stagger.Heartbeat(most); ttl-beat < spread {
			t.Fatalf("%s: %s, the heartbeat %s", id, ttl, beat)
		}
		tenths[(most-ttl)/(spread/10)]++
	}
	for i := range time.Duration(10) {
		if n := tenths[i]; n < leases/20 || n > leases/5 {
			t.Errorf("%d of %d leases end in tenth %d", n, leases, i)
		}
	}
}

func TestAnyTTLIsStaggeredByAFiftiethAtMost(t *testing.T) {
	for _, most := range []time.Duration{time.Second, 30 * time.Second, 24 * time.Hour, 365 * 24 * time.Hour} {
		for i := range 100 {
			if ttl := lease.Stagger(50).TTL(strconv.Itoa(i), most); ttl > most || ttl < most-most/50 {
				t.Errorf("%s of %s", ttl, most)
			}
		}
	}
}

func TestZeroStaggersNothing(t *testing.T) {
	const ttl = 30 * time.Second
	var none lease.Stagger
	if got := none.TTL("a", ttl); got != ttl {
		t.Errorf("lease: %s", got)
	}
	if got := none.Heartbeat(ttl); got != ttl {
		t.Errorf("heartbeat: %s", got)
	}
}
