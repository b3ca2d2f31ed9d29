package httpapi

import (
	"encoding/json"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// problem is an error as RFC 9457 has it. It is no error of Go: it always ends a
// request.
type problem struct {
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail,omitempty"`

	// HolderID and Version name who has the lease instead.
	HolderID string `json:"holder_id,omitempty"`
	Version  *int64 `json:"version,omitempty"`

	// retryAfter is when the same request makes sense again; zero: not said.
	retryAfter time.Duration
}

const problemType = "application/problem+json"

// leastPause is when a request is worth repeating that may do better soon.
const leastPause = time.Second

// newProblem makes a problem of the type that its title names.
func newProblem(status int, title, detail string) *problem {
	return &problem{Type: "urn:leasehold:problem:" + slug(title), Title: title, Status: status, Detail: detail}
}

// slug keeps the words of a title, with dashes between them.
func slug(title string) string {
	return strings.Join(strings.FieldsFunc(strings.ToLower(title), func(r rune) bool { return r < 'a' || r > 'z' }), "-")
}

// unknown says that Redis gave no answer that can be relied on. The lease may have
// been taken, renewed or released all the same, so it never counts as free.
func unknown(err error) *problem {
	p := newProblem(http.StatusServiceUnavailable, "unknown, not free", err.Error())
	p.retryAfter = leastPause

	return p
}

func unprocessable(detail string) *problem {
	return newProblem(http.StatusUnprocessableEntity, "a value is not allowed", detail)
}

func (p *problem) write(w http.ResponseWriter) {
	if p.retryAfter > 0 {
		w.Header().Set("Retry-After", strconv.FormatInt(seconds(p.retryAfter), 10))
	}
	respond(w, p.Status, problemType, p)
}

// seconds rounds up.
func seconds(d time.Duration) int64 { return int64(math.Ceil(d.Seconds())) }

func respondJSON(w http.ResponseWriter, status int, body any) {
	respond(w, status, "application/json", body)
}

func respond(w http.ResponseWriter, status int, contentType string, body any) {
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	text, err := json.Marshal(body)
	if err != nil { // strings and numbers only: can't be
		status, text = http.StatusInternalServerError, nil
	}
	w.WriteHeader(status)
	_, _ = w.Write(text) // a client that has gone needs no answer
}
