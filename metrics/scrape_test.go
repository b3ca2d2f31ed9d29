package metrics

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"leasehold/actors/membership"
	"leasehold/eventlog"
	"leasehold/node"
	"leasehold/redisevents"
	"leasehold/results"
	"leasehold/tracing"
)

// still is a node that is as a test says.
type still node.Stats

func (s still) Stats() node.Stats { return node.Stats(s) }

type sink struct{ name string }

func (s sink) Name() string                                       { return s.name }
func (sink) Lanes() int                                           { return 1 }
func (sink) Deliver(ctx context.Context, _ results.Message) error { return ctx.Err() }

// full returns metrics with everything that a node has, of which nothing happened yet.
func full(t *testing.T) *Metrics {
	t.Helper()
	m := New(Build{Version: "v1"})
	m.WatchLog(nil)
	m.WatchNode(still{}, results.NewHub(t.Context(), nil, sink{"stdout"}, sink{"webhook"}), nil)
	m.Redis()
	m.WatchTraces(func() tracing.Stats { return tracing.Stats{} })
	h := m.HTTP(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { r.Pattern = "GET /healthz" }))
	h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/healthz", nil))
	return m
}

func expect(t *testing.T, m *Metrics, want map[string]float64) {
	t.Helper()
	got := series(t, m)
	for name, v := range want {
		if g, ok := got[prefix+name]; !ok || g != v {
			t.Errorf("%s is %v (there: %t), want %v", name, g, ok, v)
		}
	}
}

func TestANodeIsReadWhenItIsAsked(t *testing.T) {
	m := New(Build{})
	s := still{
		Leases: 3, Ideal: 4, Members: 2, Validity: 18 * time.Second, InFlight: 1, Concurrency: 256, Overdue: 5, Failing: 1, Actors: 9, Restarts: 1, Fresh: true,
		Known:  membership.Known{Owned: 3, Elsewhere: 10, Unleased: 2, Paused: 4, External: 6, Invalid: 7, Free: 90 * time.Second},
		Events: redisevents.Status{Healthy: true, Queued: 8},
	}
	m.WatchNode(s, nil, nil)
	expect(t, m, map[string]float64{
		"leases_owned": 3, "leases_ideal": 4, "members": 2, "lease_validity_shortest_seconds": 18,
		"polls_in_flight": 1, "polls_in_flight_limit": 256, "sessions_overdue": 5, "actors": 9, "actor_restarts_total": 1, "heartbeat_fresh": 1,
		"sessions{state=ok}": 2, "sessions{state=failing}": 1, "sessions{state=elsewhere}": 10, "sessions{state=unleased}": 2, "sessions{state=paused}": 4,
		"sessions{state=external}": 6, "sessions{state=invalid}": 7, "session_unleased_seconds_total": 90,
		"session_unleased_longest_seconds": 0, "events_healthy": 1, "events_queued": 8,
	})
	s.Known.FreeSince = time.Now().Add(-time.Minute)
	m = New(Build{})
	m.WatchNode(s, nil, nil)
	if got := series(t, m)["leasehold_session_unleased_longest_seconds"]; got < 60 || got > 120 {
		t.Errorf("free for a minute, it says %v s", got)
	}
}

// pool is a client of which only the pool is asked.
type pool struct {
	redis.UniversalClient

	stats redis.PoolStats
}

func (p pool) PoolStats() *redis.PoolStats { return &p.stats }

func TestThePoolIsThatOfTheClient(t *testing.T) {
	m := New(Build{})
	m.WatchNode(still{}, nil, pool{stats: redis.PoolStats{Hits: 1, Misses: 2, Timeouts: 3, TotalConns: 4, IdleConns: 5, StaleConns: 6}})
	expect(t, m, map[string]float64{
		"redis_pool_hits_total": 1, "redis_pool_misses_total": 2, "redis_pool_timeouts_total": 3,
		"redis_pool_connections": 4, "redis_pool_idle_connections": 5, "redis_pool_stale_connections_total": 6,
	})
}

func TestWhatANodeTellsIsObserved(t *testing.T) {
	m := New(Build{})
	g := m.Gauge()
	g.Lag(250 * time.Millisecond)
	g.Batch(40, 500*time.Millisecond)
	g.Batch(60, 750*time.Millisecond)
	expect(t, m, map[string]float64{
		"events_lag_seconds_count": 1, "events_lag_seconds_sum": .25,
		"lease_renewal_batch_size_count": 2, "lease_renewal_batch_size_sum": 100,
		"lease_renewal_batch_seconds_count": 2, "lease_renewal_batch_seconds_sum": 1.25,
	})
}

// hanging is a sink that takes nothing.
type hanging struct{ sink }

func (hanging) Deliver(ctx context.Context, _ results.Message) error {
	<-ctx.Done()
	return ctx.Err()
}

func TestWhatASinkDoesNotTakeWaitsAndIsDroppedAtTheEnd(t *testing.T) {
	hub := results.NewHub(t.Context(), eventlog.New(io.Discard, eventlog.Options{}), hanging{sink{"webhook"}})
	m := New(Build{})
	m.WatchNode(still{}, hub, nil)
	for range 3 {
		hub.Recorded(results.Message{Session: "s"})
	}
	if got := series(t, m)["leasehold_results_queued{sink=webhook}"]; got < 2 || got > 3 {
		t.Errorf("%v wait, of 3 of which one may be under way", got)
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	hub.Close(over)
	dropped := func() float64 { return series(t, m)["leasehold_results_dropped_total{sink=webhook}"] }
	for end := time.Now().Add(10 * time.Second); dropped() < 3 && time.Now().Before(end); { // the one under way hears of the end
		time.Sleep(time.Millisecond)
	}
	if got := dropped(); got != 3 {
		t.Errorf("%v are dropped, want 3", got)
	}
	expect(t, m, map[string]float64{"results_sent_total{sink=webhook}": 0, "results_queued{sink=webhook}": 0})
}

func TestSinksAreCountedByName(t *testing.T) {
	hub := results.NewHub(t.Context(), nil, sink{"webhook"})
	m := New(Build{})
	m.WatchNode(still{}, hub, nil)
	for range 3 {
		hub.Recorded(results.Message{Session: "s"})
	}
	hub.Fenced()
	hub.Close(t.Context())
	expect(t, m, map[string]float64{
		"results_sent_total{sink=webhook}": 3, "results_dropped_total{sink=webhook}": 0, "results_queued{sink=webhook}": 0, "results_recorded_total": 3,
	})
}

func TestRedisCommandsAreCountedByNameAndNothingElse(t *testing.T) {
	m := New(Build{})
	hook := m.Redis()
	ctx := t.Context()
	single := hook.ProcessHook(func(_ context.Context, cmd redis.Cmder) error { return cmd.Err() })
	ok, missing, bad := redis.NewCmd(ctx, "get", "marked"), redis.NewCmd(ctx, "get", "marked"), redis.NewCmd(ctx, "marked", "marked")
	missing.SetErr(redis.Nil)
	bad.SetErr(errBoom)
	for _, cmd := range []redis.Cmder{ok, missing, bad} {
		_ = single(ctx, cmd)
	}
	several := hook.ProcessPipelineHook(func(context.Context, []redis.Cmder) error { return errBoom })
	_ = several(ctx, []redis.Cmder{redis.NewCmd(ctx, "evalsha", "x"), bad})
	expect(t, m, map[string]float64{
		"redis_commands_total{command=get}": 2, "redis_commands_total{command=other}": 2, "redis_commands_total{command=evalsha}": 1,
		"redis_command_errors_total{command=get}": 0, "redis_command_errors_total{command=other}": 2,
		"redis_call_seconds_count{call=single}": 3, "redis_call_seconds_count{call=pipeline}": 1,
	})
}

func TestRequestsAreCountedByTheRouteThatAnswered(t *testing.T) {
	m := New(Build{})
	mux := http.NewServeMux()
	mux.HandleFunc("GET /sessions/{id}", func(w http.ResponseWriter, r *http.Request) {
		if r.PathValue("id") == "gone" {
			w.WriteHeader(http.StatusNotFound)
		}
		_, _ = w.Write([]byte("x"))
		if err := http.NewResponseController(w).Flush(); err != nil {
			t.Errorf("what streams can't flush: %v", err)
		}
	})
	h := m.HTTP(mux)
	for _, r := range []struct{ method, path string }{
		{http.MethodGet, "/sessions/a"}, {http.MethodGet, "/sessions/b"}, {http.MethodGet, "/sessions/gone"}, {"MARKED", "/marked"},
	} {
		h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), r.method, r.path, nil))
	}
	expect(t, m, map[string]float64{
		"http_requests_total{code=2xx,method=GET,route=/sessions/{id}}": 2,
		"http_requests_total{code=4xx,method=GET,route=/sessions/{id}}": 1,
		"http_requests_total{code=4xx,method=other,route=none}":         1,
		"http_requests_in_flight":                                       0,
	})
}

// scrapeAs asks for an answer of that type.
func scrapeAs(t *testing.T, m *Metrics, accept string) (kind, text string) {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", http.NoBody)
	r.Header.Set("Accept", accept)
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, r)
	return w.Header().Get("Content-Type"), w.Body.String()
}

func TestTheDurationOfAPollHasItsTraceAsAnExample(t *testing.T) {
	const trace = "0af7651916cd43dd8448eb211c80319c"
	m := New(Build{})
	m.Observe(eventlog.PollSucceeded{Duration: 30 * time.Millisecond, Trace: trace})
	m.Observe(eventlog.PollSucceeded{Duration: 70 * time.Millisecond})
	m.Observe(eventlog.PollFailed{Class: "timeout", Duration: 5 * time.Second, Trace: trace})
	kind, text := scrapeAs(t, m, "application/openmetrics-text; version=1.0.0")
	if !strings.HasPrefix(kind, "application/openmetrics-text") || !strings.HasSuffix(text, "# EOF\n") {
		t.Errorf("the answer is %s", kind)
	}
	var with []string
	for line := range strings.Lines(text) {
		if strings.Contains(line, "trace_id") {
			series, example, _ := strings.Cut(line, " # ")
			example, _, _ = strings.Cut(example, "} ")
			value := strings.Fields(line)[4]
			with = append(with, strings.Fields(series)[0]+" "+example+"} "+value)
		}
	}
	want := []string{
		`leasehold_poll_duration_seconds_bucket{result="failure",le="5.0"} {trace_id="` + trace + `"} 5.0`,
		`leasehold_poll_duration_seconds_bucket{result="success",le="0.05"} {trace_id="` + trace + `"} 0.03`,
	}
	if !slices.Equal(with, want) {
		t.Errorf("the examples are %q, want %q", with, want)
	}
	if kind, text := scrapeAs(t, m, "text/plain"); !strings.HasPrefix(kind, "text/plain") || strings.Contains(text, trace) {
		t.Errorf("the plain answer is %s:\n%s", kind, text)
	}
}

func TestSpansAreCountedByTheTracer(t *testing.T) {
	m := New(Build{})
	m.WatchTraces(func() tracing.Stats { return tracing.Stats{Sent: 4, Full: 3, Failed: 2, Queued: 1} })
	expect(t, m, map[string]float64{
		"trace_spans_sent_total": 4, "trace_spans_dropped_total{reason=full}": 3, "trace_spans_dropped_total{reason=failed}": 2, "trace_spans_queued": 1,
	})
}

func TestLogLinesAreCountedByLevel(t *testing.T) {
	m := New(Build{})
	log := eventlog.New(io.Discard, eventlog.Options{})
	m.WatchLog(log)
	log.Emit(eventlog.NodeFenced{})
	log.Emit(eventlog.RedisUp{})
	log.Emit(eventlog.LeaseRenewed{})
	log.Close()
	expect(t, m, map[string]float64{
		"log_lines_total{level=error}": 1, "log_lines_total{level=info}": 1, "log_lines_total{level=debug}": 0, "log_lines_lost_total": 0,
	})
}

func BenchmarkRedisHook(b *testing.B) {
	hook := New(Build{}).Redis()
	ctx := b.Context()
	cmd := redis.NewCmd(ctx, "evalsha", "x")
	cmds := []redis.Cmder{cmd, cmd, cmd, cmd}
	b.Run("single", func(b *testing.B) {
		f := hook.ProcessHook(func(context.Context, redis.Cmder) error { return nil })
		b.ReportAllocs()
		for b.Loop() {
			_ = f(ctx, cmd)
		}
	})
	b.Run("pipeline of 4", func(b *testing.B) {
		f := hook.ProcessPipelineHook(func(context.Context, []redis.Cmder) error { return nil })
		b.ReportAllocs()
		for b.Loop() {
			_ = f(ctx, cmds)
		}
	})
}
