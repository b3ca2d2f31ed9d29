package httpapi_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"leasehold/eventlog"
	"leasehold/httpapi"
	"leasehold/internal/redistest"
	"leasehold/rediskey"
	"leasehold/redisstore"
)

const ttl = 30 * time.Second

// bench is a lease API over a Redis with a clock of its own.
type bench struct {
	t     *testing.T
	mini  *redistest.Mini
	link  *redistest.Link
	rdb   *redis.Client // over a link that never fails
	logs  *bytes.Buffer
	log   *eventlog.Log
	api   httpapi.Leases
	keys  rediskey.Keys
	serve http.Handler
}

// onBench runs f in a bubble.
func onBench(t *testing.T, f func(b *bench), change ...func(*httpapi.Leases)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		m := redistest.NewMini()
		defer m.Close()
		b := &bench{t: t, mini: m, link: m.Link(), rdb: m.Client(), logs: &bytes.Buffer{}, keys: rediskey.Default()}
		defer func() { _ = b.rdb.Close() }()
		client := b.link.Client()
		defer func() { _ = client.Close() }()
		b.log = eventlog.New(b.logs, eventlog.Options{Level: eventlog.Debug})
		defer b.log.Close()
		b.api = httpapi.Leases{
			Store: redisstore.New(client, b.keys, redisstore.Options{}),
			TTL:   ttl, Loopback: true, Log: b.log,
			Node: func() httpapi.Node { return httpapi.Node{InstanceID: "me-1-00000000", Build: "v1", Leases: 3} },
		}
		for _, c := range change {
			c(&b.api)
		}
		b.serve = httpapi.New(httpapi.Config{Leases: &b.api})
		f(b)
	})
}

// reply is what a request brought.
type reply struct {
	code   int
	header http.Header
	text   string

	HolderID  string     `json:"holder_id"`
	Version   int64      `json:"version"`
	ExpiresAt *time.Time `json:"expires_at"`
	Title     string     `json:"title"`
	Status    int        `json:"status"`
	Detail    string     `json:"detail"`
}

// send makes a request as a program on this machine does; headers are pairs.
func (b *bench) send(method, path, body string, headers ...string) reply {
	b.t.Helper()
	r := httptest.NewRequestWithContext(b.t.Context(), method, path, strings.NewReader(body))
	r.Host = "127.0.0.1:8080"
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
		if headers[i] == "Host" {
			r.Host = headers[i+1]
		}
	}
	w := httptest.NewRecorder()
	b.serve.ServeHTTP(w, r)
	got := reply{code: w.Code, header: w.Header(), text: w.Body.String()}
	if strings.HasPrefix(got.text, "{") {
		if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
			b.t.Fatalf("%s %s: %q: %v", method, path, got.text, err)
		}
	}
	if got.code >= 400 && (got.header.Get("Content-Type") != "application/problem+json" || got.Status != got.code || got.Title == "") {
		b.t.Errorf("%s %s: %d is no problem document: %s", method, path, got.code, got.text)
	}
	return got
}

// want is send, with a status that it must have.
func (b *bench) want(code int, method, path, body string) reply {
	b.t.Helper()
	got := b.send(method, path, body)
	if got.code != code {
		b.t.Fatalf("%s %s %s: %d, want %d: %s", method, path, body, got.code, code, got.text)
	}
	return got
}

func (b *bench) put(id, document string) {
	b.t.Helper()
	if err := b.rdb.Set(b.t.Context(), b.keys.Session(id), document, 0).Err(); err != nil {
		b.t.Fatal(err)
	}
}

// holder reads the lease key.
func (b *bench) holder(id string) string {
	return b.rdb.Get(b.t.Context(), b.keys.Lease(id)).Val()
}

// token reads the fencing token.
func (b *bench) token(id string) int64 {
	n, _ := b.rdb.HGet(b.t.Context(), b.keys.State(id), "version").Int64()
	return n
}

// left is how long the lease still lives.
func (b *bench) left(id string) time.Duration {
	return b.rdb.PTTL(b.t.Context(), b.keys.Lease(id)).Val()
}

// logged returns the lines of an event.
func (b *bench) logged(event string) []map[string]any {
	b.t.Helper()
	b.log.Close() // writes what is queued
	var found []map[string]any
	for text := range strings.Lines(b.logs.String()) {
		var line map[string]any
		if err := json.Unmarshal([]byte(text), &line); err != nil {
			b.t.Fatalf("%q: %v", text, err)
		}
		if line["event"] == event {
			found = append(found, line)
		}
	}
	return found
}

func retryAfter(r reply) int {
	n, err := strconv.Atoi(r.header.Get("Retry-After"))
	if err != nil {
		return -1
	}
	return n
}

const (
	external = `{"kind":"external"}`
	web      = `{"url":"http://127.0.0.1:1/"}`

	s1   = "/api/v1/sessions/s1/lease"
	asW1 = `{"holder_id":"w1"}`
	asW2 = `{"holder_id":"w2"}`
)
