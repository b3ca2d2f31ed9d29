package sim

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/alicebob/miniredis/v2/server"

	"leasehold/rediskey"
)

// judge decides whether a fleet keeps the contract. It believes the poll target,
// which tells it of every request, and Redis, whose commands it sees one by one, those
// in scripts included, in the order in which they take effect. It never reads a node's
// log or state.
//
// From the commands it keeps a ledger of each session: who acquired the lease when,
// with which token, when that was last renewed, what begin and finish recorded. A
// grant is worth, at most, until a renewal's arrival at Redis + TTL − margin; a node
// counts from the sending, which is earlier, so the judge is never too strict.
//
// What "in flight" means. A request is in flight from its start until it is over from
// the poller's side: answered, timed out or canceled. A target may go on with it: no
// poller can prevent that, and the contract does not promise it. Nor can a process
// that stands still, or has died without its host telling anybody, cancel anything:
// its request counts until the grant's trust has ended, and not a moment longer.
//
// Two requests at once are a violation also after a restart of Redis that forgot
// everything, since nodes can see that and hold off. What nobody can see explains a
// request beside one that was in flight already: a flush, a state that was deleted
// (begin can't know of the poll then), and a Redis that lost acknowledged writes of the
// session. It does no longer once a renewal has told Redis again of the poll in flight.
//
// Faults that change data (deleted keys, a Redis that restarts empty) explain why a
// poll that was begun under a lease finds it gone. They never explain a poll without
// begin, one beyond the trust, or a token that falls.
//
// Where only something that the engine did can explain what was seen, the judge
// suspects, and decides at the next step, when the engine has noted what it did.
type judge struct {
	set   settings
	facts facts
	now   func() time.Time
	// inScript reports whether a script sent a command.
	inScript func(*server.Peer) bool
	keys     rediskey.Keys

	mu       sync.Mutex
	sessions map[string]*ledger
	named    map[string]keyName // parsed keys
	scripts  map[string]string  // names of scripts by SHA
	running  script             // the one that Redis runs, or ran last
	suspects []suspect
	meddled  time.Time   // when all data was last changed by something else than nodes
	emptied  []time.Time // when another server took the place of this one
	losses   losses
	flushed  time.Time // when somebody last removed all data, which nobody is told of
	fault    error

	since time.Time // when the watch that goes on began

	moment time.Time // of the last command
	busy   int       // commands at that moment
	after  int       // commands after the first violation
}

const (
	// endless is how many commands at one moment never end.
	endless = 200_000
	// enough is how many commands after a violation wait for the next step.
	enough = 200_000
)

// settings are the fleet's.
type settings struct {
	ttl, margin time.Duration
	longest     time.Duration // of the documents' intervals
	timeout     time.Duration // of a command
}

// marginOf is the part of a TTL in which no node may trust its lease any more.
func (s settings) marginOf(ttl time.Duration) time.Duration {
	return time.Duration(float64(s.margin) * float64(ttl) / float64(s.ttl))
}

// facts are what the judge asks about the world, on the goroutine of the engine.
type facts interface {
	// thaw returns when a process that stood still at a moment, or was dead, went on: zero
	// where it did not stand still, never where it has not gone on.
	thaw(instance string, at time.Time) time.Time
	// nameless reports whether a server that took the place of another at a moment may
	// not have been asked which it is.
	nameless(at time.Time) bool
	// task reports whether the session was ever a task, and whether it has always been
	// the same one, which serves what was missed.
	task(session string) (ever, always bool)
	// calendar returns that of a session which has always had it; false: there is none.
	calendar(session string) (rules, bool)
}

// suspect is a violation unless a fault explains it.
type suspect struct {
	text    string
	excused func() (why string, ok bool)
}

func newJudge(set settings, f facts, now func() time.Time, inScript func(*server.Peer) bool) *judge {
	return &judge{
		set: set, facts: f, now: now, inScript: inScript, keys: rediskey.Default(),
		sessions: map[string]*ledger{}, named: map[string]keyName{}, scripts: map[string]string{},
		since: now(), losses: losses{claimed: map[string]time.Time{}},
	}
}

// err is the first violation.
func (j *judge) err() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.fault
}

// step settles what was suspected since the last one.
func (j *judge) step() {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, s := range j.suspects {
		if _, ok := s.excused(); ok {
			continue
		}
		if j.fault == nil {
			j.fault = fmt.Errorf("%s", s.text)
		}
	}
	j.suspects = j.suspects[:0]
}

// alarm brings the process down when time stands still or creeps, since no step comes
// then.
func (j *judge) alarm() {
	if now := j.now(); !now.Equal(j.moment) {
		j.moment, j.busy = now, 0
	}
	j.busy++
	if j.fault != nil {
		j.after++
	}
	if j.busy >= endless || j.after >= enough {
		first := j.fault
		if first == nil && len(j.suspects) > 0 { // no step will settle it
			first = errors.New(j.suspects[0].text)
		}
		panic(fmt.Sprintf("no end: %d commands at %s, first violation: %v", j.busy, clock(j.moment), first))
	}
}

// convict needs the lock. The text begins with the name of the check.
func (j *judge) convict(l *ledger, check, format string, args ...any) {
	if j.fault == nil {
		j.fault = fmt.Errorf("%s", j.charge(l, check, format, args...))
	}
}

// doubt needs the lock.
func (j *judge) doubt(l *ledger, excused func() (string, bool), check, format string, args ...any) {
	j.suspects = append(j.suspects, suspect{
		text: j.charge(l, check, format, args...), excused: excused,
	})
}

func (j *judge) charge(l *ledger, check, format string, args ...any) string {
	text := check + ": " + fmt.Sprintf(format, args...)
	if l == nil {
		return text
	}
	return fmt.Sprintf("%s\n  %q at %s, what was seen of it:\n%s", text, l.id, clock(j.now()), l.story())
}

func clock(t time.Time) string { return t.UTC().Format("15:04:05.000") }
