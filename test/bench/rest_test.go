package bench

import (
	"testing"
	"time"
)

const (
	// never is an interval at which nothing is polled after the first time.
	never = 24 * time.Hour
	// window is how long processor times are taken: two renewals by the defaults.
	window = 20 * time.Second
)

// usage is what a process and its Redis take in a while, in cores.
type usage struct{ node, redis, commands float64 }

// used measures a process over the window.
func (s *stand) used(pid int) usage {
	s.t.Helper()
	begun, node, server, commands := time.Now(), cpu(s.t, pid), s.busy(), s.commands()
	time.Sleep(window)
	took := seconds(time.Since(begun))
	return usage{
		node:     seconds(cpu(s.t, pid)-node) / took,
		redis:    seconds(s.busy()-server) / took,
		commands: (s.commands() - commands) / took,
	}
}

// owned waits until one node has all sessions and polled each once.
func (f *fleet) owned() *process {
	f.t.Helper()
	f.target.idle = true
	f.start(1)
	n := f.nodes[0]
	until(f.t, 3*time.Minute, "all sessions are polled", func() bool {
		return n.metric(f.t, "polls_total", `"success"`) >= float64(len(f.sessions))
	})
	time.Sleep(5 * time.Second)
	return n
}

const (
	callsALease = "renewals: calls to Redis a lease and interval"
	redisALease = "renewals: time of Redis a lease and interval, all that it does included"
)

func renew(t *testing.T, r *report) {
	t.Helper()
	const leases = 10_000
	f := newFleet(t, 0)
	f.put(leases, never)
	n := f.owned()
	calls := n.metric(t, "lease_renewal_batch_size_count", "")
	renewed := n.metric(t, "lease_renewals_total", "renewed")
	u := f.used(n.cmd.Process.Pid)
	calls = n.metric(t, "lease_renewal_batch_size_count", "") - calls
	renewed = n.metric(t, "lease_renewals_total", "renewed") - renewed
	if renewed < leases {
		t.Fatalf("%v renewals in %s", renewed, window)
	}
	r.ours(t, callsALease, "", calls/renewed, atMost(0.01))
	r.ours(t, redisALease, "µs", u.redis*seconds(window)/renewed*1e6, atMost(5))
	r.ours(t, "renewals: commands a lease and second, all included", "", u.commands/leases, nil)
}

// rest measures a node whose sessions are polled each ten minutes.
func rest(sessions int) func(*testing.T, *report) {
	return func(t *testing.T, r *report) {
		t.Helper()
		f := newFleet(t, 0)
		f.put(sessions, 10*time.Minute)
		n := f.owned()
		pid := n.cmd.Process.Pid
		u := f.used(pid)
		what := grouped(sessions) + " sessions at rest on one node: "
		r.ours(t, what+"RSS a session, the whole process counted", "KB", rss(t, pid)/float64(sessions)/1000, atMost(6))
		r.ours(t, what+"the node", "% of a core", u.node*100, atMost(5))
		r.ours(t, what+"Redis", "% of a core", u.redis*100, atMost(5))
		n.signal(9)
		n.exit(t)

		p := launchPeer(t, "timers", f.stand, sessions)
		time.Sleep(5 * time.Second)
		u = f.used(p.cmd.Process.Pid)
		const who = "a goroutine and a timer a lock"
		r.peer(t, who, what+"RSS a session, the whole process counted", "KB", rss(t, p.cmd.Process.Pid)/float64(sessions)/1000)
		r.peer(t, who, what+"the node", "% of a core", u.node*100)
		r.peer(t, who, what+"Redis", "% of a core", u.redis*100)
	}
}
