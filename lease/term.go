package lease

import "time"

// Token is a fencing token: a 63-bit integer that rises by one with each
// acquisition of a session and never changes on renewal.
type Token int64

// Grant names one ownership of one session.
type Grant struct {
	Session string
	Holder  string
	Token   Token
}

// Term is a grant with the moment up to which its holder may believe it.
type Term struct {
	Grant

	// TrustedUntil carries a monotonic reading when built from time.Now.
	TrustedUntil time.Time
}

// NewTerm returns the term of a grant whose accepted acquire or renewal was sent
// at sent. The holder's trust ends margin before Redis can end the lease.
func NewTerm(g Grant, sent time.Time, ttl, margin time.Duration) Term {
	return Term{Grant: g, TrustedUntil: sent.Add(ttl - margin)}
}

// Held reports whether the term can be trusted at now.
func (t Term) Held(now time.Time) bool {
	return now.Before(t.TrustedUntil)
}

// Remaining returns the trust that is left at now, never less than zero.
func (t Term) Remaining(now time.Time) time.Duration {
	return max(0, t.TrustedUntil.Sub(now))
}
