package fleet

import (
	"testing"
	"time"

	"leasehold/target"
)

// hung is a fleet of one node whose only poll never ends by itself.
func hung(t *testing.T, env ...string) (*fleet, *node) {
	t.Helper()
	f := newFleet(t, plan{env: env})
	f.target.Set("hung", target.Behavior{Hang: true})
	f.put("hung", f.document("hung", `,"timeout":"5m"`))
	n := f.start("a")[0]
	until(t, readyLimit, "a poll hangs", func() bool { return f.live("hung") })
	return f, n
}

func TestASecondSignalEndsTheNodeAtOnce(t *testing.T) {
	t.Parallel()
	f, n := hung(t)
	n.ending.Store(true)
	n.signal(sigterm)
	n.await(effect, event("node.draining"))
	wait(500 * time.Millisecond)
	if !f.live("hung") {
		t.Error("the poll was ended although there is time")
	}
	at := time.Now()
	n.signal(sigterm)
	if code := n.exit(2 * time.Second); code != 130 {
		t.Errorf("exit code %d", code)
	}
	t.Logf("exit %s after the second signal", time.Since(at).Round(time.Millisecond))
}

func TestADrainEndsHungPollsInTime(t *testing.T) {
	t.Parallel()
	limit := 3 * time.Second
	f, n := hung(t, "LEASEHOLD_DRAIN_TIMEOUT="+limit.String())
	at := time.Now()
	code := n.term()
	took := time.Since(at)
	t.Logf("exit code %d after %s of %s", code, took.Round(time.Millisecond), limit)
	left := f.holders()["hung"]
	stopped := n.await(effect, event("node.stopped"))
	switch {
	case code == 0 && left == "" && stopped.Left == 0 && took <= limit+500*time.Millisecond:
	case code == 3 && left == n.id && stopped.Left == 1 && took <= limit+500*time.Millisecond:
	default:
		t.Errorf("exit code %d after %s, the lease is held by %q, the log tells of %d left", code, took, left, stopped.Left)
	}
	until(t, effect, "the poll has ended with its node", func() bool { return !f.live("hung") })
	f.safe(1)
}

func TestADrainWithoutRedisLeavesItsLeases(t *testing.T) {
	t.Parallel()
	limit := 3 * time.Second
	f := newFleet(t, plan{env: []string{"LEASEHOLD_DRAIN_TIMEOUT=" + limit.String()}})
	f.putMany(3)
	n := f.start("a")[0]
	f.settled(readyLimit, n)
	f.redis.Pause()
	defer f.redis.Continue()
	at := time.Now()
	code := n.term()
	if took := time.Since(at); code != 3 || took > limit+1500*time.Millisecond {
		t.Errorf("exit code %d after %s of %s", code, took, limit)
	}
	if stopped := n.await(effect, event("node.stopped")); stopped.Left != 3 {
		t.Errorf("the log tells of %d leases left", stopped.Left)
	}
}

func TestAnIdleNodeStopsCleanly(t *testing.T) {
	t.Parallel()
	f := newFleet(t, plan{})
	n := f.start("a")[0]
	n.ending.Store(true)
	n.signal(sigint)
	if code := n.exit(2 * time.Second); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if left := f.keysLike("poll:*"); len(left) != 0 {
		t.Errorf("keys are left: %v", left)
	}
}
