package lease

import (
	"context"
	"errors"
	"strings"
	"time"
)

// ErrLost says that a grant is no longer the one that Redis holds.
var ErrLost = errors.New("lease is no longer held")

// LostError is ErrLost, with what is there instead.
type LostError struct {
	Reason string
	Holder string // who has the lease; empty when nobody or unknown
}

// Error says what was found.
func (e *LostError) Error() string { return ErrLost.Error() + ": " + e.Reason }

// Is makes a LostError an ErrLost.
func (*LostError) Is(target error) bool { return target == ErrLost }

// ErrForeign says that a key of the session has a type that the fleet does not
// write. Such a key belongs to somebody else and is never touched.
var ErrForeign = errors.New("key has a foreign type")

// NoExpiry is the remaining time of a lease key that never runs out.
const NoExpiry = time.Duration(-1)

// Store grants, extends and ends leases. All methods take many leases a call,
// are atomic per lease, answer in the order of their arguments with one answer
// each, and may be called from any goroutine. A call ends by its context's
// deadline. An answer whose Err is set means "unknown": the lease must be taken
// as lost for work and as possibly held for claiming.
type Store interface {
	// Acquire takes each lease that is free. A lease that the holder has already
	// is granted with its present token, and its TTL starts anew.
	Acquire(ctx context.Context, holder string, claims []Claim) []Outcome
	// Renew restarts the TTL of each grant that still holds, and has its poll in flight
	// count as such.
	Renew(ctx context.Context, renewals []Renewal) []Verdict
	// Release ends each grant that still holds and leaves all others alone.
	Release(ctx context.Context, releases []Release) []error
	// Look reads who holds the leases. A lease past its deadline is removed by the
	// reading, which makes Redis announce it.
	Look(ctx context.Context, sessions []string) []Status
}

// Claim asks for one lease.
type Claim struct {
	Session string
	TTL     time.Duration
	// Abandoned, when not empty, names a holder whose lease has no expiry: it is
	// taken over if it is still held by that holder and still has none.
	Abandoned string
	// Interval is that of the session's polls by the document that the caller knows:
	// it may have been edited since the last poll. Zero: as the last poll had it.
	Interval time.Duration
	// Alone is for work that begins with the grant, without a Begin: there is none while
	// a poll of the last holder may be in flight, whose lease somebody ended in its place.
	Alone bool
}

// Outcome answers one claim.
type Outcome struct {
	Session string
	Granted bool
	// Already says that the lease was the holder's before this claim.
	Already bool
	// Fresh says that no token counter existed: a new session, or lost data.
	Fresh bool
	// Failing says that the last poll of a granted session failed.
	Failing bool
	// Holder and Token describe the lease as it stands after the claim.
	Holder string
	Token  Token
	// Remaining is how long a lease held by another still lives, or NoExpiry; without a
	// Holder, how long a poll of the last one may be in flight.
	Remaining time.Duration
	// Wait is how long a granted session's next due start is away; zero when due.
	Wait time.Duration
	// Server names the life of the server that answered: another one may have forgotten
	// leases. Empty where it does not tell.
	Server string
	// Err is ErrForeign, or says why the outcome is unknown.
	Err error
}

// Renewal asks for one lease to be held for another TTL.
type Renewal struct {
	Grant

	TTL time.Duration
	// Busy is how long a poll that is in flight under the grant may still last; zero: there
	// is none. A server that lost writes may have forgotten its start.
	Busy time.Duration
}

// Verdict answers one renewal: nil Err renewed, ErrLost (the lease is missing, or
// Holder has it), ErrForeign, anything else unknown.
type Verdict struct {
	// Holder is who has the lease instead; empty when it is missing.
	Holder string
	Err    error
}

// Release asks to end one grant.
type Release struct {
	Grant

	// Forget drops the session's state too, since its document has gone.
	Forget bool
	// Forced says that not the holder asks: a poll of its may be in flight, and until
	// that is over nobody begins another. It goes before Forget.
	Forced bool
}

// Status is one lease as Redis has it.
type Status struct {
	Session string
	// Holder is empty when the lease is free.
	Holder string
	// Remaining is how long the lease still lives, or NoExpiry.
	Remaining time.Duration
	// Err is ErrForeign, or says why the status is unknown.
	Err error
}

// Reader reads leases together with their tokens. It takes many a call, answers in
// the order of its arguments with one answer each, and may be called from any
// goroutine. Each answer is of one moment.
type Reader interface {
	Read(ctx context.Context, sessions []string) []Record
}

// Record is one lease and its token as Redis has them.
type Record struct {
	Session string
	// Holder is empty when the lease is free.
	Holder string
	// Token is the holder's, or that of the last one; zero where there was none.
	Token Token
	// Remaining is how long the lease still lives, or NoExpiry.
	Remaining time.Duration
	// Err is ErrForeign, or says why the lease is unknown.
	Err error
}

// Ledger checks and records polls. Both calls compare holder and token in the
// same script that writes, and answer ErrLost when they do not match.
type Ledger interface {
	// Begin records the start of a poll, if the grant holds, no other poll of the
	// session is in flight and the session is due.
	Begin(ctx context.Context, g Grant, slot Slot) (Start, error)
	// Finish records the end of a poll that Begin let start, once: a repetition, or
	// one that comes after the next start, changes nothing and succeeds.
	Finish(ctx context.Context, g Grant, r Result) error
}

// Asker has a task begun before it is due, by whoever has its lease, within seconds. A
// run that is in flight goes on; the one that was asked for follows it.
type Asker interface {
	Ask(ctx context.Context, session string) error
}

// Slot says what is about to be polled.
type Slot struct {
	Interval time.Duration
	// Bound is the longest that the poll can take.
	Bound time.Duration
	// Attempt names the wish to begin, zero for none: asked again with the same name,
	// since there was no answer, a ledger begins the same slot anew. Two attempts of one
	// token have different names.
	Attempt int64
	// Question is higher with each question that a process asks about one token. One that
	// arrives after a later one was answered with a start begins nothing.
	Question int64

	// Keep leaves the slot due until a Finish: a start whose end is never recorded is
	// repeated once its poll can be in flight no more.
	Keep bool
	// Plan names the calendar that has the slots, empty without one. Where the ledger
	// has slots of another, or none, Next is the first.
	Plan string
	// Next is the calendar's first slot from now.
	Next time.Time
	// Grace, if more than zero, is how late a slot may be served; one that nobody
	// began by then is skipped.
	Grace time.Duration
}

// Start answers Begin. Times are of the Redis server's clock.
type Start struct {
	// Wait is more than zero when the poll may not start yet.
	Wait time.Duration
	// At is the recorded start; Due is the slot that it serves (zero for a first
	// poll).
	At, Due time.Time
	// Failures counts the failed polls in a row before this one, fleet-wide.
	Failures int
	// Sequence numbers the starts of a session, whoever polls it: each has a higher one
	// than those before, by one unless the state was lost.
	Sequence int64
}

// Result is what one poll brought, and when the session is due again. Times are
// of the Redis server's clock, derived from Start.
type Result struct {
	OK    bool
	Class string // success, or the class of the failure
	Error string

	Status   int
	Bytes    int64
	Body     []byte    // the first bytes of the answer, where the document asks for them
	Due      time.Time // the slot that the poll served
	Started  time.Time // as Begin answered: it names the poll
	Sequence int64     // as Begin answered
	Duration time.Duration

	NextDue  time.Time
	RetryAt  time.Time // zero unless failed
	Failures int

	// Event is the result as the stream of results has it.
	Event []byte
}

// maxErrorText bounds what is kept of a poll's error.
const maxErrorText = 512

// ErrorText is Error as it is kept: short and valid UTF-8.
func (r Result) ErrorText() string {
	return strings.ToValidUTF8(r.Error[:min(len(r.Error), maxErrorText)], "�")
}

// Member is one heartbeat key.
type Member struct {
	Instance string
	// Remaining is how long the heartbeat still lives; zero when it is gone.
	Remaining time.Duration
	// Cordon is what an operator wants of the node.
	Cordon Cordon
}

// Members keeps and reads the heartbeat keys.
type Members interface {
	// Beat writes the instance's heartbeat.
	Beat(ctx context.Context, instance string, ttl time.Duration) error
	// Leave removes the instance's heartbeat, and what else is kept of it.
	Leave(ctx context.Context, instance string) error
	// List finds all live instances by scanning. However many keys there are, it ends when
	// a round trip takes too long.
	List(ctx context.Context) ([]Member, error)
	// Check reads the heartbeats of the instances named, in their order.
	Check(ctx context.Context, instances []string) ([]Member, error)
	// NoteLoss tells those that start, for ttl, that the instance saw that Redis may have
	// lost data. What was told before is not told for less.
	NoteLoss(ctx context.Context, instance string, ttl time.Duration) error
	// LossNoted reports whether it is told, and how long ago it was seen.
	LossNoted(ctx context.Context) (ago time.Duration, noted bool, err error)
}
