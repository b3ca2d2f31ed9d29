package demo

import (
	"strings"
	"testing"
	"time"
)

func TestStatus(t *testing.T) {
	few := []share{{"node-1", 8, false}, {"node-2", 8, false}, {"node-3", 8, false}}
	var many []share
	for i := range 50 {
		many = append(many, share{name: "n", leases: 4 + i%2})
	}
	for want, got := range map[string]string{
		"12.0 polls/s · 24/24 sessions leased · node-1 8, node-2 8, node-3 8 · duplicate polls: 0": status(12, 24, few, 0),
		"8.1 polls/s · 16/24 sessions leased · node-1 8, node-2 (ended) 8 · duplicate polls: 2": status(8.06, 24,
			[]share{{"node-1", 8, false}, {"node-2", 8, true}, {"node-3", 0, true}}, 2),
		"0.0 polls/s · 225/225 sessions leased · 50 nodes with 4 to 5 each · duplicate polls: 0": status(0, 225, many, 0),
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestShort(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0.0 ms", 3140 * time.Microsecond: "3.1 ms", 46 * time.Millisecond: "46 ms", 5940 * time.Millisecond: "5.9 s",
	} {
		if got := short(d); got != want {
			t.Errorf("%s is %q, want %q", d, got, want)
		}
	}
}

func TestValidate(t *testing.T) {
	own := &Redis{}
	for _, c := range []Config{
		{Nodes: 1, Sessions: 1},
		{Nodes: MaxNodes, Sessions: MaxSessionsEmbedded, Duration: time.Second},
		{Nodes: 3, Sessions: MaxSessions, Redis: own},
	} {
		if err := c.Validate(); err != nil {
			t.Errorf("%+v: %v", c, err)
		}
	}
	for want, c := range map[string]Config{
		"--nodes=0: must be from 1 to 50": {Sessions: 1}, "--nodes=51": {Nodes: 51, Sessions: 1},
		"--sessions=0: must be from 1 to 10000": {Nodes: 1}, "--sessions=10001": {Nodes: 1, Sessions: 10_001, Redis: own},
		"--sessions=2001: the embedded Redis can bear 2000": {Nodes: 1, Sessions: 2001},
		"--duration=-1s: must not be negative":              {Nodes: 1, Sessions: 1, Duration: -time.Second},
		"--nodes=0: must be from 1 to 50\n--sessions=0":     {},
	} {
		if err := c.Validate(); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%+v: %v, want %s", c, err, want)
		}
	}
}

func TestPollsBecomeRarerWithMoreSessions(t *testing.T) {
	for sessions, want := range map[int]time.Duration{1: 2 * time.Second, 1000: 2 * time.Second, 1001: 3 * time.Second, 10_000: 20 * time.Second} {
		if got := pollInterval(sessions); got != want {
			t.Errorf("%d sessions are polled every %s, want %s", sessions, got, want)
		}
	}
}

func TestNodesGetNothingOfTheUsersEnvironment(t *testing.T) {
	b := &backend{url: "redis://h:1/0"}
	got := strings.Join(nodeEnviron([]string{"HOME=/h", "LEASEHOLD_LEASE_TTL=1h", "REDIS_URL=x", "SSL_CERT_FILE=/c"}, b, "node-1"), "\n")
	for _, no := range []string{"HOME=", "=1h", "\nREDIS_URL="} {
		if strings.Contains(got, no) {
			t.Errorf("%q is passed on: %s", no, got)
		}
	}
	for _, yes := range []string{"SSL_CERT_FILE=/c", "LEASEHOLD_REDIS_URL=redis://h:1/0", "LEASEHOLD_INSTANCE_NAME=node-1", "LEASEHOLD_LEASE_TTL=6s"} {
		if !strings.Contains(got, yes) {
			t.Errorf("%q is missing: %s", yes, got)
		}
	}
}
