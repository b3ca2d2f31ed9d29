package fleet

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"testing"
	"time"
)

// A reader of standard output that has gone to sleep, and a receiver of webhooks that
// takes requests and never answers: polls and renewals go on as if there were none,
// and the drain ends within its time.
func TestSinksThatHangDelayNothing(t *testing.T) {
	t.Parallel()
	const interval = 100 * time.Millisecond
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // only then the server notices that the client has gone
		<-r.Context().Done()
	}))
	t.Cleanup(receiver.Close)
	unread, stdout, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = unread.Close(), stdout.Close() }()

	f := newFleet(t, plan{ttl: 3 * time.Second, interval: interval})
	ids := f.putMany(40)
	n := launch(t, "a", f.environ("a",
		"LEASEHOLD_RESULT_SINKS=stdout,webhook", "LEASEHOLD_RESULT_WEBHOOK_URL="+receiver.URL,
		"LEASEHOLD_RESULT_WEBHOOK_SECRET=whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3",
	), func(c *exec.Cmd) { c.Stdout = stdout })
	f.nodes = append(f.nodes, n)
	n.ready()
	f.settled(readyLimit, n)
	from := f.target.Now()
	wait(6 * time.Second)
	to := f.target.Now()
	n.await(effect, event("result.dropped"))

	starts := map[string][]time.Duration{}
	for _, p := range f.target.Records() {
		if p.From >= from && p.From <= to {
			starts[p.Session] = append(starts[p.Session], p.From)
		}
	}
	for _, id := range ids {
		last := from
		for _, at := range append(starts[id], to) {
			if gap := at - last; gap > interval+time.Second {
				t.Errorf("%s was not polled for %s", id, gap)
			}
			last = at
		}
	}
	for _, bad := range []string{"lease.renew_failed", "lease.expired", "lease.lost", "node.fenced", "poll.deferred"} {
		if lines := n.all(event(bad)); len(lines) > 0 {
			t.Errorf("%d lines of %s, such as %s", len(lines), bad, lines[0].text)
		}
	}
	at := time.Now()
	if code, took := n.term(), time.Since(at); code != 0 || took > 7*time.Second {
		t.Errorf("exit code %d after %s", code, took)
	}
	f.safe(40)
}
