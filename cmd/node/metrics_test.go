package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"leasehold/internal/redistest"
)

// scraped are the series of one answer of /metrics, by name and labels as they stand.
type scraped map[string]float64

func scrape(t *testing.T, addr string) (scraped, string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+addr+"/metrics", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, ""
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	all := make(scraped)
	for line := range strings.Lines(string(text)) {
		name, value, ok := strings.Cut(strings.TrimSpace(line), " ")
		if !ok || name == "#" {
			continue
		}
		if v, err := strconv.ParseFloat(value, 64); err == nil {
			all[strings.TrimPrefix(name, "leasehold_")] = v
		}
	}
	return all, string(text)
}

// runForMetrics runs a node with an HTTP server until the test ends.
func runForMetrics(t *testing.T, environ ...string) (addr string) {
	t.Helper()
	addr = "127.0.0.1:" + strconv.Itoa(redistest.FreePort(t))
	signals := make(chan os.Signal, 1)
	a := &app{
		environ: append(environ, "LEASEHOLD_HTTP_ADDR="+addr, "LEASEHOLD_LEASE_TTL=3s", "LEASEHOLD_LEASE_RENEW_INTERVAL=500ms"),
		stdout:  io.Discard, stderr: &bytes.Buffer{}, signals: signals, started: time.Now(), runNode: runNode,
	}
	ended := make(chan exitCode, 1)
	go func() { ended <- a.run([]string{"run"}) }()
	t.Cleanup(func() {
		signals <- syscall.SIGTERM
		if code := <-ended; code != exitOK {
			t.Errorf("the node ended with %d", code)
		}
	})
	return addr
}

func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if holds() {
			return
		}
	}
	t.Fatalf("not within 20 s: %s", what)
}

// What two nodes show is what their target and Redis saw, and names none of them.
func TestMetricsAreWhatTheTargetAndRedisSaw(t *testing.T) {
	const sessions, mark = 6, "M4RKED"
	var polls atomic.Int64
	target := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { polls.Add(1) }))
	defer target.Close()
	server := redistest.StartServer(t)
	client := server.Client()
	put := func(paused bool) {
		for i := range sessions {
			doc := fmt.Sprintf(`{"url":%q,"interval":"300ms","paused":%t}`, target.URL+"/"+mark, paused)
			if err := client.Set(t.Context(), fmt.Sprintf("session:%s-%d", mark, i), doc, 0).Err(); err != nil {
				t.Fatal(err)
			}
		}
	}
	put(false)
	var addrs []string
	for i := range 2 {
		addrs = append(addrs, runForMetrics(t, "LEASEHOLD_REDIS_URL="+server.URL(), fmt.Sprintf("LEASEHOLD_INSTANCE_NAME=%s%d", mark, i)))
	}
	sum := func(name string) float64 {
		total := 0.0
		for _, addr := range addrs {
			s, _ := scrape(t, addr)
			total += s[name]
		}
		return total
	}
	eventually(t, "all sessions are held, renewed and polled", func() bool {
		return sum("leases_owned") == sessions && sum(`lease_renewals_total{result="renewed"}`) >= 2*sessions && polls.Load() >= 3*sessions
	})
	for _, addr := range addrs {
		s, text := scrape(t, addr)
		if s["members"] != 2 || s["leases_owned"] != s["leases_ideal"] || s["events_healthy"] != 1 || s["heartbeat_fresh"] != 1 {
			t.Errorf("the fleet is not as it should be:\n%s", text)
		}
		if left := s["lease_validity_shortest_seconds"]; left <= 0 || left > 2.8 {
			t.Errorf("%v s of trust are left in leases of 3 s with a margin of 0.2 s", left)
		}
		if s[`redis_commands_total{command="evalsha"}`] == 0 || s["redis_pool_connections"] == 0 || s["events_lag_seconds_count"] == 0 {
			t.Errorf("Redis is not counted:\n%s", text)
		}
		if strings.Contains(text, mark) {
			t.Errorf("an ID or a URL is shown:\n%s", text)
		}
	}
	keys, err := client.Keys(t.Context(), "poll:lease:*").Result()
	if err != nil || len(keys) != sessions {
		t.Errorf("Redis has the leases %v (%v)", keys, err)
	}
	put(true)
	eventually(t, "all leases are given back", func() bool { return sum(`lease_releases_total{reason="paused"}`) == sessions })
	compare(t, client, sum, float64(polls.Load()))
}

// compare looks at a fleet that polls nothing any more. A poll that was under way when its
// session was paused is canceled, though the target saw it.
func compare(t *testing.T, client *redis.Client, sum func(string) float64, polls float64) {
	t.Helper()
	stored, err := client.XLen(t.Context(), "poll:results").Result()
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]float64{
		`polls_started_total`:                                       polls,
		`polls_total{result="success"}`:                             polls - sum(`polls_total{result="canceled"}`),
		`poll_duration_seconds_count{result="success"}`:             polls - sum(`poll_duration_seconds_count{result="canceled"}`),
		`ownership_checks_total{result="owned"}`:                    polls,
		`results_recorded_total`:                                    float64(stored),
		`leases_owned`:                                              0,
		`polls_in_flight`:                                           0,
		`results_fenced_total`:                                      0,
		`lease_losses_total{reason="expired"}`:                      0,
		`log_lines_total{level="error"}`:                            0,
		`http_requests_total{code="4xx",method="GET",route="none"}`: 0,
	} {
		if got := sum(name); got != want {
			t.Errorf("%s is %v in all, want %v", name, got, want)
		}
	}
}
