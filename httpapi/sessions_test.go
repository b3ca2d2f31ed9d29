package httpapi_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"leasehold/httpapi"
	"leasehold/internal/redistest"
	"leasehold/lease"
	"leasehold/redisstore"
)

// sessionReply is a session as the API shows it.
type sessionReply struct {
	SessionID string     `json:"session_id"`
	Kind      string     `json:"kind"`
	Paused    bool       `json:"paused"`
	Problem   string     `json:"problem"`
	HolderID  *string    `json:"holder_id"`
	Version   int64      `json:"version"`
	HeldSince *time.Time `json:"held_since"`
	ExpiresAt *time.Time `json:"expires_at"`
	TTL       *int64     `json:"ttl_ms"`
	NextRun   *time.Time `json:"next_run"`
	Failures  int        `json:"failures"`
	LastRun   *struct {
		StartedAt  time.Time `json:"started_at"`
		DurationMS int64     `json:"duration_ms"`
		OK         bool      `json:"ok"`
		Class      string    `json:"class"`
		Error      string    `json:"error"`
		Status     int       `json:"status"`
		Bytes      int64     `json:"bytes"`
	} `json:"last_run"`
	Document map[string]any `json:"document"`
}

// read gets JSON into a value. It returns where the list goes on.
func (b *bench) read(path string, into any) string {
	b.t.Helper()
	got := b.want(http.StatusOK, "GET", path, "")
	if err := json.Unmarshal([]byte(got.text), into); err != nil {
		b.t.Fatalf("%s: %q: %v", path, got.text, err)
	}
	next := got.header.Get("Link")
	return strings.TrimSuffix(strings.TrimPrefix(next, "<"), `>; rel="next"`)
}

func TestASessionIsShownWithItsLeaseItsPollsAndNoSecret(t *testing.T) {
	onBench(t, func(b *bench) {
		b.put("s1", `{"url":"http://me:pass1@10.0.0.7/x?token=pass2&q=1#pass3","method":"POST","headers":{"Authorization":"Bearer pass4","X-Key":"pass5"},
			"body":"pass6","interval":10,"labels":{"team":"core"},"password":"pass7"}`)
		store := redisstore.New(b.rdb, b.keys, redisstore.Options{})
		since := time.Now()
		took := b.want(http.StatusCreated, "POST", s1, asW1)
		g := lease.Grant{Session: "s1", Holder: "w1", Token: lease.Token(took.Version)}
		start, err := store.Begin(b.t.Context(), g, lease.Slot{Interval: 10 * time.Second, Bound: time.Second})
		if err != nil {
			t.Fatal(err)
		}
		next := start.At.Add(10 * time.Second)
		if err := store.Finish(b.t.Context(), g, lease.Result{
			Class: "timeout", Error: "too late", Status: 504, Bytes: 7, Started: start.At, Duration: 1500 * time.Millisecond,
			NextDue: next, RetryAt: next.Add(time.Second), Failures: 1,
		}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(4 * time.Second)
		var s sessionReply
		b.read("/api/v1/sessions/s1", &s)
		run := s.LastRun
		switch {
		case s.SessionID != "s1" || s.Kind != "http" || s.Paused || s.Problem != "":
			t.Errorf("%+v", s)
		case s.HolderID == nil || *s.HolderID != "w1" || s.Version != took.Version || !s.ExpiresAt.Equal(*took.ExpiresAt) || *s.TTL != 26_000:
			t.Errorf("lease: %+v", s)
		case s.HeldSince == nil || !s.HeldSince.Equal(since):
			t.Errorf("held since %v, want %s", s.HeldSince, since)
		case s.NextRun == nil || !s.NextRun.Equal(next.Add(time.Second)) || s.Failures != 1:
			t.Errorf("next run: %+v", s)
		case run == nil || run.OK || run.Class != "timeout" || run.Error != "too late" || run.Status != 504 || run.Bytes != 7 ||
			run.DurationMS != 1500 || !run.StartedAt.Equal(start.At):
			t.Errorf("last run: %+v", run)
		}
		text := fmt.Sprint(s.Document)
		if text != "map[body:*** headers:map[Authorization:*** X-Key:***] interval:10 labels:map[team:core] method:POST url:http://10.0.0.7/x?token=***&q=1]" {
			t.Errorf("shown: %s", text)
		}
		if whole := b.want(http.StatusOK, "GET", "/api/v1/sessions/s1", "").text; strings.Contains(whole, "pass") {
			t.Errorf("a secret: %s", whole)
		}
	})
}

func TestSessionsThatAreFreePausedOrBrokenAreShownToo(t *testing.T) {
	onBench(t, func(b *bench) {
		b.put("free", external)
		b.put("paused", `{"url":"http://127.0.0.1/","isPaused":true}`)
		b.put("broken", `{"url":"secret`)
		b.put("forever", external)
		b.put("a/b", external)
		b.rdb.Set(b.t.Context(), b.keys.Lease("forever"), "x", 0)
		b.rdb.RPush(b.t.Context(), b.keys.Session("list"), "secret")
		b.put("odd", external)
		b.rdb.RPush(b.t.Context(), b.keys.Lease("odd"), "secret")
		for path, bad := range map[string]func(sessionReply) bool{
			"free": func(s sessionReply) bool {
				return s.HolderID != nil || s.HeldSince != nil || s.TTL != nil || s.NextRun != nil || s.LastRun != nil || s.Problem != ""
			},
			"paused":  func(s sessionReply) bool { return !s.Paused },
			"broken":  func(s sessionReply) bool { return s.Problem == "" || s.Document != nil },
			"list":    func(s sessionReply) bool { return s.Problem == "" },
			"odd":     func(s sessionReply) bool { return s.Problem == "" },
			"forever": func(s sessionReply) bool { return *s.HolderID != "x" || s.ExpiresAt != nil || s.TTL != nil },
			"a%2Fb":   func(s sessionReply) bool { return s.SessionID != "a/b" },
		} {
			var s sessionReply
			b.read("/api/v1/sessions/"+path, &s)
			if bad(s) {
				t.Errorf("%s: %+v", path, s)
			}
		}
		for _, none := range []string{"none", "", "a/b", "%00"} {
			b.want(http.StatusNotFound, "GET", "/api/v1/sessions/"+none, "")
		}
		var all []sessionReply
		if next := b.read("/api/v1/sessions", &all); len(all) != 7 || next != "" || strings.Contains(fmt.Sprint(all), "secret") {
			t.Errorf("%d listed, next %q: %+v", len(all), next, all)
		}
		var leased []sessionReply
		b.read("/api/v1/sessions?leased=true", &leased)
		if len(leased) != 1 || leased[0].SessionID != "forever" {
			t.Errorf("leased: %+v", leased)
		}
		b.mini.Down()
		b.want(http.StatusServiceUnavailable, "GET", "/api/v1/sessions", "")
		b.want(http.StatusServiceUnavailable, "GET", "/api/v1/sessions/free", "")
	})
}

func TestAllSessionsComeInPages(t *testing.T) {
	client := redistest.StartServer(t).Client()
	defer func() { _ = client.Close() }()
	onServer(t, client, func(b *bench) {
		open := fillWith(b, client, 2500)
		seen := map[string]int{}
		held := 0
		for path, pages := "/api/v1/sessions?limit=300", 0; path != ""; pages++ {
			var list []sessionReply
			path = b.read(path, &list)
			if path != "" && len(list) != 300 || pages > 9 {
				t.Fatalf("page %d has %d", pages, len(list))
			}
			for _, s := range list {
				seen[s.SessionID]++
				if s.HolderID != nil {
					held++
				}
			}
		}
		if len(seen) != 2500 || held != 2500-len(open)-(2500+6)/7 {
			t.Errorf("%d seen, of which %d are held", len(seen), held)
		}
		for id, n := range seen {
			if n != 1 {
				t.Fatalf("%s came %d times", id, n)
			}
		}
	})
}

func TestNodesAreListedInPages(t *testing.T) {
	onBench(t, func(b *bench) {
		for _, name := range []string{"c-1-00000000", "a-1-00000000", "me-1-00000000"} {
			b.rdb.Set(b.t.Context(), b.keys.Node(name), "1", 20*time.Second)
		}
		type nodeReply struct {
			InstanceID string    `json:"instance_id"`
			ExpiresAt  time.Time `json:"expires_at"`
			Self       bool      `json:"self"`
		}
		until := time.Now().Add(20 * time.Second)
		var names []string
		path := "/api/v1/nodes?limit=2"
		for pages := 0; path != ""; pages++ {
			var list []nodeReply
			path = b.read(path, &list)
			for _, n := range list {
				names = append(names, n.InstanceID)
				if n.Self != (n.InstanceID == "me-1-00000000") || !n.ExpiresAt.Equal(until) {
					t.Errorf("%+v", n)
				}
			}
			if len(list) > 2 || pages > 1 {
				t.Fatalf("page %d: %v", pages, list)
			}
		}
		if fmt.Sprint(names) != "[a-1-00000000 c-1-00000000 me-1-00000000]" {
			t.Error(names)
		}
		for _, query := range []string{"limit=0", "limit=1001", "cursor=!"} {
			b.want(http.StatusUnprocessableEntity, "GET", "/api/v1/nodes?"+query, "")
		}
		b.mini.Down()
		b.want(http.StatusServiceUnavailable, "GET", "/api/v1/nodes", "")
	})
}

func TestTheStatusIsThatOfTheNodeAlsoWithoutRedis(t *testing.T) {
	onBench(t, func(b *bench) {
		broken := false
		b.serve = httpapi.New(httpapi.Config{Leases: &b.api, Ready: []httpapi.Check{{Name: "redis", Probe: func(context.Context) error {
			if broken {
				return errors.New("out of reach")
			}
			return nil
		}}}})
		b.rdb.Set(b.t.Context(), b.keys.Node("a-1-00000000"), "1", time.Minute)
		const head = `{"instance_id":"me-1-00000000","build":"v1","started_at":"0001-01-01T00:00:00.000Z","ready":`
		const tail = `"leases":3,"events":{"healthy":true},"nodes":`
		if got, want := b.want(http.StatusOK, "GET", "/api/v1/status", "").text, head+`true,`+tail+`1}`; got != want {
			t.Errorf("%s, want %s", got, want)
		}
		broken = true
		b.mini.Down()
		if got, want := b.want(http.StatusOK, "GET", "/api/v1/status", "").text, head+`false,"failed":{"redis":"out of reach"},`+tail+`null}`; got != want {
			t.Errorf("%s, want %s", got, want)
		}
	})
}
