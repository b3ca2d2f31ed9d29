package httpapi_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"leasehold/httpapi"
	"leasehold/lease"
	"leasehold/session"
)

// described is the description that a server gives of itself.
type described struct {
	t   *testing.T
	all map[string]any
	// met are the statuses of each operation that were seen.
	met map[string]bool
}

func describedBy(t *testing.T, h http.Handler) *described {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", "/openapi.json", nil))
	d := &described{t: t, met: map[string]bool{}}
	if err := json.Unmarshal(w.Body.Bytes(), &d.all); err != nil || w.Code != http.StatusOK {
		t.Fatalf("%d %v: %s", w.Code, err, w.Body)
	}
	return d
}

// at walks into the description.
func (d *described) at(path ...string) map[string]any {
	here := d.all
	for _, p := range path {
		next, ok := here[p].(map[string]any)
		if !ok {
			d.t.Fatalf("the description has no %q in %q", p, path)
		}
		here = next
	}
	return here
}

// check compares an answer with what is said of it.
func (d *described) check(method, path string, got reply) {
	d.t.Helper()
	name := fmt.Sprintf("%s %s %d", method, path, got.code)
	responses := d.at("paths", path, strings.ToLower(method), "responses")
	response, ok := responses[strconv.Itoa(got.code)].(map[string]any)
	if !ok {
		d.t.Errorf("%s is not described: %s", name, got.text)
		return
	}
	d.met[name] = true
	content, _ := response["content"].(map[string]any)
	mime := got.header.Get("Content-Type")
	switch {
	case content == nil:
		if got.text != "" {
			d.t.Errorf("%s has a body: %s", name, got.text)
		}
		return
	case content[mime] == nil:
		d.t.Errorf("%s is of type %q, described are %v", name, mime, slices.Collect(maps.Keys(content)))
		return
	case !strings.HasSuffix(mime, "json"):
		return
	}
	escape := strings.NewReplacer("~", "~0", "/", "~1")
	where := []string{"paths", path, strings.ToLower(method), "responses", strconv.Itoa(got.code), "content", mime, "schema"}
	for i, w := range where {
		where[i] = escape.Replace(w)
	}
	pointer := "/" + strings.Join(where, "/")
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource("http://leasehold/openapi.json", d.all); err != nil {
		d.t.Fatal(err)
	}
	schema, err := c.Compile("http://leasehold/openapi.json#" + strings.ReplaceAll(strings.ReplaceAll(pointer, "{", "%7B"), "}", "%7D"))
	if err != nil {
		d.t.Fatalf("%s: %v", name, err)
	}
	body, err := jsonschema.UnmarshalJSON(strings.NewReader(got.text))
	if err == nil {
		err = schema.Validate(body)
	}
	if err != nil {
		d.t.Errorf("%s: %s: %v", name, got.text, err)
	}
}

// sample is a request that works, one for each operation.
type sample struct{ method, path, url, body string }

const (
	sessionsPath = "/api/v1/sessions"
	onePath      = "/api/v1/sessions/{id}"
	leasePath    = onePath + "/lease"
	renewPath    = leasePath + "/renew"
	runPath      = onePath + "/run"
)

func samples() []sample {
	return []sample{
		{"GET", "/api/v1/status", "", ""},
		{"GET", "/api/v1/nodes", "", ""},
		{"GET", sessionsPath, "", ""},
		{"GET", onePath, "/api/v1/sessions/s1", ""},
		{"POST", runPath, "/api/v1/sessions/task/run", ""},
		{"POST", leasePath, s1, asW1},
		{"GET", leasePath, s1, ""},
		{"POST", renewPath, s1 + "/renew", asW1},
		{"POST", batchPath, "", `{"holder_id":"w1","leases":[{"session_id":"s1"},{"session_id":"none"},{"session_id":"s1","holder_id":"w2"},{"session_id":1}]}`},
		{"DELETE", leasePath, s1 + "?holder_id=w1", ""},
		{"GET", changes, "", ""},
	}
}

// ask sends the sample, and reads the beginning of an answer that has no end.
func (s sample) ask(b *bench, headers ...string) reply {
	url := s.url
	if url == "" {
		url = s.path
	}
	if s.path == changes && len(headers) == 0 {
		f := b.follow(url, nil)
		f.leave()
		<-f.ended
		return reply{code: f.Code, header: f.Header(), text: f.Body.String()}
	}
	return b.send(s.method, url, s.body, headers...)
}

// The description is of this server: each status of each operation is met, and each
// answer is as its schema says.
func TestTheServerIsAsItIsDescribed(t *testing.T) {
	onVigil(t, func(b *bench, _ *hints, _ chan struct{}) {
		d := describedBy(b.t, b.serve)
		b.put("s1", `{"url":"http://127.0.0.1/","headers":{"A":"b"}}`)
		b.put("broken", "{")
		b.put("task", task)
		b.rdb.Set(b.t.Context(), b.keys.Node("a-1-00000000"), "1", time.Minute)
		for _, s := range samples() {
			d.check(s.method, s.path, s.ask(b))
			if s.method == "POST" && s.path == leasePath {
				d.check(s.method, s.path, s.ask(b))
				d.check("GET", sessionsPath, b.send("GET", sessionsPath, ""))
			}
		}
		b.want(http.StatusCreated, "POST", s1, asW1)
		d.check("GET", sessionsPath, b.send("GET", free, ""))
		d.check("POST", leasePath, b.send("POST", s1, asW2))
		b.want(http.StatusNoContent, "DELETE", s1, asW1)
		d.wrong(b)
		d.checkHealth(b)
		d.refused(b)
		d.complete()
	})
}

// wrong sends what can't be answered.
func (d *described) wrong(b *bench) {
	large := strings.Repeat("x", 2<<20)
	for _, s := range []sample{
		{"GET", "/api/v1/nodes", "/api/v1/nodes?limit=%zz", ""},
		{"GET", "/api/v1/nodes", "/api/v1/nodes?limit=0", ""},
		{"GET", sessionsPath, sessionsPath + "?limit=%zz", ""},
		{"GET", sessionsPath, sessionsPath + "?limit=0", ""},
		{"GET", onePath, "/api/v1/sessions/none", ""},
		{"GET", leasePath, s1, ""},
		{"POST", runPath, "/api/v1/sessions/none/run", ""},
		{"POST", runPath, "/api/v1/sessions/s1/run", ""},
		{"POST", leasePath, "/api/v1/sessions/none/lease", asW1},
		{"POST", leasePath, s1, "x"},
		{"POST", leasePath, s1, large},
		{"POST", leasePath, s1, "{}"},
		{"POST", renewPath, s1 + "/renew", asW1},
		{"POST", renewPath, s1 + "/renew", "x"},
		{"POST", renewPath, s1 + "/renew", large},
		{"POST", renewPath, s1 + "/renew", "{}"},
		{"DELETE", leasePath, s1, "x"},
		{"DELETE", leasePath, s1, large},
		{"DELETE", leasePath, s1, ""},
		{"POST", batchPath, batchPath, "x"},
		{"POST", batchPath, batchPath, large},
		{"POST", batchPath, batchPath, "{}"},
		{"GET", changes, changes + "?types=%zz", ""},
		{"GET", changes, changes + "?types=x", ""},
	} {
		d.check(s.method, s.path, b.send(s.method, s.url, s.body))
	}
}

func (d *described) checkHealth(b *bench) {
	for _, failing := range []error{nil, errors.New("down")} {
		h := httpapi.New(httpapi.Config{Leases: &b.api, Ready: []httpapi.Check{check("redis", failing)}, Live: []httpapi.Check{check("polls", failing)}})
		for _, path := range []string{"/healthz", "/readyz", "/healthz?verbose", "/readyz?verbose"} {
			w := httptest.NewRecorder()
			h.ServeHTTP(w, httptest.NewRequestWithContext(b.t.Context(), "GET", path, nil))
			d.check("GET", strings.TrimSuffix(path, "?verbose"), reply{code: w.Code, header: w.Header(), text: w.Body.String()})
		}
	}
}

// refused meets the problems that any route can have.
func (d *described) refused(b *bench) {
	good := b.api
	with := func(change func(*httpapi.Leases), then ...func()) {
		b.api = good
		change(&b.api)
		b.serve = httpapi.New(httpapi.Config{Leases: &b.api})
		for _, do := range then {
			do()
		}
		for _, s := range samples() {
			d.check(s.method, s.path, s.ask(b, "X", "y"))
		}
	}
	with(func(l *httpapi.Leases) { l.Token = "secret" })
	with(func(l *httpapi.Leases) { l.Loopback = false })
	with(func(l *httpapi.Leases) { l.Store = panicking{}; l.Watch = nil })
	stop, release := make(chan struct{}), make(chan struct{})
	close(stop)
	with(func(l *httpapi.Leases) {
		l.Stop = stop
		l.Store = stuck{good.Store, release}
	}, func() {
		for range 8 {
			go func() { b.send("GET", s1, "") }()
		}
		for range 2 {
			go func() { b.send("GET", "/api/v1/nodes", "") }()
			go func() { b.send("POST", batchPath, `{"holder_id":"w1","leases":[{"session_id":"s1"}]}`) }()
		}
		synctest.Wait()
	})
	close(release)
	synctest.Wait()
}

// stuck does not answer before it is released.
type stuck struct {
	httpapi.Store

	release chan struct{}
}

func (s stuck) Get(ctx context.Context, ids []string) ([]session.Document, error) {
	<-s.release
	return s.Store.Get(ctx, ids)
}

func (s stuck) List(ctx context.Context) ([]lease.Member, error) {
	<-s.release
	return s.Store.List(ctx)
}

// complete reports what is described and was not met.
func (d *described) complete() {
	for path, operations := range d.at("paths") {
		for method := range operations.(map[string]any) {
			for code := range d.at("paths", path, method, "responses") {
				if name := strings.ToUpper(method) + " " + path + " " + code; !d.met[name] {
					d.t.Errorf("%s is described, and was not met", name)
				}
			}
		}
	}
}

func TestEveryRouteIsDescribed(t *testing.T) {
	onBench(t, func(b *bench) {
		d := describedBy(b.t, b.serve)
		want := map[string]bool{"GET /healthz": true, "GET /readyz": true}
		for _, s := range samples() {
			want[s.method+" "+s.path] = true
		}
		got := map[string]bool{}
		for path, operations := range d.at("paths") {
			for method := range operations.(map[string]any) {
				got[strings.ToUpper(method)+" "+path] = true
			}
		}
		if !maps.Equal(got, want) {
			t.Errorf("described are %v, want %v", got, want)
		}
		if version, _ := d.all["openapi"].(string); !strings.HasPrefix(version, "3.1.") {
			t.Errorf("described by OpenAPI %q", version)
		}
		if about, _ := d.at("info")["description"].(string); !strings.Contains(about, "scene_id") {
			t.Errorf("nothing is said of scenes: %s", about)
		}
	}, func(l *httpapi.Leases) { l.Resource = "scenes" })
}

func TestTheDescriptionIsShownWithoutOthers(t *testing.T) {
	h := httpapi.New(httpapi.Config{Leases: &httpapi.Leases{Token: "secret"}})
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", "/docs", nil))
	page := w.Body.String()
	if w.Code != http.StatusOK || !strings.HasPrefix(w.Header().Get("Content-Type"), "text/html") || !strings.Contains(page, `fetch("openapi.json")`) {
		t.Errorf("%d %v", w.Code, w.Header())
	}
	if strings.Contains(page, "//") && strings.Contains(page, "http") || strings.Contains(page, "innerHTML") {
		t.Error("the page needs others, or reads text as HTML")
	}
	if policy := w.Header().Get("Content-Security-Policy"); !strings.Contains(policy, "default-src 'none'") {
		t.Errorf("policy: %s", policy)
	}
}
