package httpapi_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"leasehold/httpapi"
	"leasehold/internal/redistest"
	"leasehold/lease"
	"leasehold/session"
)

func TestALeaseIsTakenShownAndReleased(t *testing.T) {
	onBench(t, func(b *bench) {
		b.put("s1", external)
		b.want(http.StatusNotFound, "GET", s1, "")
		took := b.want(http.StatusCreated, "POST", s1, asW1)
		if took.HolderID != "w1" || took.Version <= 0 || took.Version != b.token("s1") || b.holder("s1") != "w1" {
			t.Errorf("%s, with the token %d", took.text, b.token("s1"))
		}
		if end := time.Now().Add(ttl); took.ExpiresAt == nil || took.ExpiresAt.After(end) || took.ExpiresAt.Before(end.Add(-time.Second)) {
			t.Errorf("expires at %v, Redis says %s", took.ExpiresAt, end)
		}
		time.Sleep(10 * time.Second)
		shown := b.want(http.StatusOK, "GET", s1, "")
		if shown.HolderID != "w1" || shown.Version != took.Version || shown.ExpiresAt == nil || !shown.ExpiresAt.Equal(*took.ExpiresAt) {
			t.Errorf("%s, want what was answered before: %s", shown.text, took.text)
		}
		if gone := b.want(http.StatusNoContent, "DELETE", s1, asW1); gone.text != "" || b.holder("s1") != "" {
			t.Errorf("body %q, holder %q", gone.text, b.holder("s1"))
		}
		b.want(http.StatusNoContent, "DELETE", s1, asW1)
		b.want(http.StatusNotFound, "GET", s1, "")
		again := b.want(http.StatusCreated, "POST", s1, asW2)
		if again.Version != took.Version+1 {
			t.Errorf("the token went from %d to %d", took.Version, again.Version)
		}
		acquired, released := b.logged("lease.acquired"), b.logged("lease.released")
		if len(acquired) != 2 || acquired[0]["holder"] != "w1" || acquired[0]["trigger"] != "api" || acquired[0]["endpoint_id"] != "s1" {
			t.Errorf("logged %v", acquired)
		}
		if len(released) != 1 || released[0]["holder"] != "w1" || released[0]["reason"] != "api" || released[0]["version"] != float64(took.Version) {
			t.Errorf("logged %v", released)
		}
	})
}

func TestTheSameHolderMayRepeatItself(t *testing.T) {
	onBench(t, func(b *bench) {
		b.put("s1", external)
		took := b.want(http.StatusCreated, "POST", s1, asW1)
		for range 3 {
			time.Sleep(20 * time.Second)
			if again := b.want(http.StatusOK, "POST", s1, asW1); again.Version != took.Version || again.HolderID != "w1" || b.left("s1") != ttl {
				t.Errorf("%s after %s, %s left", again.text, took.text, b.left("s1"))
			}
		}
		if n := len(b.logged("lease.acquired")); n != 1 {
			t.Errorf("%d acquisitions logged", n)
		}
	})
}

func TestALeaseOfAnotherIsRefusedWithItsHolder(t *testing.T) {
	onBench(t, func(b *bench) {
		b.put("s1", external)
		took := b.want(http.StatusCreated, "POST", s1, asW1)
		time.Sleep(9500 * time.Millisecond)
		got := b.want(http.StatusConflict, "POST", s1, asW2)
		if got.HolderID != "w1" || got.Version != took.Version || retryAfter(got) != 21 {
			t.Errorf("%s, Retry-After %d with 20.5 s left", got.text, retryAfter(got))
		}
		if b.holder("s1") != "w1" || b.left("s1") != 20500*time.Millisecond {
			t.Errorf("%s has the lease for %s", b.holder("s1"), b.left("s1"))
		}
		time.Sleep(time.Duration(retryAfter(got)) * time.Second)
		if next := b.want(http.StatusCreated, "POST", s1, asW2); next.Version != took.Version+1 {
			t.Errorf("token %d after %d", next.Version, took.Version)
		}
	})
}

func TestOfManyAtOnceOneGetsTheLease(t *testing.T) {
	onBench(t, func(b *bench) {
		b.put("s1", external)
		var mu sync.Mutex
		var all sync.WaitGroup
		codes, winner := map[int]int{}, ""
		for i := range 12 {
			all.Go(func() {
				me := fmt.Sprintf("w%d", i)
				got := b.send("POST", s1, fmt.Sprintf(`{"holder_id":%q}`, me))
				mu.Lock()
				defer mu.Unlock()
				codes[got.code]++
				if got.code == http.StatusCreated {
					winner = me
				}
			})
		}
		all.Wait()
		if codes[http.StatusCreated] != 1 || codes[http.StatusConflict] != 11 || b.holder("s1") != winner {
			t.Errorf("%v; %q won and %q holds", codes, winner, b.holder("s1"))
		}
	})
}

func TestTheLeaseLivesAsLongAsItsDocumentSays(t *testing.T) {
	onBench(t, func(b *bench) {
		b.put("s1", `{"kind":"external","lease_ttl":"90s"}`)
		sent := time.Now()
		took := b.want(http.StatusCreated, "POST", s1, asW1)
		if b.left("s1") != 90*time.Second || took.ExpiresAt.Sub(sent) > 90*time.Second || took.ExpiresAt.Sub(sent) < 89*time.Second {
			t.Errorf("%s left, expires %s after the request", b.left("s1"), took.ExpiresAt.Sub(sent))
		}
		time.Sleep(time.Minute)
		b.want(http.StatusOK, "POST", s1+"/renew", asW1)
		if b.left("s1") != 90*time.Second {
			t.Errorf("%s left after a renewal", b.left("s1"))
		}
	})
}

func TestWhatCanNotBePolledCanNotBeLeased(t *testing.T) {
	onBench(t, func(b *bench) {
		for name, document := range map[string]string{
			"paused": `{"kind":"external","paused":true}`, "broken": `{"kind":`, "strange": `{"kind":"odd"}`,
		} {
			b.put(name, document)
			got := b.want(http.StatusNotFound, "POST", "/api/v1/sessions/"+name+"/lease", asW1)
			if got.Detail == "" || b.holder(name) != "" {
				t.Errorf("%s: %s, holder %q", name, got.text, b.holder(name))
			}
		}
		b.rdb.RPush(b.t.Context(), b.keys.Session("list"), "x")
		for _, id := range []string{"list", "none", strings.Repeat("x", 513), "%00", "%ff"} {
			b.want(http.StatusNotFound, "POST", "/api/v1/sessions/"+id+"/lease", asW1)
			b.want(http.StatusNotFound, "GET", "/api/v1/sessions/"+id+"/lease", "")
			b.want(http.StatusNotFound, "POST", "/api/v1/sessions/"+id+"/lease/renew", asW1)
			b.want(http.StatusNoContent, "DELETE", "/api/v1/sessions/"+id+"/lease", asW1)
		}
		if keys := b.rdb.Keys(b.t.Context(), "poll:*").Val(); len(keys) != 0 {
			t.Errorf("left in Redis: %q", keys)
		}
	})
	onBench(t, func(b *bench) {
		b.put("s1", external)
		b.want(http.StatusNotFound, "POST", s1, asW1)
		const uuid = "123e4567-e89b-12d3-a456-426614174000"
		b.put(uuid, external)
		b.want(http.StatusCreated, "POST", "/api/v1/sessions/"+uuid+"/lease", asW1)
	}, func(l *httpapi.Leases) { l.CheckID = session.ValidUUID })
}

func TestReleasesEndNoOthersLease(t *testing.T) {
	onBench(t, func(b *bench) {
		b.put("s1", external)
		took := b.want(http.StatusCreated, "POST", s1, asW1)
		old := fmt.Sprintf(`{"holder_id":"w1","version":%d}`, took.Version)
		for _, body := range []string{asW2, fmt.Sprintf(`{"holder_id":"w2","version":%d}`, took.Version), fmt.Sprintf(`{"holder_id":"w1","version":%d}`, took.Version-1)} {
			b.want(http.StatusNoContent, "DELETE", s1, body)
			if b.holder("s1") != "w1" {
				t.Fatalf("%s ended the lease of w1", body)
			}
		}
		b.want(http.StatusNoContent, "DELETE", s1+fmt.Sprintf("?holder_id=w1&version=%d", took.Version), "")
		if b.holder("s1") != "" {
			t.Error("a release by query did nothing")
		}
		// The same holder took it again: the old version is over.
		next := b.want(http.StatusCreated, "POST", s1, asW1)
		b.want(http.StatusNoContent, "DELETE", s1, old)
		b.want(http.StatusNotFound, "POST", s1+"/renew", old)
		if b.holder("s1") != "w1" || next.Version != took.Version+1 {
			t.Errorf("%q holds it, token %d after %d", b.holder("s1"), next.Version, took.Version)
		}
		b.want(http.StatusNoContent, "DELETE", s1+"?holder_id=w1", "")
		if b.holder("s1") != "" {
			t.Error("a release without a version did nothing")
		}
	})
}

func TestALeaseOfAForeignTypeIsLeftAlone(t *testing.T) {
	onBench(t, func(b *bench) {
		b.put("s1", external)
		b.rdb.RPush(b.t.Context(), b.keys.Lease("s1"), "x")
		b.want(http.StatusServiceUnavailable, "GET", s1, "")
		b.want(http.StatusServiceUnavailable, "POST", s1, asW1)
		b.want(http.StatusNotFound, "POST", s1+"/renew", asW1)
		b.want(http.StatusNotFound, "POST", s1+"/renew", `{"holder_id":"w1","version":1}`)
		b.want(http.StatusNoContent, "DELETE", s1, asW1)
		b.want(http.StatusNoContent, "DELETE", s1, `{"holder_id":"w1","version":1}`)
		if n := b.rdb.LLen(b.t.Context(), b.keys.Lease("s1")).Val(); n != 1 {
			t.Error("the foreign key was touched")
		}
	})
}

func TestALeaseWithoutExpiryIsShownAsSuch(t *testing.T) {
	onBench(t, func(b *bench) {
		b.put("s1", external)
		b.want(http.StatusCreated, "POST", s1, asW1)
		b.rdb.Persist(b.t.Context(), b.keys.Lease("s1"))
		got := b.want(http.StatusOK, "GET", s1, "")
		if got.ExpiresAt != nil || !strings.Contains(got.text, `"expires_at":null`) {
			t.Error(got.text)
		}
		if got := b.want(http.StatusConflict, "POST", s1, asW2); got.HolderID != "w1" || retryAfter(got) != 1 {
			t.Errorf("%s, Retry-After %d", got.text, retryAfter(got))
		}
	})
}

// A worker begins with its lease: nothing in Redis holds it back then.
func TestALeaseThatWasEndedInItsHoldersPlaceIsRefusedWhileThatOnesPollMayBeInFlight(t *testing.T) {
	onBench(t, func(b *bench) {
		b.put("s1", external)
		b.rdb.HSet(b.t.Context(), b.keys.State("s1"), "version", 7, "busy", 7, "busy_until", time.Now().Add(20500*time.Millisecond).UnixMilli())
		got := b.want(http.StatusConflict, "POST", s1, asW1)
		if got.HolderID != "" || got.Version != 7 || retryAfter(got) != 21 || !strings.Contains(got.text, "in flight") {
			t.Errorf("%s, Retry-After %d", got.text, retryAfter(got))
		}
		time.Sleep(21 * time.Second)
		if got := b.want(http.StatusCreated, "POST", s1, asW1); got.Version != 8 {
			t.Error(got.text)
		}
	})
}

// No answer of Redis means unknown. Nothing that is not known counts as free, as
// lost or as released.
func TestNoAnswerOfRedisIsUnknown(t *testing.T) {
	onBench(t, func(b *bench) {
		b.put("s1", external)
		took := b.want(http.StatusCreated, "POST", s1, asW1)
		b.mini.Down()
		version := fmt.Sprintf(`{"holder_id":"w1","version":%d}`, took.Version)
		for _, request := range [][3]string{
			{"GET", s1, ""},
			{"POST", s1, asW1},
			{"POST", s1 + "/renew", asW1},
			{"POST", s1 + "/renew", version},
			{"DELETE", s1, asW1},
			{"DELETE", s1, version},
			{"GET", "/api/v1/sessions?leased=false", ""},
		} {
			got := b.want(http.StatusServiceUnavailable, request[0], request[1], request[2])
			if got.Title != "unknown, not free" || retryAfter(got) < 1 {
				t.Errorf("%v: %s, Retry-After %d", request, got.text, retryAfter(got))
			}
		}
		b.mini.Up()
		if b.holder("s1") != "w1" {
			t.Error("the lease was lost")
		}
	})
}

// losing loses the answers of Redis to scripts.
type losing struct {
	httpapi.Store

	link *redistest.Link
	next bool
}

func (l *losing) lose() {
	if l.next {
		l.link.LoseReplies(1)
	}
	l.next = false
}

func (l *losing) Acquire(ctx context.Context, holder string, claims []lease.Claim) []lease.Outcome {
	l.lose()
	return l.Store.Acquire(ctx, holder, claims)
}

func (l *losing) Renew(ctx context.Context, renewals []lease.Renewal) []lease.Verdict {
	l.lose()
	return l.Store.Renew(ctx, renewals)
}

func (l *losing) Release(ctx context.Context, releases []lease.Release) []error {
	l.lose()
	return l.Store.Release(ctx, releases)
}

func TestARequestWhoseAnswerWasLostIsRepeated(t *testing.T) {
	onBench(t, func(b *bench) {
		b.put("s1", external)
		store := &losing{Store: b.api.Store, link: b.link}
		b.api.Store = store
		b.serve = httpapi.New(httpapi.Config{Leases: &b.api})
		b.want(http.StatusCreated, "POST", s1, asW1) // loads the scripts
		b.want(http.StatusOK, "POST", s1+"/renew", asW1)
		b.want(http.StatusNoContent, "DELETE", s1, asW1)
		before := b.token("s1")

		store.next = true
		b.want(http.StatusServiceUnavailable, "POST", s1, asW1)
		if b.holder("s1") != "w1" {
			t.Fatal("the first attempt did nothing")
		}
		if got := b.want(http.StatusOK, "POST", s1, asW1); got.Version != before+1 {
			t.Errorf("token %d after %d", got.Version, before)
		}
		store.next = true
		b.want(http.StatusServiceUnavailable, "POST", s1+"/renew", asW1)
		if got := b.want(http.StatusOK, "POST", s1+"/renew", asW1); got.Version != before+1 {
			t.Errorf("token %d after %d", got.Version, before)
		}
		store.next = true
		b.want(http.StatusServiceUnavailable, "DELETE", s1, asW1)
		b.want(http.StatusNoContent, "DELETE", s1, asW1)
		if b.holder("s1") != "" {
			t.Error("the lease was not released")
		}
	})
}
