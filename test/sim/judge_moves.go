package sim

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// change is one change of membership, in a fleet that had settled and with no other
// trouble before everything had settled again.
type change struct {
	kind string // join, kill or drain, or one of the troubles that move nothing
	who  string
	at   time.Time
	from map[string]string // the owners before
}

const (
	// takeover is how much later than its TTL a dead node's lease may be taken over.
	takeover = 200 * time.Millisecond
	// handover is how long a lease that was given back may lie free: p99.
	handover = 50 * time.Millisecond
	// latest is how long it may lie free in any case.
	latest = 2 * time.Second
	// sigmas is how far from the mean a random share may be: it is so once in 300,000.
	sigmas = 4.5
)

// moveBound is how many sessions one change may move where n is unavoidable. The
// contract's 1.6 holds for the mean of small fleets too, see the ADR on exact shares;
// single ones with few sessions a node reach more.
func moveBound(n int) int { return int(1.6*float64(n)) + 4 }

// moved checks a change of membership.
func (j *judge) moved(s scene) {
	c := s.change
	if c == nil {
		return
	}
	if moveNothing[c.kind] {
		j.unmoved(s, c)
		return
	}
	lists := map[string]sessionDoc{}
	for _, d := range s.docs {
		lists[d.id] = d
	}
	// A claim may be on its way when the lease goes: its answer comes before the next one.
	late := 2 * s.slowReply
	soon := handover + late
	moved, least, given := 0, 0, 0
	var slow []string
	heirs := map[string]int{}
	for id, holder := range s.leases {
		before, ok := c.from[id]
		if !ok || before == holder {
			continue
		}
		moved++
		if before == c.who || holder == c.who {
			least++
		}
		l := j.ledger(id)
		switch {
		case c.kind == "kill" && before == c.who:
			if heir := j.takenOver(l, lists[id], c, takeover+late); heir != "" {
				heirs[heir]++
			}
		case c.kind == "drain" && before == c.who:
			given++
			if free := j.free(l, c); free > soon {
				slow = append(slow, fmt.Sprintf("%q for %s", id, free))
			}
		}
	}
	if len(slow) > max(1, given/100) {
		slices.Sort(slow)
		j.convict(nil, "drain", "%d of %d leases lay free for more than %s after the drain at %s: %s",
			len(slow), given, soon, c.at.Format(time.TimeOnly), strings.Join(slow, ", "))
	}
	j.spread(heirs, len(s.nodes), c)
	if most := moveBound(least); moved > most {
		j.convict(nil, "moves", "the %s of %s moved %d sessions of %d, at least %d had to", c.kind, c.who, moved, len(s.leases), least)
	}
}

// moveNothing are troubles that are no cause to give up a lease.
var moveNothing = map[string]bool{"events forged": true, "events lost": true, "events repeated": true, "scripts gone": true}

// unmoved checks that no lease changed hands, or was even acquired anew.
func (j *judge) unmoved(s scene, c *change) {
	for id := range s.leases {
		l := j.ledger(id)
		if g := l.current(); g != nil && g.begun.After(c.at) {
			j.convict(l, "events", "%s acquired the lease after %s, which is no cause", g.holder, c.kind)
		}
	}
}

// spread checks that no survivor takes a dead node's sessions alone: whoever comes first
// for a session, by the plan or in turn, is as good as random.
func (j *judge) spread(heirs map[string]int, nodes int, c *change) {
	n := 0
	for _, took := range heirs {
		n += took
	}
	share := 1 / float64(nodes)
	mean := float64(n) * share
	most := mean + sigmas*math.Sqrt(mean*(1-share)) + 1
	for heir, took := range heirs {
		if float64(took) > most {
			j.convict(nil, "spread", "%s took %d of the %d sessions of %s, with %d nodes there", heir, took, n, c.who, nodes)
		}
	}
}

// takenOver checks the first acquisition after a death, and returns whose it was.
func (j *judge) takenOver(l *ledger, d sessionDoc, c *change, late time.Duration) string {
	for _, g := range l.grants {
		if !g.begun.After(c.at) {
			continue
		}
		if took := g.begun.Sub(c.at); took > d.ttl+late {
			j.convict(l, "failover", "%s acquired the lease %s after the death of %s", g.holder, took, c.who)
		}
		return g.holder
	}
	return ""
}

// free is how long a lease that was given back had no holder.
func (j *judge) free(l *ledger, c *change) time.Duration {
	for i, g := range l.grants {
		if i+1 == len(l.grants) || !l.grants[i+1].begun.After(c.at) {
			continue
		}
		if g.holder != c.who || g.ended.IsZero() {
			j.convict(l, "drain", "%s did not give the lease back", c.who)
			return 0
		}
		free := l.grants[i+1].begun.Sub(g.ended)
		if free > latest {
			j.convict(l, "drain", "the lease lay free for %s", free)
		}
		return free
	}
	return 0
}
