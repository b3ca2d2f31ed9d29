package fleet

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"leasehold/target"
	"leasehold/test/fleet/check"
)

const secret = "s3cret-5521"

// A poll goes where its document says and nowhere else, and trusts no certificate that
// has run out. C31: formbricks/formbricks#7877, fzaninotto/uptime#286.
func TestAPollGoesNowhereButToItsTarget(t *testing.T) {
	t.Parallel()
	f := newFleet(t, plan{})
	internal := newListener(t)
	f.putStraying(internal)
	nodes := f.start("a", "b")
	f.settled(10*time.Second, nodes...)
	before := f.pulse()
	w := check.Window{From: f.target.Now()}
	wait(6 * f.plan.interval)
	w.To = f.target.Now()

	if n := internal.heard.Load(); n != 0 {
		t.Errorf("another server heard %d requests, the first %s", n, internal.first.Load())
	}
	for id, reason := range map[string]string{
		"port": "another origin", "itself": "more than 5 redirects", "file": "another origin",
		"cloud": "another origin", "host": "another origin", "scheme": "another origin", "expired": "certificate",
	} {
		f.failedFor(nodes, id, reason)
	}
	told := nodesTold(nodes, func(l line) bool {
		return l.Event == "session.invalid" && l.Session == "local" && strings.Contains(l.Reason, "http://")
	})
	if told != len(nodes) {
		t.Errorf("%d warnings of the document whose URL is a file", told)
	}
	f.nothingLeaks(nodes)
	f.fewHops("itself", 6)

	h := f.history()
	good := []string{"good", "within"}
	f.pass("the good ones", check.All(
		check.Gaps(h, good, w, f.plan.interval*3/2, 10),
		check.Rhythm(h, []string{"good"}, w, f.plan.interval, 250*time.Millisecond, 5),
		check.AcquiredOnce(h, f.known(), w, len(f.known())),
	))
	f.flat(before)
	f.safe(40)
}

// putStraying stores sessions whose targets send them elsewhere, and good ones.
func (f *fleet) putStraying(other *listener) {
	self := "http://" + f.served.Addr()
	for id, to := range map[string]string{
		"port": other.url + "/p/internal", "itself": f.served.URL("itself"), "file": "file:///etc/passwd",
		"cloud": "http://169.254.169.254/latest", "host": strings.TrimPrefix(other.url, "http:") + "/p/internal",
		"scheme": strings.Replace(self, "http:", "https:", 1) + target.Path("good"), "within": target.Path("arrived"),
	} {
		f.target.Set(id, target.Behavior{To: to})
		f.put(id, f.document(id, fmt.Sprintf(`,"headers":{"Authorization":"Bearer %s"}`, secret)))
	}
	f.put("good", "")
	f.put("expired", fmt.Sprintf(`{"url":%q,"interval":%q}`, other.expired(f.t)+"/p/x?key="+url.QueryEscape(secret), f.plan.interval))
	// Not put: it is no session, and has no lease.
	f.set(f.keys.Session("local"), fmt.Sprintf(`{"url":"file:///etc/passwd","interval":%q}`, f.plan.interval))
}

// failedFor checks that the polls of a session failed, in the log and in Redis.
func (f *fleet) failedFor(nodes []*node, id, reason string) {
	f.t.Helper()
	if nodesTold(nodes, func(l line) bool {
		return l.Event == "poll.failed" && l.Session == id && strings.Contains(l.Error, reason)
	}) == 0 {
		f.t.Errorf("no line tells that the poll of %s failed for %q", id, reason)
	}
	state := f.rdb.HGetAll(f.t.Context(), f.keys.State(id)).Val()
	if state["ok"] != "0" || !strings.Contains(state["error"], reason) {
		f.t.Errorf("the state of %s is %v", id, state)
	}
}

// nothingLeaks looks for what belongs to a file, to a header or into a query.
func (f *fleet) nothingLeaks(nodes []*node) {
	f.t.Helper()
	results, err := f.rdb.XRange(f.t.Context(), resultStream, "-", "+").Result()
	if err != nil || len(results) == 0 {
		f.t.Fatalf("%d results, %v", len(results), err)
	}
	texts := []string{fmt.Sprint(results)}
	for _, n := range nodes {
		for _, l := range n.all() {
			texts = append(texts, l.text)
		}
	}
	for _, text := range texts {
		for _, part := range []string{secret, "root:", "/etc/passwd"} {
			if strings.Contains(text, part) {
				f.t.Errorf("%q is told: %.300s", part, text)
			}
		}
	}
}

// fewHops checks that each poll of a session makes no more requests than that. One
// poll's follow each other at once, the next poll comes after a second at least.
func (f *fleet) fewHops(id string, limit int) {
	f.t.Helper()
	hops, polls := 0, 0
	var last time.Duration
	for _, p := range f.target.Records() {
		if p.Session != id {
			continue
		}
		if polls == 0 || p.From-last > 500*time.Millisecond {
			hops, polls = 0, polls+1
		}
		hops, last = hops+1, p.From
		if hops > limit {
			f.t.Errorf("request %d of one poll of %s", hops, id)
		}
	}
	if polls < 3 {
		f.t.Errorf("%d polls of %s", polls, id)
	}
}

// listener is a server that nothing may reach. It has two addresses: one for plain
// requests, one with a certificate that has run out.
type listener struct {
	url   string
	heard atomic.Int32
	first atomic.Value
}

func newListener(t *testing.T) *listener {
	t.Helper()
	l := &listener{}
	l.first.Store("")
	s := httptest.NewServer(l)
	t.Cleanup(s.Close)
	l.url = s.URL
	return l
}

func (l *listener) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	if l.heard.Add(1) == 1 {
		l.first.Store(fmt.Sprintf("%s %s, Authorization %q", r.Method, r.URL.Path, r.Header.Get("Authorization")))
	}
}

// expired serves with a certificate of the past, and returns the URL.
func (l *listener) expired(t *testing.T) string {
	t.Helper()
	s := httptest.NewUnstartedServer(l)
	s.TLS = pastCertificate(t, net.IPv4(127, 0, 0, 1))
	s.Config.ErrorLog = noLog()
	s.StartTLS()
	t.Cleanup(s.Close)
	return s.URL
}
