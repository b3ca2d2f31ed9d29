package httpapi_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"leasehold/eventlog"
	"leasehold/httpapi"
	"leasehold/internal/redistest"
	"leasehold/lease"
	"leasehold/rediskey"
	"leasehold/redisstore"
)

const free = "/api/v1/sessions?leased=false"

type freeSession struct {
	SessionID string `json:"session_id"`
	Version   int64  `json:"version"`
}

// page reads one page and where the next one is; empty: nowhere.
func (b *bench) page(path string) ([]freeSession, string) {
	b.t.Helper()
	got := b.want(http.StatusOK, "GET", path, "")
	var list []freeSession
	if err := json.Unmarshal([]byte(got.text), &list); err != nil || !strings.HasPrefix(got.text, "[") {
		b.t.Fatalf("%s: %q: %v", path, got.text, err)
	}
	link := got.header.Get("Link")
	if link == "" {
		return list, ""
	}
	m := regexp.MustCompile(`^<(/api/v1/sessions\?[^>]*cursor=[^>]+)>; rel="next"$`).FindStringSubmatch(link)
	if m == nil {
		b.t.Fatalf("Link: %s", link)
	}
	return list, m[1]
}

func TestWhatIsFreeIsListedAndNothingElse(t *testing.T) {
	onBench(t, func(b *bench) {
		if list, next := b.page(free); len(list) != 0 || next != "" {
			t.Errorf("nothing is there, but %v and %q", list, next)
		}
		for id, document := range map[string]string{
			"new": external, "given": external, "held": external, "web": web, "lapsed": external,
			"paused": `{"kind":"external","paused":true}`, "isPaused": `{"kind":"external","isPaused":true}`, "broken": "{",
		} {
			b.put(id, document)
		}
		b.rdb.RPush(b.t.Context(), b.keys.Session("list"), "x")
		b.put("odd", external)
		b.rdb.RPush(b.t.Context(), b.keys.Lease("odd"), "x")
		b.want(http.StatusCreated, "POST", "/api/v1/sessions/lapsed/lease", asW1)
		time.Sleep(ttl + time.Second)
		b.want(http.StatusCreated, "POST", "/api/v1/sessions/given/lease", asW1)
		b.want(http.StatusNoContent, "DELETE", "/api/v1/sessions/given/lease", asW1)
		b.want(http.StatusCreated, "POST", "/api/v1/sessions/held/lease", asW1)
		list, next := b.page(free)
		got := map[string]int64{}
		for _, s := range list {
			got[s.SessionID] = s.Version
		}
		want := map[string]int64{"new": 0, "given": b.token("given"), "web": 0, "lapsed": b.token("lapsed")}
		if fmt.Sprint(got) != fmt.Sprint(want) || len(list) != len(want) || next != "" {
			t.Errorf("%v, want %v; next %q", got, want, next)
		}
		if list, next := b.page(free + "&kind=http&limit=1"); len(list) != 1 || list[0].SessionID != "web" || next != "" {
			t.Errorf("of kind http: %v, next %q", list, next)
		}
		if list, _ := b.page(free + "&kind=log"); len(list) != 0 {
			t.Errorf("of kind log: %v", list)
		}
	})
}

func TestListingsThatCanNotBeAreRefused(t *testing.T) {
	onBench(t, func(b *bench) {
		for _, query := range []string{
			"leased=all", "leased=", "leased=false&limit=0", "leased=false&limit=-1", "leased=false&limit=1001", "leased=false&limit=x",
			"leased=false&kind=", "leased=false&kind=ftp", "leased=true&kind=log", "kind=log",
			"leased=false&cursor=x", "leased=false&cursor=!", "leased=false&cursor=e30x", "leased=false&cursor=eyJzIjoieCJ9", // {"s":"x"}
		} {
			b.want(http.StatusUnprocessableEntity, "GET", "/api/v1/sessions?"+query, "")
		}
		b.want(http.StatusBadRequest, "GET", free+"&limit=%zz", "")
	})
}

// onServer runs f on a real server, whose SCAN has steps.
func onServer(t *testing.T, client redis.UniversalClient, f func(b *bench)) {
	t.Helper()
	b := &bench{t: t, keys: rediskey.Default()}
	b.api = httpapi.Leases{Store: redisstore.New(client, b.keys, redisstore.Options{}), TTL: ttl, Loopback: true, Log: (*eventlog.Log)(nil)}
	b.serve = httpapi.New(httpapi.Config{Leases: &b.api})
	f(b)
}

// fillWith stores so many sessions, of which each third is held and each seventh
// paused. It returns which are free.
func fillWith(b *bench, client redis.UniversalClient, n int) map[string]bool {
	b.t.Helper()
	open := map[string]bool{}
	var claims []lease.Claim
	p := client.Pipeline()
	for i := range n {
		id := fmt.Sprintf("s%d", i)
		document := external
		switch {
		case i%7 == 0:
			document = `{"kind":"external","paused":true}`
		case i%3 == 0:
			claims = append(claims, lease.Claim{Session: id, TTL: time.Hour})
		default:
			open[id] = true
		}
		p.Set(b.t.Context(), b.keys.Session(id), document, 0)
	}
	if _, err := p.Exec(b.t.Context()); err != nil {
		b.t.Fatal(err)
	}
	for _, o := range b.api.Store.Acquire(b.t.Context(), "w1", claims) {
		if !o.Granted {
			b.t.Fatalf("%+v", o)
		}
	}
	return open
}

// all reads all pages. Before each next one, meanwhile is called.
func (b *bench) all(path string, limit int, meanwhile func(page int)) (seen map[string]int, pages int) {
	b.t.Helper()
	seen = map[string]int{}
	for path != "" {
		list, next := b.page(path)
		if len(list) > limit || next != "" && len(list) != limit {
			b.t.Fatalf("page %d has %d of %d, and there is a next one: %q", pages, len(list), limit, next)
		}
		for _, s := range list {
			seen[s.SessionID]++
		}
		path, pages = next, pages+1
		meanwhile(pages)
	}
	return seen, pages
}

func TestPagesAreExactAndCompleteOnARealServer(t *testing.T) {
	client := redistest.StartServer(t).Client()
	defer func() { _ = client.Close() }()
	onServer(t, client, func(b *bench) {
		open := fillWith(b, client, 3000)
		for _, limit := range []int{1000, 100, 7} {
			path := free + fmt.Sprintf("&limit=%d", limit)
			if limit == 100 {
				path = free // it is the default
			}
			seen, pages := b.all(path, limit, func(int) {})
			for id := range open {
				if seen[id] != 1 {
					t.Fatalf("limit %d: %s was listed %d times", limit, id, seen[id])
				}
			}
			if len(seen) != len(open) || pages != (len(open)+limit-1)/limit {
				t.Errorf("limit %d: %d listed of %d, in %d pages", limit, len(seen), len(open), pages)
			}
		}
	})
}

// Redis resizes its table while the pages are read: what is free all the time is
// listed.
func TestPagesAreCompleteWhileOthersComeAndGo(t *testing.T) {
	client := redistest.StartServer(t).Client()
	defer func() { _ = client.Close() }()
	onServer(t, client, func(b *bench) {
		open := fillWith(b, client, 2500)
		ctx := b.t.Context()
		seen, _ := b.all(free+"&limit=37", 37, func(page int) {
			p := client.Pipeline()
			for i := range 400 {
				key := b.keys.Session(fmt.Sprintf("late-%d-%d", page, i))
				switch {
				case page <= 20:
					p.Set(ctx, key, external, 0)
				default: // the table shrinks again
					p.Del(ctx, b.keys.Session(fmt.Sprintf("late-%d-%d", page-20, i)))
				}
			}
			if page == 10 {
				p.Set(ctx, b.keys.Session("new"), external, 0)
			}
			if _, err := p.Exec(ctx); err != nil {
				t.Fatal(err)
			}
		})
		missed := 0
		for id := range open {
			if seen[id] == 0 {
				missed++
			}
		}
		if missed > 0 {
			t.Errorf("%d of %d were left out", missed, len(open))
		}
	})
}

func TestPagesAreExactAndCompleteOnACluster(t *testing.T) {
	client := redistest.StartCluster(t).Client()
	defer func() { _ = client.Close() }()
	onServer(t, client, func(b *bench) {
		open := fillWith(b, client, 900)
		seen, _ := b.all(free+"&limit=50", 50, func(int) {})
		for id := range open {
			if seen[id] != 1 {
				t.Fatalf("%s was listed %d times", id, seen[id])
			}
		}
		if len(seen) != len(open) {
			t.Errorf("%d listed of %d", len(seen), len(open))
		}
	})
}
