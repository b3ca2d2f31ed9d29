package httppoll

import (
	"time"

	"leasehold/lease"
	"leasehold/session"
)

// The classes of outcomes.
const (
	ClassSuccess   = "success"
	ClassTimeout   = "timeout"       // the session's timeout passed
	ClassDNS       = "dns_error"     // the host's name was not resolved
	ClassConnect   = "connect_error" // no connection to the target
	ClassDenied    = "denied"        // the target's address is one of Config.Deny
	ClassTLS       = "tls_error"     // handshake or certificate
	ClassHTTP      = "http_error"    // status, redirect, broken or malformed answer
	ClassTooLarge  = "too_large"     // the answer is larger than Config.MaxBody
	ClassAssertion = "assertion"     // the answer lacks what the document expects
	ClassCanceled  = "canceled"      // the poll's context or its lease ended, or the node stops
)

// Request asks for one poll.
type Request struct {
	// Session is read only. A timeout of zero or less means 5 s.
	Session session.Session
	// Instance and Token go out as headers.
	Instance string
	Token    lease.Token
	// Holds, if not nil, is asked right before the request is sent, and each time that
	// it is sent anew; where it reports false the poll is canceled. It is called from
	// any goroutine.
	Holds func() bool
}

// Outcome says how one poll ended.
type Outcome struct {
	OK    bool
	Class string
	// Err is nil when OK. Its text can be shown: it holds no secret. A canceled poll's
	// error wraps the cause of its context.
	Err error
	// Status is that of the last answer, zero without one.
	Status int
	// Bytes of the last answer's body that were read, after decompression.
	Bytes int64
	// Body is the beginning of those, as long as the session keeps; where that cuts a
	// text within a character, up to that one.
	Body     []byte
	Duration time.Duration
}
