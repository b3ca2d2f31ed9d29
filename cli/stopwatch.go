package cli

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"net/http/httptrace"
	"sync"
	"time"
)

// took is how long something took: in JSON in milliseconds. Negative: it was not done.
type took time.Duration

const never = took(-1)

// String is for people; empty where there was none.
func (d took) String() string {
	if d < 0 {
		return ""
	}
	return time.Duration(d).Round(time.Microsecond).String()
}

// MarshalJSON implements [json.Marshaler].
func (d took) MarshalJSON() ([]byte, error) {
	if d < 0 {
		return []byte("null"), nil
	}
	return json.Marshal(float64(time.Duration(d).Microseconds()) / 1000)
}

// timings are how long the parts of a poll took.
type timings struct {
	DNS     took `json:"dns_ms"`
	Connect took `json:"connect_ms"`
	TLS     took `json:"tls_ms"`
	// FirstByte and Total are counted from the start.
	FirstByte took `json:"first_byte_ms"`
	Total     took `json:"total_ms"`
}

// stopwatch times one poll. net/http calls it from goroutines of its own, also when
// the poll has ended.
type stopwatch struct {
	mu                         sync.Mutex
	begun                      time.Time
	dns, dnsDone, dial, dialed time.Time
	encrypt, encrypted, first  time.Time
	remote                     string
	stopped                    bool
}

// start returns a context for the poll, which begins now.
func (w *stopwatch) start(ctx context.Context) context.Context {
	w.begun = time.Now()
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		DNSStart:     func(httptrace.DNSStartInfo) { w.note(&w.dns, false) },
		DNSDone:      func(httptrace.DNSDoneInfo) { w.note(&w.dnsDone, false) },
		ConnectStart: func(string, string) { w.note(&w.dial, false) },
		ConnectDone: func(_, _ string, err error) {
			if err == nil {
				w.note(&w.dialed, false)
			}
		},
		TLSHandshakeStart: func() { w.note(&w.encrypt, false) },
		TLSHandshakeDone: func(_ tls.ConnectionState, err error) {
			if err == nil {
				w.note(&w.encrypted, false)
			}
		},
		GotConn: func(info httptrace.GotConnInfo) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.remote = info.Conn.RemoteAddr().String()
		},
		GotFirstResponseByte: func() { w.note(&w.first, true) },
	})
}

// note notes the time of what happens, the first or else each time anew.
func (w *stopwatch) note(at *time.Time, again bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.stopped && (again || at.IsZero()) {
		*at = time.Now()
	}
}

// stop returns what was noted, and who answered.
func (w *stopwatch) stop(total time.Duration) (timings, string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stopped = true
	between := func(from, to time.Time) took {
		if from.IsZero() || to.IsZero() {
			return never
		}
		return took(to.Sub(from))
	}
	return timings{
		DNS: between(w.dns, w.dnsDone), Connect: between(w.dial, w.dialed), TLS: between(w.encrypt, w.encrypted),
		FirstByte: between(w.begun, w.first), Total: took(total),
	}, w.remote
}
