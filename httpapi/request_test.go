package httpapi_test

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"

	"leasehold/httpapi"
	"leasehold/lease"
	"leasehold/session"
)

func TestHolders(t *testing.T) {
	onBench(t, func(b *bench) {
		for i, holder := range []string{
			"w", "worker 1", "ä", "日本", strings.Repeat("ä", 128), "w-1", "n-12-0000000", "n-12-0000000G", "n-12-000000ab1", "-1-00000001",
			"n-x1-00000001", "n--00000001", "n-12-ABCDEF01", `"`, "urn:uuid:123e4567-e89b-12d3-a456-426614174000", "123e4567-e89b-12d3-a456-426614174000",
		} {
			id := fmt.Sprintf("good-%d", i)
			b.put(id, external)
			got := b.want(http.StatusCreated, "POST", "/api/v1/sessions/"+id+"/lease", fmt.Sprintf(`{"holder_id":%q}`, holder))
			if got.HolderID != holder || b.holder(id) != holder {
				t.Errorf("%q is shown as %q and stored as %q", holder, got.HolderID, b.holder(id))
			}
			b.want(http.StatusNoContent, "DELETE", "/api/v1/sessions/"+id+"/lease?holder_id="+url.QueryEscape(holder), "")
			if b.holder(id) != "" {
				t.Errorf("%q could not release", holder)
			}
		}
		b.put("s1", external)
		for _, holder := range []string{
			"", strings.Repeat("w", 129), `a\nb`, `a\u0000`, `\u007f`, `\u0085`, `\u200b`, `\u2028`, `\ufeff`,
			"n-1764288000123456789-0badcafe", "n-1-00000001", "a-b-1-ffffffff",
		} {
			body := `{"holder_id":"` + holder + `"}`
			for _, request := range [][2]string{{"POST", s1}, {"POST", s1 + "/renew"}, {"DELETE", s1}} {
				b.want(http.StatusUnprocessableEntity, request[0], request[1], body)
			}
		}
		b.want(http.StatusUnprocessableEntity, "DELETE", s1, "")
		b.want(http.StatusUnprocessableEntity, "DELETE", s1+"?holder_id=n-1-00000001", "")
		b.want(http.StatusUnprocessableEntity, "DELETE", s1+"?holder_id=%ff", "")
		b.want(http.StatusUnprocessableEntity, "DELETE", s1+"?holder_id=w1&version=x", "")
		b.want(http.StatusBadRequest, "DELETE", s1+"?holder_id=%zz", "")
		if b.holder("s1") != "" {
			t.Error("one of them has the lease")
		}
	})
}

// The form of an instance ID is refused, so that nobody can act for a node, or for what
// a library has leased by hand.
func TestANodesLeaseIsOutOfReach(t *testing.T) {
	for _, holder := range []string{"n-1764288000123456789-0badcafe", "n-1764288000123456789-0badcafe" + lease.ByHand} {
		onBench(t, func(b *bench) {
			b.put("s1", web)
			b.rdb.Set(b.t.Context(), b.keys.Lease("s1"), holder, ttl)
			b.rdb.HSet(b.t.Context(), b.keys.State("s1"), "version", 41)
			as := `{"holder_id":"` + holder + `","version":41}`
			b.want(http.StatusUnprocessableEntity, "DELETE", s1, as)
			b.want(http.StatusUnprocessableEntity, "POST", s1+"/renew", as)
			b.want(http.StatusUnprocessableEntity, "POST", s1, as)
			got := b.want(http.StatusConflict, "POST", s1, asW1)
			if got.HolderID != holder || got.Version != 41 || b.holder("s1") != holder {
				t.Errorf("%s; %q has it", got.text, b.holder("s1"))
			}
		})
	}
}

func TestBodies(t *testing.T) {
	onBench(t, func(b *bench) {
		b.put("s1", external)
		for body, code := range map[string]int{
			"": 400, " ": 400, "null": 400, "[]": 400, `"w1"`: 400, "{": 400, `{"holder_id":"w1"}{}`: 400, `{"holder_id":"w1"} x`: 400,
			"{\"holder_id\":\"\xff\"}": 400, `holder_id=w1`: 400,
			`{}`: 422, `{"holder_id":7}`: 422, `{"holder_id":null}`: 422, `{"holder_id":"w1","version":"x"}`: 422, `{"holder_id":"w1","version":1.5}`: 422,
			`{"holder_id":"w1","version":9223372036854775808}`:        422,
			`{"holder_id":"` + strings.Repeat("w", 64<<10) + `"}`:     413,
			`{"holder_id":"w1","x":"` + strings.Repeat("x", 64<<10):   413,
			` {"holder_id":"w1","unknown":{"deep":[1]},"more":null} `: 201,
		} {
			b.want(code, "POST", s1, body)
		}
		b.want(http.StatusBadRequest, "DELETE", s1, "{")
	})
}

// An ID in a path is decoded once and never normalised.
func TestIDsInPathsAreWhatTheySay(t *testing.T) {
	onBench(t, func(b *bench) {
		for path, id := range map[string]string{
			"a%2Fb": "a/b", "a%2fc": "a/c", "a%252Fb": "a%2Fb", "a:b": "a:b", "a%3Ac": "a:c", "..": "..", "%2E%2e%2F": "../", ".": ".", "a%20b": "a b",
			"a+b": "a+b", "%E2%82%AC": "€", "%2F%2F": "//", "%7Bx%7D": "{x}", "a%3Fb": "a?b", "a%23b": "a#b", "A": "A", "a": "a", "a;b": "a;b", "lease": "lease",
			"%0A": "\n", "renew": "renew", "a%25": "a%", strings.Repeat("%20", 512): strings.Repeat(" ", 512),
		} {
			b.put(id, external)
			got := b.want(http.StatusCreated, "POST", "/api/v1/sessions/"+path+"/lease", asW1)
			if b.holder(id) != "w1" || b.token(id) != got.Version {
				t.Errorf("%s: the lease of %q is held by %q", path, id, b.holder(id))
			}
			b.want(http.StatusOK, "GET", "/api/v1/sessions/"+path+"/lease", "")
			b.want(http.StatusOK, "POST", "/api/v1/sessions/"+path+"/lease/renew", asW1)
		}
		for _, path := range []string{
			"/api/v1/sessions/a/b/lease", "/api/v1/sessions//lease", "/api//v1/sessions/a/lease", "/api/v1/sessions/a/lease/", "/api/v1/sessions/a//lease",
			"/api/v1/./sessions/a/lease", "/api/v1/sessions%2Fa/lease", "/api/v1/sessions/a/leas%65", "/api/v1/nodes/../sessions/a/lease", "/api/v1/scenes/a/lease",
			"/api/v2/sessions/a/lease", "/api/v1", "/api/", "/api/v1/sessions/a/lease/renew/x",
		} {
			b.want(http.StatusNotFound, "POST", path, asW2)
		}
	})
}

// A character that should have been escaped has the rest of the path mean nothing else: a
// slash in the ID stays there, so nobody acts on the session whose ID ends before it.
func TestARawCharacterInAnIDSplitsNoSlashInIt(t *testing.T) {
	for _, id := range []string{`a"`, "a|", "a^", "{a}", "ä", "a`", `a\`, "<a>"} {
		onBench(t, func(b *bench) {
			long := id + "/lease"
			b.put(id, external)
			b.put(long, external)
			b.want(http.StatusCreated, "POST", "/api/v1/sessions/"+id+"/lease", asW1)
			b.want(http.StatusMethodNotAllowed, "DELETE", "/api/v1/sessions/"+id+"%2Flease?holder_id=w1", "")
			if b.holder(id) != "w1" {
				t.Errorf("%q has lost its lease to a request about %q", id, long)
			}
			b.want(http.StatusCreated, "POST", "/api/v1/sessions/"+id+"%2flease/lease", asW2)
			if b.holder(id) != "w1" || b.holder(long) != "w2" {
				t.Errorf("%q is held by %q, %q by %q", id, b.holder(id), long, b.holder(long))
			}
			shown := b.want(http.StatusOK, "GET", "/api/v1/sessions/"+id+"%2Flease", "")
			if !strings.Contains(shown.text, `"holder_id":"w2"`) {
				t.Errorf("%q is shown as %s", long, shown.text)
			}
		})
	}
}

// The server reads no such path; where one comes by all the same, it is no route.
func TestAnEscapeThatIsNoneIsRefused(t *testing.T) {
	onBench(t, func(b *bench) {
		b.put("s1", external)
		r := httptest.NewRequestWithContext(b.t.Context(), http.MethodPost, s1, strings.NewReader(asW1))
		r.Host, r.URL.RawPath = "127.0.0.1", "/api/v1/sessions/%zz/lease"
		w := httptest.NewRecorder()
		b.serve.ServeHTTP(w, r)
		if w.Code != http.StatusNotFound {
			t.Errorf("%d: %s", w.Code, w.Body)
		}
	})
	s := httptest.NewServer(httpapi.New(httpapi.Config{Leases: &httpapi.Leases{Token: "secret"}}))
	defer s.Close()
	for _, path := range []string{"/api/v1/sessions/%zz/lease", `/api/v1/sessions/"%2/lease`, "/api/v1/sessions/%/lease"} {
		c, err := net.Dial("tcp", s.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		_, _ = fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n", path)
		if line, err := bufio.NewReader(c).ReadString('\n'); err != nil || !strings.Contains(line, " 400 ") {
			t.Errorf("%s: %q, %v", path, line, err)
		}
		_ = c.Close()
	}
}

func FuzzIDsInPaths(f *testing.F) {
	for _, id := range []string{"a", "a/b", "a%2Fb", "..", "%", "ä\n", "{x}:y", "\xff", "lease/renew", "?x=1#y"} {
		f.Add(id)
	}
	f.Fuzz(func(t *testing.T, id string) {
		if id == "" || !utf8.ValidString(id) {
			return // no path names it
		}
		onBench(t, func(b *bench) {
			path := "/api/v1/sessions/" + url.PathEscape(id) + "/lease"
			if session.ValidID(id) != nil {
				b.want(http.StatusNotFound, "POST", path, asW1)
				return
			}
			b.put(id, external)
			b.want(http.StatusCreated, "POST", path, asW1)
			if b.holder(id) != "w1" {
				t.Errorf("%q is not leased; keys: %q", id, b.mini.Keys())
			}
		})
	})
}

func TestTheAliasNamesTheSameLeases(t *testing.T) {
	onBench(t, func(b *bench) {
		b.put("s1", external)
		took := b.want(http.StatusCreated, "POST", "/api/v1/scenes/s1/lease", asW1)
		if got := b.want(http.StatusOK, "GET", s1, ""); got.Version != took.Version {
			t.Error(got.text)
		}
		b.want(http.StatusOK, "POST", "/api/v1/scenes/s1/lease/renew", asW1)
		b.want(http.StatusNoContent, "DELETE", "/api/v1/scenes/s1/lease?holder_id=w1", "")
		if got, want := b.want(http.StatusOK, "GET", "/api/v1/scenes?leased=false", "").text, fmt.Sprintf(`[{"scene_id":"s1","version":%d}]`, took.Version); got != want {
			t.Errorf("%s, want %s", got, want)
		}
		b.want(http.StatusNotFound, "GET", "/api/v1/scene/s1/lease", "")
	}, func(l *httpapi.Leases) { l.Resource = "scenes" })
}

func TestOtherMethodsAreNotAllowed(t *testing.T) {
	onBench(t, func(b *bench) {
		b.put("s1", external)
		b.want(http.StatusCreated, "POST", s1, asW1)
		for path, allow := range map[string]string{
			s1: "GET, HEAD, POST, DELETE", s1 + "/renew": "POST", "/api/v1/sessions": "GET, HEAD",
		} {
			for _, method := range []string{"PUT", "PATCH", "OPTIONS"} {
				if got := b.want(http.StatusMethodNotAllowed, method, path, asW1); got.header.Get("Allow") != allow {
					t.Errorf("%s: Allow: %s, want %s", path, got.header.Get("Allow"), allow)
				}
			}
		}
		b.want(http.StatusOK, "HEAD", s1, "")
	})
}

// panicking stands for a fault of the program.
type panicking struct{ httpapi.Store }

func TestAFaultOfTheProgramIsAnAnswerAndALine(t *testing.T) {
	onBench(t, func(b *bench) {
		b.api.Store = panicking{}
		b.serve = httpapi.New(httpapi.Config{Leases: &b.api})
		b.want(http.StatusInternalServerError, "GET", s1, "")
		if l := b.logged("actor.failed"); len(l) != 1 || l[0]["actor"] != "httpapi" {
			t.Errorf("logged %v", l)
		}
	})
}

func TestHealthAnswersBesideTheAPI(t *testing.T) {
	h := httpapi.New(httpapi.Config{Leases: &httpapi.Leases{Token: "secret"}})
	for path, code := range map[string]int{"/healthz": 200, "/readyz": 200, "/api/v1/sessions": 401, "/other": 404} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
		if w.Code != code {
			t.Errorf("%s: %d, want %d", path, w.Code, code)
		}
	}
}
