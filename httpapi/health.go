package httpapi

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"time"
)

// Check is one condition of being ready. Probe returns nil when it holds; it may
// be called from any goroutine and ends with ctx.
type Check struct {
	Name  string
	Probe func(ctx context.Context) error
}

// Config is what the handler needs.
type Config struct {
	// Ready are the checks of /readyz, in the order in which they are reported.
	Ready []Check
	// Live are the checks of /healthz; they must not depend on Redis.
	Live []Check
	// Leases are what the lease API needs; nil: there is none.
	Leases *Leases
	// Metrics answers a scrape; nil: nothing does.
	Metrics http.Handler
}

// probeLimit bounds all checks of one request together.
const probeLimit = time.Second

// health is the body of both routes.
type health struct {
	Status string            `json:"status"`
	Failed map[string]string `json:"failed,omitempty"` // check to reason
	// Checks are all that there are, for those who ask for them by ?verbose.
	Checks []checked `json:"checks,omitempty"`
}

// checked is a check and how it ended.
type checked struct {
	Name  string `json:"name"`
	OK    bool   `json:"ok"`
	Error string `json:"error,omitempty"`
}

// New returns the handler of all routes.
func New(cfg Config) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", report(cfg.Live, "not alive"))
	mux.HandleFunc("GET /readyz", report(cfg.Ready, "not ready"))
	if cfg.Metrics != nil {
		mux.Handle("GET /metrics", cfg.Metrics)
	}
	if cfg.Leases == nil {
		return routed(mux)
	}
	leases := newAPI(*cfg.Leases, cfg.Ready)
	leases.describe(mux)
	if cfg.Leases.Profiles {
		leases.profiles(mux)
	}

	others := routed(mux)

	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// A ServeMux would clean the path, and lead a/../b elsewhere.
		if strings.HasPrefix(sentPath(r.URL), root) {
			leases.ServeHTTP(w, r)

			return
		}
		others.ServeHTTP(w, r)
	})
}

// routed has a problem answer what leads to no route, in place of the library's text.
func routed(mux *http.ServeMux) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		handler, pattern := mux.Handler(r)
		if pattern != "" {
			mux.ServeHTTP(w, r)

			return
		}
		refusal := refused{header: w.Header()}
		handler.ServeHTTP(&refusal, r)
		if refusal.status == http.StatusMethodNotAllowed {
			noMethod(w.Header().Get("Allow")).write(w)
		} else {
			noRoute().write(w)
		}
	})
}

// refused takes the status of an answer, and none of its text.
type refused struct {
	header http.Header
	status int
}

func (r *refused) Header() http.Header       { return r.header }
func (r *refused) WriteHeader(status int)    { r.status = status }
func (*refused) Write(b []byte) (int, error) { return len(b), nil }

// report answers by the checks.
func report(checks []Check, bad string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, status := health{Status: "ok", Failed: failures(r.Context(), checks)}, http.StatusOK
		if len(body.Failed) > 0 {
			body.Status, status = bad, http.StatusServiceUnavailable
		}
		if r.URL.Query().Has("verbose") {
			for _, c := range checks {
				reason, failed := body.Failed[c.Name]
				body.Checks = append(body.Checks, checked{Name: c.Name, OK: !failed, Error: reason})
			}
		}
		write(w, status, body)
	}
}

// failures runs the checks and returns the reasons of those that fail.
func failures(ctx context.Context, checks []Check) map[string]string {
	ctx, cancel := context.WithTimeout(ctx, probeLimit)
	defer cancel()
	failed := map[string]string{}
	for _, c := range checks {
		if err := c.Probe(ctx); err != nil {
			failed[c.Name] = err.Error()
		}
	}
	return failed
}

func write(w http.ResponseWriter, status int, body health) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	text, err := json.Marshal(body)
	if err != nil { // strings only: can't be
		status, text = http.StatusInternalServerError, nil
	}
	w.WriteHeader(status)
	_, _ = w.Write(text) // a client that has gone needs no answer
}
