package main

import (
	"bufio"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"leasehold/doctor"
	"leasehold/internal/redistest"
	"leasehold/leasemanager"
)

// request returns the status of a request to the API.
func request(t *testing.T, method, url, body string) int {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	_, _ = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode
}

// A whole node, its API and a member that embeds one do all they can as the user of
// docs/security.md, and Redis refuses them nothing.
func TestAUserWithTheLeastRightsCanDoAll(t *testing.T) {
	target := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "x") }))
	defer target.Close()
	s := redistest.StartServer(t, "--notify-keyspace-events", "KEgx$e")
	admin := s.Client()
	defer func() { _ = admin.Close() }()
	do := func(line string) {
		t.Helper()
		var args []any
		for w := range strings.FieldsSeq(line) {
			args = append(args, w)
		}
		if err := admin.Do(t.Context(), args...).Err(); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
	}
	defaults := settings(t)
	scope := doctor.Scope{Keys: defaults.Keys, Stream: defaults.ResultStream}
	do(strings.Replace(scope.SetUser("leasehold"), "PASSWORD", "hunter2", 1))
	do(`SET session:web {"url":"` + target.URL + `","interval":"500ms"}`)
	do(`SET session:log {"kind":"log","interval":"500ms"}`)
	do(`SET session:task {"kind":"log","interval":"1h","misfire":"once"}`)
	do(`SET session:job {"kind":"external"}`)
	do(`HSET ` + defaults.Keys.State("job") + ` version 9007199254740993`) // larger than what is exact in a script
	do(`LPUSH ` + defaults.Keys.Node("odd") + ` no-heartbeat`)

	url := strings.Replace(s.URL(), "redis://", "redis://leasehold:hunter2@", 1)
	out, stop := runs(t, "LEASEHOLD_REDIS_URL="+url, "LEASEHOLD_HTTP_ADDR=127.0.0.1:0", "LEASEHOLD_RECONCILE_INTERVAL=500ms",
		"LEASEHOLD_HEARTBEAT_INTERVAL=1s", "LEASEHOLD_LEASE_RENEW_INTERVAL=1s")
	api := "http://" + address(t, out) + "/api/v1/"
	out.await(t, `"event":"events.subscribed"`, `"event":"poll.succeeded"`, `"event":"lease.renewed"`)

	changes, err := http.NewRequestWithContext(t.Context(), http.MethodGet, api+"events", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	stream, err := http.DefaultClient.Do(changes)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = stream.Body.Close() }()
	seen := make(chan string, 1000)
	go func() {
		for lines := bufio.NewScanner(stream.Body); lines.Scan(); {
			seen <- lines.Text()
		}
	}()
	for _, c := range []struct {
		method, path, body string
		want               int
	}{
		{"POST", "sessions/job/lease", `{"holder_id":"w1"}`, 201},
		{"GET", "sessions/job/lease", "", 200},
		{"POST", "sessions/job/lease/renew", `{"holder_id":"w1"}`, 200},
		{"POST", "leases/renew", `{"holder_id":"w1","leases":[{"session_id":"job"}]}`, 200},
		{"DELETE", "sessions/job/lease", `{"holder_id":"w1"}`, 204},
		{"POST", "sessions/job/lease", `{"holder_id":"w2"}`, 201},
		{"DELETE", "sessions/job/lease", `{"holder_id":"w2"}`, 204},
		{"POST", "sessions/task/run", "", 202},
		{"GET", "sessions?leased=false", "", 200},
		{"GET", "sessions", "", 200},
		{"GET", "sessions/web", "", 200},
		{"GET", "nodes", "", 200},
		{"GET", "status", "", 200},
	} {
		if got := request(t, c.method, api+c.path, c.body); got != c.want {
			t.Errorf("%s %s: %d, want %d", c.method, c.path, got, c.want)
		}
	}
	deadline := time.After(10 * time.Second)
	for what := ""; !strings.Contains(what, "poll"); {
		select {
		case what = <-seen:
		case <-deadline:
			t.Fatal("the API shows no result")
		}
	}
	m, err := leasemanager.New(leasemanager.Config{RedisURL: url, Name: "member"})
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := m.TryAcquire(t.Context(), "pump"); err != nil || !m.IsOwned("pump") {
		t.Errorf("a member has no lease: %v", err)
	}
	if err := m.Stop(); err != nil {
		t.Error(err)
	}
	do("DEL session:web")
	out.await(t, `"event":"session.removed"`)
	if code := stop(); code != exitOK {
		t.Errorf("exit %d", code)
	}
	if strings.Contains(out.String(), "events.disabled") {
		t.Errorf("events are disabled: %s", out)
	}
	if log := admin.Do(t.Context(), "ACL", "LOG").String(); !strings.HasSuffix(log, ": []") {
		t.Errorf("refused: %s", log)
	}
	used := admin.Info(t.Context(), "commandstats").Val()
	for _, r := range scope.Rights() {
		if name, ok := strings.CutPrefix(r.Rule, "+"); ok && !strings.Contains(used, "cmdstat_"+name+":") {
			t.Errorf("%s is not needed", r.Rule)
		}
	}
}
