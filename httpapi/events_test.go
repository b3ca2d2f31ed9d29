package httpapi_test

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"leasehold/eventlog"
	"leasehold/httpapi"
	"leasehold/internal/redistest"
	"leasehold/redisevents"
	"leasehold/rediskey"
	"leasehold/redisstore"
)

const changes = "/api/v1/events"

// onChanges runs f in a bubble, with hints of all that changes.
func onChanges(t *testing.T, f func(b *bench, h *hints, stop chan struct{})) {
	t.Helper()
	onVigil(t, func(b *bench, h *hints, stop chan struct{}) {
		b.api.Watch = h.follow
		b.serve = httpapi.New(httpapi.Config{Leases: &b.api})
		f(b, h, stop)
	})
}

// follower is a client of the stream of changes. Its writer can be held up.
type follower struct {
	*httptest.ResponseRecorder

	leave context.CancelFunc
	ended chan struct{}
	held  chan struct{}
	read  int
}

// Write implements [io.Writer].
func (f *follower) Write(p []byte) (int, error) {
	if f.held != nil {
		<-f.held
	}
	return f.ResponseRecorder.Write(p)
}

func (b *bench) follow(path string, held chan struct{}) *follower {
	b.t.Helper()
	ctx, leave := context.WithCancel(b.t.Context())
	f := &follower{ResponseRecorder: httptest.NewRecorder(), leave: leave, ended: make(chan struct{}), held: held}
	r := httptest.NewRequestWithContext(ctx, "GET", path, nil)
	r.Host = "localhost"
	go func() {
		defer close(f.ended)
		b.serve.ServeHTTP(f, r)
	}()
	synctest.Wait()
	return f
}

// news returns what has come since it was last called, a line a message.
func (f *follower) news() string {
	synctest.Wait()
	text := f.Body.String()[f.read:]
	f.read += len(text)
	var lines []string
	for m := range strings.SplitSeq(text, "\n\n") {
		if kind, data, ok := strings.Cut(strings.TrimPrefix(m, "event: "), "\ndata: "); ok {
			lines = append(lines, kind+" "+data)
		}
	}
	return strings.Join(lines, "\n")
}

func TestChangesAreTold(t *testing.T) {
	onChanges(t, func(b *bench, h *hints, _ chan struct{}) {
		b.put("s1", external)
		b.rdb.Set(b.t.Context(), b.keys.Node("old-1-00000000"), "1", time.Minute)
		f, polls := b.follow(changes, nil), b.follow(changes+"?types=poll,node", nil)
		if f.Code != http.StatusOK || f.Header().Get("Content-Type") != "text/event-stream" {
			t.Fatalf("%d %v", f.Code, f.Header())
		}
		expect := func(who *follower, want string) {
			t.Helper()
			if got := who.news(); got != want {
				t.Errorf("told\n%s\nwant\n%s", got, want)
			}
		}
		expect(f, "")
		h.give(redisevents.Gap{Reason: "subscribed"})
		expect(f, `gap {"reason":"subscribed"}`)
		late := b.follow(changes, nil)
		expect(late, `gap {"reason":"joined"}`)

		took := b.want(http.StatusCreated, "POST", s1, asW1)
		h.give(redisevents.LeaseTaken{Session: "s1"}, redisevents.LeaseFreed{Session: "s1"})
		until := took.ExpiresAt.UTC().Format("2006-01-02T15:04:05.000Z07:00")
		taken := fmt.Sprintf(`lease {"session_id":"s1","holder_id":"w1","version":%d,"expires_at":%q}`, took.Version, until)
		expect(f, taken)
		expect(late, taken)
		b.want(http.StatusNoContent, "DELETE", s1, asW1)
		h.give(redisevents.LeaseFreed{Session: "s1"})
		expect(f, fmt.Sprintf(`lease {"session_id":"s1","holder_id":null,"version":%d,"expires_at":null}`, took.Version))

		h.give(redisevents.NodeSeen{Instance: "old-1-00000000"}, redisevents.NodeSeen{Instance: "new-1-00000000"})
		expect(f, `node {"instance_id":"new-1-00000000","alive":true}`)
		h.give(redisevents.NodeSeen{Instance: "new-1-00000000"}, redisevents.NodeGone{Instance: "old-1-00000000"})
		expect(f, `node {"instance_id":"old-1-00000000","alive":false}`)
		// What was missed is found by looking.
		b.rdb.Set(b.t.Context(), b.keys.Node("third-1-00000000"), "1", time.Minute)
		h.give(redisevents.Gap{Reason: "x"}, redisevents.SessionTouched{ID: "s1"})
		if got := f.news(); !strings.Contains(got, `{"instance_id":"third-1-00000000","alive":true}`) {
			t.Errorf("told %s", got)
		}
		if got := polls.news(); strings.Contains(got, "lease") || !strings.Contains(got, "new-1-00000000") || !strings.Contains(got, "gap") {
			t.Errorf("told %s", got)
		}
		for _, who := range []*follower{f, polls, late} {
			who.leave()
			<-who.ended
		}
	})
}

// Who is slow gets what it has room for, and hears how much it missed. Nobody else
// waits for it.
func TestASlowFollowerIsToldWhatItMissed(t *testing.T) {
	onChanges(t, func(b *bench, h *hints, _ chan struct{}) {
		held := make(chan struct{})
		slow, quick := b.follow(changes, held), b.follow(changes, nil)
		h.give(redisevents.Gap{})
		const all = 1500
		for i := range all {
			h.give(redisevents.NodeSeen{Instance: fmt.Sprintf("n%d-1-00000000", i)})
			synctest.Wait()
		}
		if n := strings.Count(quick.news(), "node "); n != all {
			t.Errorf("the quick one was told %d of %d", n, all)
		}
		close(held)
		got := slow.news()
		var missed int
		if _, text, ok := strings.Cut(got, "dropped "); ok {
			_, _ = fmt.Sscanf(text, `{"count":%d}`, &missed)
		}
		if n := strings.Count(got, "node "); n+missed != all || missed < 400 {
			t.Errorf("the slow one was told %d of %d, and that it missed %d", n, all, missed)
		}
		slow.leave()
		quick.leave()
		<-slow.ended
		<-quick.ended
	})
}

func TestTheStreamLivesAsLongAsItsClientAndTheServer(t *testing.T) {
	onChanges(t, func(b *bench, h *hints, stop chan struct{}) {
		f := b.follow(changes, nil)
		time.Sleep(time.Minute)
		synctest.Wait() // a sign of life may be due at this moment
		if n := strings.Count(f.Body.String(), ":\n\n"); n < 3 {
			t.Errorf("%d signs of life in a minute", n)
		}
		f.leave()
		<-f.ended
		synctest.Wait()
		if h.open != 0 {
			t.Error("hints are read for nobody")
		}
		f = b.follow(changes, nil)
		close(stop)
		<-f.ended
		if got := b.send("GET", changes, ""); got.code != http.StatusServiceUnavailable || retryAfter(got) < 1 {
			t.Errorf("%d %s", got.code, got.text)
		}
		b.want(http.StatusUnprocessableEntity, "GET", changes+"?types=lease,x", "")
	})
}

func TestTooManyFollowersAreRefused(t *testing.T) {
	onChanges(t, func(b *bench, _ *hints, stop chan struct{}) {
		var all []*follower
		for range 100 {
			all = append(all, b.follow(changes, nil))
		}
		if got := b.send("GET", changes, ""); got.code != http.StatusServiceUnavailable || retryAfter(got) < 1 {
			t.Errorf("%d %s", got.code, got.text)
		}
		close(stop)
		for _, f := range all {
			<-f.ended
		}
	})
}

// The results of the fleet come from its stream, over a server whose limits are for
// other requests.
func TestResultsAreTold(t *testing.T) {
	client := redistest.StartServer(t).Client()
	defer func() { _ = client.Close() }()
	result := func(text string) {
		t.Helper()
		if err := client.XAdd(t.Context(), &redis.XAddArgs{Stream: "poll:results", Values: []any{"session", "s", "token", 1, "event", text}}).Err(); err != nil {
			t.Fatal(err)
		}
	}
	result(`{"n":0}`)
	s := httptest.NewUnstartedServer(httpapi.New(httpapi.Config{Leases: &httpapi.Leases{
		Store:    redisstore.New(client, rediskey.Default(), redisstore.Options{Stream: "poll:results"}),
		Loopback: true, Log: (*eventlog.Log)(nil),
	}}))
	s.Config.ReadTimeout, s.Config.WriteTimeout = 100*time.Millisecond, 100*time.Millisecond
	s.Start()
	defer s.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL+changes, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := s.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	time.Sleep(500 * time.Millisecond) // longer than the server's limits
	result(`{"n":1}`)
	result(`{"n":2}`)
	lines := bufio.NewScanner(resp.Body)
	var got []string
	for len(got) < 2 && lines.Scan() {
		if data, ok := strings.CutPrefix(lines.Text(), "data: "); ok {
			got = append(got, data)
		}
	}
	if fmt.Sprint(got) != `[{"n":1} {"n":2}]` {
		t.Errorf("told %v: %v", got, lines.Err())
	}
}
