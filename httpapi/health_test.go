package httpapi_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"leasehold/httpapi"
)

type body struct {
	Status string            `json:"status"`
	Failed map[string]string `json:"failed"`
}

func get(t *testing.T, checks []httpapi.Check, path string) (int, body) {
	t.Helper()
	w := httptest.NewRecorder()
	httpapi.New(httpapi.Config{Ready: checks}).ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
	var b body
	if w.Code != http.StatusNotFound {
		if err := json.Unmarshal(w.Body.Bytes(), &b); err != nil {
			t.Fatalf("%s: %q: %v", path, w.Body, err)
		}
	}
	return w.Code, b
}

func check(name string, err error) httpapi.Check {
	return httpapi.Check{Name: name, Probe: func(context.Context) error { return err }}
}

func TestANodeIsAliveWhateverRedisSays(t *testing.T) {
	code, b := get(t, []httpapi.Check{check("redis", errors.New("down"))}, "/healthz")
	if code != http.StatusOK || b.Status != "ok" {
		t.Errorf("%d %+v", code, b)
	}
}

func TestANodeIsAliveAsLongAsEveryCheckOfThatHolds(t *testing.T) {
	ask := func(path string, live ...httpapi.Check) (int, string) {
		w := httptest.NewRecorder()
		httpapi.New(httpapi.Config{Live: live}).ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
		return w.Code, w.Body.String()
	}
	stuck := check("event loop", errors.New("stuck"))
	for _, c := range []struct {
		path string
		live []httpapi.Check
		code int
		body string
	}{
		{"/healthz", []httpapi.Check{check("polls", nil)}, http.StatusOK, `{"status":"ok"}`},
		{"/healthz", []httpapi.Check{stuck, check("polls", nil)}, http.StatusServiceUnavailable, `{"status":"not alive","failed":{"event loop":"stuck"}}`},
		{"/healthz?verbose", []httpapi.Check{check("polls", nil)}, http.StatusOK, `{"status":"ok","checks":[{"name":"polls","ok":true}]}`},
		{
			"/healthz?verbose=1",
			[]httpapi.Check{stuck, check("polls", nil)},
			http.StatusServiceUnavailable,
			`{"status":"not alive","failed":{"event loop":"stuck"},"checks":[{"name":"event loop","ok":false,"error":"stuck"},{"name":"polls","ok":true}]}`,
		},
	} {
		if code, body := ask(c.path, c.live...); code != c.code || body != c.body {
			t.Errorf("%s: %d %s, want %d %s", c.path, code, body, c.code, c.body)
		}
	}
}

func TestReadyIsWhatEveryCheckSays(t *testing.T) {
	if code, b := get(t, []httpapi.Check{check("redis", nil), check("heartbeat", nil)}, "/readyz"); code != http.StatusOK || b.Status != "ok" {
		t.Errorf("%d %+v", code, b)
	}
	code, b := get(t, []httpapi.Check{check("redis", nil), check("heartbeat", errors.New("too old")), check("draining", errors.New("is"))}, "/readyz")
	if code != http.StatusServiceUnavailable || len(b.Failed) != 2 || b.Failed["heartbeat"] != "too old" || b.Failed["draining"] != "is" {
		t.Errorf("%d %+v", code, b)
	}
}

func TestACheckThatHangsFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		before := time.Now()
		code, b := get(t, []httpapi.Check{{Name: "redis", Probe: func(ctx context.Context) error {
			<-ctx.Done()
			return ctx.Err()
		}}}, "/readyz")
		if code != http.StatusServiceUnavailable || b.Failed["redis"] == "" || time.Since(before) > 2*time.Second {
			t.Errorf("%d %+v after %s", code, b, time.Since(before))
		}
	})
}

func TestWhatLeadsNowhereIsToldAsAProblem(t *testing.T) {
	for _, c := range []struct {
		method, path string
		status       int
		allow, title string
	}{
		{http.MethodGet, "/nope", http.StatusNotFound, "", "no such route"},
		{http.MethodPost, "/healthz", http.StatusMethodNotAllowed, "GET, HEAD", "no such method"},
	} {
		w := httptest.NewRecorder()
		httpapi.New(httpapi.Config{}).ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), c.method, c.path, nil))
		var p struct {
			Title  string
			Status int
		}
		if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil || p.Title != c.title || p.Status != c.status {
			t.Errorf("%s %s: %q: %v", c.method, c.path, w.Body, err)
		}
		if h := w.Header(); w.Code != c.status || h.Get("Allow") != c.allow || h.Get("Content-Type") != "application/problem+json" {
			t.Errorf("%s %s: %d, %v", c.method, c.path, w.Code, h)
		}
	}
}
