//go:build unix

package main

import (
	"context"
	"testing"
	"time"

	"leasehold/internal/redistest"
)

// One master of three stands still for two TTLs, the one with the stream of results and
// then another: what the others have is polled at its pace by who polled it before, what is
// on it stops in time and goes on afterwards.
func TestAMasterThatHangsStopsItsOwnSessionsAlone(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t)
	for _, n := range cluster.Nodes { // nobody takes its place meanwhile
		c := n.Client()
		for name, value := range map[string]string{"cluster-require-full-coverage": "no", "cluster-node-timeout": "60000"} {
			if err := c.ConfigSet(context.Background(), name, value).Err(); err != nil {
				t.Fatal(err)
			}
		}
		_ = c.Close()
	}
	f := newMixed(t, cluster)
	f.writes()
	f.joins("a", "b")
	stream := f.master("poll:results")
	for _, m := range cluster.Nodes {
		if m.Addr() == stream {
			f.hangs(m)
		}
	}
	for _, m := range cluster.Nodes {
		if m.Addr() != stream {
			f.hangs(m)
			break
		}
	}
	if n := f.target.Overlaps(); n > 0 {
		t.Errorf("%d polls overlapped", n)
	}
}

// hangs has a master stand still for two TTLs.
func (f *mixed) hangs(victim *redistest.Server) {
	f.t.Helper()
	const (
		ttl  = 3 * time.Second
		pace = 500 * time.Millisecond
		late = time.Second // more than a busy machine takes
	)
	f.until("both have their shares", func() bool { return f.shared("a", "b") })
	var fine, hung []string
	before := map[string]int64{}
	for _, id := range f.polled {
		before[id] = f.version(id)
		if f.master(f.keys.Lease(id)) == victim.Addr() {
			hung = append(hung, id)
		} else {
			fine = append(fine, id)
		}
	}
	f.t.Logf("%v are on the master that hangs, %v elsewhere", hung, fine)
	from := f.target.Now()
	victim.Pause()
	f.t.Cleanup(victim.Continue)
	time.Sleep(2 * ttl)
	to := f.target.Now()
	victim.Continue()

	worst := time.Duration(0)
	for _, id := range fine {
		last := from
		for _, p := range f.polls(id, from) {
			if p.From > to {
				break
			}
			worst = max(worst, p.From-last)
			if p.From-last > pace+late {
				f.t.Errorf("%s: nothing between %s and %s of a silence from %s to %s", id, last, p.From, from, to)
			}
			if int64(p.Token) != before[id] {
				f.t.Errorf("%s: polled with token %d, before with %d", id, p.Token, before[id])
			}
			last = p.From
		}
		if to-last > pace+late {
			f.t.Errorf("%s: nothing from %s to %s", id, last, to)
		}
	}
	f.t.Logf("the longest time between two starts elsewhere was %s", worst)
	for _, id := range hung {
		for _, p := range f.polls(id, from+ttl) {
			if p.From < to {
				f.t.Errorf("%s: polled at %s, %s after its master fell silent", id, p.From, p.From-from)
			}
		}
		f.until(id+" is polled again", func() bool { return len(f.polls(id, to)) > 2 })
	}
}
