package sim

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"leasehold/internal/nodetest"
)

// ledger is what the judge knows of one session.
type ledger struct {
	id string

	grants  []*grant // since the last watch began, and the one before
	counter int64    // the token's counter in Redis
	known   bool     // the counter is known; false: there is none, or nobody knows
	high    int64    // the highest token that was ever seen

	start  start
	plan   plan    // where a calendar has the slots
	wish   wish    // that a task be run now
	spent  []start // those before that no poll followed, since the last watch began
	flying []*flight
	polls  []*nodetest.Poll // begun since the last watch began
	// receipts are those of the polls that were in flight since the last watch began.
	receipts []*receipt
	denied   denial    // its last renewal, if Redis refused that
	meddle   time.Time // when its keys were last changed by something else than nodes
	erased   time.Time // when its state was
	// rewound is when Redis last lost writes of it that it had acknowledged.
	rewound time.Time

	seen  [16]sight
	sight int
}

// grant is one acquisition.
type grant struct {
	holder   string
	token    int64 // zero until the counter was raised
	begun    time.Time
	extended time.Time // the last acquire or renew that reached Redis
	checked  time.Time // when a script last found this holder and token in Redis
	ttl      time.Duration
	ended    time.Time // zero: not by a command of a node
	forced   time.Time // when somebody else than its holder ended it by command
	// A renewal told Redis last at marked that a poll is in flight, until covered at most.
	marked, covered time.Time
}

// until is when Redis ends it.
func (g *grant) until() time.Time { return g.extended.Add(g.ttl) }

// told is when Redis last said all of it: what was changed before that explains nothing
// that is found later.
func (g *grant) told() time.Time {
	if g.checked.Before(g.extended) {
		return g.checked
	}
	return g.extended
}

// trust is when nobody may rely on it any more.
func (j *judge) trust(g *grant) time.Time { return g.until().Add(-j.set.marginOf(g.ttl)) }

// blur is how far the server's clock, which goes in steps, may be off in ending a
// key.
const blur = 100 * time.Millisecond

// alive says that Redis may still have it, sure that it must.
func (g *grant) alive(now time.Time) bool { return g.ended.IsZero() && now.Before(g.until().Add(blur)) }

func (g *grant) sure(now time.Time) bool { return g.ended.IsZero() && now.Before(g.until().Add(-blur)) }

// start is the last start that begin recorded.
type start struct {
	by       string
	token    int64
	at       string // in ms, as Redis keeps it
	slot     string
	seen     time.Time
	used     bool // a poll followed
	returned bool // the slot was left to be served
	wished   bool // it is no slot, but when somebody asked for a run
	open     bool // no result of it was recorded
}

// flight is a poll in flight.
type flight struct {
	*nodetest.Poll
	grant *grant
}

// told is when Redis was last told that the poll is in flight, and is still at a moment:
// by begin, or by a renewal.
func (f *flight) told(at time.Time) time.Time {
	if g := f.grant; g != nil && g.marked.After(f.Start) && !at.After(g.covered) {
		return g.marked
	}
	return f.Start
}

// repoint has the polls in flight under a grant go by the one that goes on from it.
func (l *ledger) repoint(from, to *grant) {
	for _, f := range l.flying {
		if f.grant == from {
			f.grant = to
		}
	}
}

// current is the last grant, nil if there was none.
func (l *ledger) current() *grant {
	if len(l.grants) == 0 {
		return nil
	}
	return l.grants[len(l.grants)-1]
}

// find returns the last grant with that token, nil if there is none.
func (l *ledger) find(holder string, token int64) *grant {
	for _, g := range slices.Backward(l.grants) {
		if g.holder == holder && g.token == token {
			return g
		}
	}
	return nil
}

func (j *judge) ledger(id string) *ledger {
	l, ok := j.sessions[id]
	if !ok {
		l = &ledger{id: id}
		j.sessions[id] = l
	}
	return l
}

// sight is one thing seen of a session.
type sight struct {
	at    time.Time
	what  string
	who   string
	token int64
}

// saw needs the lock.
func (j *judge) saw(l *ledger, what, who string, token int64) {
	l.seen[l.sight%len(l.seen)] = sight{j.now(), what, who, token}
	l.sight++
}

// story tells the last sights.
func (l *ledger) story() string {
	var b strings.Builder
	for i := max(0, l.sight-len(l.seen)); i < l.sight; i++ {
		s := l.seen[i%len(l.seen)]
		fmt.Fprintf(&b, "    %s %s", clock(s.at), s.what)
		if s.who != "" {
			fmt.Fprintf(&b, " %s", s.who)
		}
		if s.token != 0 {
			fmt.Fprintf(&b, " (token %d)", s.token)
		}
		b.WriteByte('\n')
	}
	return strings.TrimSuffix(b.String(), "\n")
}
