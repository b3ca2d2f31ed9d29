package history

import (
	"fmt"
	"time"
)

// Kind is what an operation does.
type Kind int

// The operations of a lease. Verify is a poll's begin or finish: both act only for the
// holder with the current token. Expire is the end of a TTL, Wipe the loss of all data.
const (
	Acquire Kind = iota
	Renew
	Release
	Verify
	Expire
	Wipe
)

func (k Kind) String() string {
	return [...]string{"acquire", "renew", "release", "verify", "expire", "wipe"}[k]
}

// Op is what was asked of one lease.
type Op struct {
	// ID is unique, and not zero. An accepted acquire or renew sets the deadline ID.
	ID      int
	Kind    Kind
	Session string
	Holder  string
	Token   int64
	TTL     time.Duration
	// Forget has a release drop the counter too.
	Forget bool
	// Of is the ID of the operation that an expiry ends.
	Of int
	// Call and Return bound when it took effect, in nanoseconds of the Unix epoch.
	Call, Return int64
}

// Answer is what was answered.
type Answer struct {
	// Known is false where no answer was seen.
	Known bool
	// Done says that it took effect: granted, renewed, released, verified.
	Done bool
	// Already says that the lease was the acquirer's before, Fresh that there was no
	// counter.
	Already, Fresh bool
	// Holder is who has the lease where it was refused, or nobody.
	Holder string
	// Token is the token of the lease, told by acquire alone.
	Token int64
}

func describe(op Op, a Answer) string {
	if op.Kind == Expire || op.Kind == Wipe {
		return op.Kind.String()
	}
	asked := fmt.Sprintf("%s by %s", op.Kind, op.Holder)
	if op.Kind != Acquire {
		asked = fmt.Sprintf("%s token %d", asked, op.Token)
	}
	switch {
	case !a.Known:
		return asked + ": no answer"
	case op.Kind == Acquire && a.Done:
		return fmt.Sprintf("%s: token %d (already %t, fresh %t)", asked, a.Token, a.Already, a.Fresh)
	case a.Done:
		return asked + ": done"
	case a.Holder == "":
		return asked + ": refused, nobody's"
	}

	return fmt.Sprintf("%s: refused, held by %s (token %d)", asked, a.Holder, a.Token)
}
