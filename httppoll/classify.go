package httppoll

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/textproto"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// ErrTimeout is what the error of a poll in [ClassTimeout] wraps.
var ErrTimeout = errors.New("the poll's timeout passed")

// clipAt bounds the texts that come from outside.
const clipAt = 200

// dialError is a connection that did not come about.
type dialError struct {
	class string
	err   error
}

func (e *dialError) Error() string { return e.err.Error() }
func (e *dialError) Unwrap() error { return e.err }

func dialClass(err error) string {
	if _, ok := errors.AsType[*net.DNSError](err); ok {
		return ClassDNS
	}
	return ClassConnect
}

// verdict is a failure that was read off a request or an answer. It stands whatever
// became of the context meanwhile.
type verdict struct {
	class string
	text  string
}

func (v *verdict) Error() string { return v.text }

func fail(class, format string, args ...any) *verdict {
	return &verdict{class: class, text: fmt.Sprintf(format, args...)}
}

// classify names a failure. The context that the caller gave comes before the poll's
// own deadline, which is derived from it, and both before what they made of the
// request.
func classify(ctx, bounded context.Context, limit time.Duration, err error) (string, error) {
	if v, ok := errors.AsType[*verdict](err); ok {
		return v.class, v
	}
	if ctx.Err() != nil {
		return ClassCanceled, fmt.Errorf("the poll was ended: %w", context.Cause(ctx))
	}
	if bounded.Err() != nil {
		return ClassTimeout, fmt.Errorf("%s%w (%s)", stage(err), ErrTimeout, limit)
	}
	if d, ok := errors.AsType[*dialError](err); ok {
		return d.class, Describe(d.err)
	}
	return ClassHTTP, Describe(err)
}

// brokenBody is an answer that broke off after its header.
type brokenBody struct {
	bytes int64
	err   error
}

func (e *brokenBody) Error() string { return e.err.Error() }
func (e *brokenBody) Unwrap() error { return e.err }

func stage(err error) string {
	if b, ok := errors.AsType[*brokenBody](err); ok {
		return fmt.Sprintf("after %d bytes of the answer ", b.bytes)
	}
	return "no answer: "
}

// Describe makes a text of an error that net and net/http returned. They put URLs around
// their errors, and into them, quoted, what they could not parse: an answer may repeat
// the request, its secrets too. So nothing is kept from the first quotation mark on.
func Describe(err error) error {
	if b, ok := errors.AsType[*brokenBody](err); ok {
		return fmt.Errorf("the answer broke off after %d bytes: %w", b.bytes, Describe(b.err))
	}
	if _, ok := errors.AsType[textproto.ProtocolError](err); ok {
		return errors.New("the answer's header is malformed")
	}
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("the target closed the connection")
	}
	text, _, cut := strings.Cut(err.Error(), `"`)
	if cut {
		text = strings.TrimRight(text, " :")
	}
	return errors.New(clip(text))
}

// clip shortens a text from outside and escapes its control characters.
func clip(text string) string {
	if len(text) > clipAt {
		text = text[:clipAt] + "…"
	}
	quoted := strconv.Quote(text)
	return quoted[1 : len(quoted)-1]
}
