package demo

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

const (
	// quiet ends a burst of equal events, and so does its age.
	quiet  = 250 * time.Millisecond
	oldest = time.Second
)

// digest turns the logs of all nodes into few lines for people. It is pure: the
// time is its caller's.
type digest struct {
	bursts  []*burst
	owners  map[string]owner  // by session
	freed   map[string]freed  // by session
	members map[string]string // by instance: the last event that was told
	leaving map[string]bool   // by node: it said that it was
	names   map[string]string // of nodes, by instance

	// What the summary needs.
	takeovers []time.Duration // how late the leases of lost nodes were taken
}

// owner is who a session's lease was last seen with.
type owner struct {
	node    string
	version int64
}

// freed is the last lease of a session that was given back.
type freed struct {
	version int64
	reason  string
}

// burst is a row of equal events, told in one line.
type burst struct {
	kind        string    // the event
	node        string    // whose log it is; empty where it does not matter
	detail      string    // what else must be equal
	at          time.Time // by the node's clock, for the order
	begun, last time.Time
	count       int
	names       []string
	taken       []taken
	sample      line
}

// taken is one lease that a node acquired.
type taken struct {
	session  string
	version  int64
	before   owner
	takeover time.Duration // below zero: unknown
}

func newDigest() *digest {
	return &digest{
		owners: map[string]owner{}, freed: map[string]freed{},
		members: map[string]string{}, leaving: map[string]bool{}, names: map[string]string{},
	}
}

// feed takes one line of the node's log.
func (d *digest) feed(node string, l line, now time.Time) {
	if l.Instance != "" {
		d.names[l.Instance] = node
	}
	switch l.Event {
	case "lease.acquired":
		d.acquired(node, l, now)
	case "lease.released":
		b := d.burst(l, node, l.Reason, now)
		b.count += max(1, l.Count)
		if l.Session != "" {
			d.freed[l.Session] = freed{version: l.Version, reason: l.Reason}
		}
	case "member.joined", "member.left", "member.expired":
		d.member(l, now)
	case "node.starting", "node.ready", "node.stopped", "actor.system",
		"node.summary", "events.subscribed", "session.added", "settings.warning", "poll.logged":
		// Told otherwise, or of no interest here.
	case "poll.failed", "lease.renew_failed":
		d.other(node, l, cmp.Or(l.Reason, l.Error), now)
	case "node.draining":
		d.leaving[node] = true
		d.other(node, l, "", now)
	default:
		d.other(node, l, "", now)
	}
}

// gone is what leaving and expiring become: a node that sees a heartbeat vanish just
// before it would have run out can not tell them apart, but the demo can.
const gone = "member.gone"

func (d *digest) acquired(node string, l line, now time.Time) {
	b := d.burst(l, node, "", now)
	if l.Count > 0 {
		b.count += l.Count
		return
	}
	t := taken{session: l.Session, version: l.Version, before: d.owners[l.Session], takeover: -1}
	if l.Takeover != nil {
		t.takeover = milliseconds(*l.Takeover)
	}
	b.taken = append(b.taken, t)
	if l.Version > t.before.version {
		d.owners[l.Session] = owner{node: node, version: l.Version}
	}
}

// member tells what each node says about another one just once.
func (d *digest) member(l line, now time.Time) {
	if l.Event != "member.joined" {
		l.Event = gone
	}
	if d.members[l.Member] == l.Event {
		return
	}
	d.members[l.Member] = l.Event
	b := d.burst(l, "", "", now)
	b.names = append(b.names, d.name(l.Member))
}

// name of an instance, which begins with it.
func (d *digest) name(instance string) string {
	if name, ok := d.names[instance]; ok {
		return name
	}
	parts := strings.Split(instance, "-")
	return strings.Join(parts[:max(1, len(parts)-2)], "-")
}

func (d *digest) other(node string, l line, detail string, now time.Time) {
	b := d.burst(l, node, detail, now)
	b.count += max(1, l.Count)
	b.sample = l
}

// burst returns the burst that such an event belongs to.
func (d *digest) burst(l line, node, detail string, now time.Time) *burst {
	for _, b := range d.bursts {
		if b.kind == l.Event && b.node == node && b.detail == detail {
			b.last = now
			return b
		}
	}
	b := &burst{kind: l.Event, node: node, detail: detail, at: l.Time, begun: now, last: now}
	d.bursts = append(d.bursts, b)
	return b
}

// note adds a line of the demo's own, in its place among those of the nodes.
func (d *digest) note(text string, now time.Time) {
	d.burst(line{Event: noted, Time: now}, "", text, now)
}

const noted = "demo.noted"

// due returns the lines of the bursts that have ended, in the order of their
// beginnings.
func (d *digest) due(now time.Time) []string {
	return d.end(func(b *burst) bool { return now.Sub(b.last) >= quiet || now.Sub(b.begun) >= oldest })
}

// all ends all bursts and returns their lines.
func (d *digest) all() []string { return d.end(func(*burst) bool { return true }) }

func (d *digest) end(over func(*burst) bool) []string {
	var done, still []*burst
	for _, b := range d.bursts {
		if over(b) {
			done = append(done, b)
		} else {
			still = append(still, b)
		}
	}
	d.bursts = still
	slices.SortStableFunc(done, func(a, b *burst) int {
		return cmp.Or(a.at.Truncate(time.Millisecond).Compare(b.at.Truncate(time.Millisecond)), cmp.Compare(a.rank(), b.rank()))
	})
	var lines []string
	for _, b := range done {
		lines = append(lines, d.tell(b)...)
	}
	return lines
}

// rank orders what happened in one millisecond: causes come first.
func (b *burst) rank() int {
	switch b.kind {
	case "lease.acquired":
		return 1
	case noted:
		return 2
	default:
		return 0
	}
}
