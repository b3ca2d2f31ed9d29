package main

import (
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"leasehold/internal/oteltest"
	"leasehold/internal/redistest"
)

// tracedTarget answers polls, as slowly as it is told, and keeps the headers of each.
type tracedTarget struct {
	*httptest.Server

	mu    sync.Mutex
	polls []http.Header
}

func newTracedTarget(t *testing.T) *tracedTarget {
	t.Helper()
	target := &tracedTarget{}
	target.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		target.mu.Lock()
		defer target.mu.Unlock()
		target.polls = append(target.polls, r.Header)
	}))
	t.Cleanup(target.Close)
	return target
}

func (s *tracedTarget) seen() []http.Header {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]http.Header{}, s.polls...)
}

// traced runs a node that polls the target, until stop is called, which returns how it
// ended and how long that took.
func traced(t *testing.T, target string, environ ...string) (addr string, log *lines, stop func() (exitCode, time.Duration)) {
	t.Helper()
	server := redistest.StartServer(t)
	doc := fmt.Sprintf(`{"url":%q,"interval":"200ms"}`, target+"/status?token=hunter2")
	if err := server.Client().Set(t.Context(), "session:web", doc, 0).Err(); err != nil {
		t.Fatal(err)
	}
	addr = "127.0.0.1:" + strconv.Itoa(redistest.FreePort(t))
	signals, log := make(chan os.Signal, 1), &lines{}
	a := &app{
		environ: append(environ, "LEASEHOLD_REDIS_URL="+server.URL(), "LEASEHOLD_HTTP_ADDR="+addr, "LEASEHOLD_DRAIN_TIMEOUT=3s",
			"LEASEHOLD_INSTANCE_NAME=tracer", "LEASEHOLD_LEASE_TTL=6s", "LEASEHOLD_LEASE_RENEW_INTERVAL=1s"),
		stdout: io.Discard, stderr: log, signals: signals, started: time.Now(), runNode: runNode,
	}
	ended := make(chan exitCode, 1)
	go func() { ended <- a.run([]string{"run"}) }()
	var once sync.Once
	stop = func() (code exitCode, took time.Duration) {
		once.Do(func() {
			began := time.Now()
			signals <- syscall.SIGTERM
			code, took = <-ended, time.Since(began)
		})
		return code, took
	}
	t.Cleanup(func() { stop() })
	return addr, log, stop
}

// One poll is the same in the spans, in the request, in the metrics and in Redis.
func TestAPollsSpanIsInTheRequestAndInTheMetrics(t *testing.T) {
	t.Parallel()
	target, collector := newTracedTarget(t), oteltest.Start(t)
	addr, log, stop := traced(t, target.URL, "OTEL_EXPORTER_OTLP_ENDPOINT="+collector.URL, "OTEL_BSP_SCHEDULE_DELAY=50",
		"OTEL_EXPORTER_OTLP_TIMEOUT=never", "OTEL_EXPORTER_OTLP_HEADERS=authorization=hunter2")
	log.await(t, `"event":"node.ready"`, `"event":"traces.started"`, "OTEL_EXPORTER_OTLP_TIMEOUT")
	eventually(t, "some spans have come", func() bool { return len(collector.Spans()) >= 3 })
	exposed := openMetrics(t, addr)
	if code, _ := stop(); code != exitOK {
		t.Errorf("the node ended with %d", code)
	}

	spans, polls := collector.Spans(), target.seen()
	if len(spans) != len(polls) { // the last ones were sent while it stopped
		t.Errorf("%d spans of %d polls", len(spans), len(polls))
	}
	byParent := make(map[string]http.Header)
	for _, h := range polls {
		byParent[h.Get("Traceparent")] = h
	}
	found, attempts := false, make(map[any]bool)
	for _, s := range spans {
		trace := hex.EncodeToString(s.GetTraceId())
		h := byParent["00-"+trace+"-"+hex.EncodeToString(s.GetSpanId())+"-01"]
		if h == nil {
			t.Fatalf("no poll carried the span %v", s.Span)
		}
		instance, token := s.Attributes["leasehold.instance.id"], s.Attributes["leasehold.lease.token"]
		if h.Get("Leasehold-Instance") != instance || h.Get("Leasehold-Token") != fmt.Sprint(token) || instance != s.Resource["service.instance.id"] {
			t.Errorf("%v polled with %v and %v", s.Attributes, h, s.Resource)
		}
		if s.Attributes["url.full"] != target.URL+"/status?token=***" || s.Attributes["leasehold.session.id"] != "web" ||
			s.Attributes["http.response.status_code"] != int64(200) {
			t.Errorf("%v", s.Attributes)
		}
		attempts[s.Attributes["leasehold.poll.attempt"]] = true
		if delay, ok := s.Attributes["leasehold.poll.delay"].(float64); ok && (delay < 0 || delay > 5) {
			t.Errorf("a delay of %v s", delay)
		}
		found = found || strings.Contains(exposed, `# {trace_id="`+trace+`"}`)
	}
	if !found {
		t.Errorf("no trace of these is in the metrics:\n%s", exposed)
	}
	if len(attempts) != len(spans) {
		t.Errorf("%d attempts have spans of %d", len(attempts), len(spans))
	}
	if strings.Contains(log.String(), "hunter2") {
		t.Errorf("a secret is in the log:\n%s", log)
	}
}

// openMetrics asks for what has exemplars, which only this format does.
func openMetrics(t *testing.T, addr string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+addr+"/metrics", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Accept", "application/openmetrics-text; version=1.0.0; charset=utf-8")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestNothingIsTracedUnlessAskedFor(t *testing.T) {
	t.Parallel()
	target := newTracedTarget(t)
	addr, log, stop := traced(t, target.URL, "OTEL_SERVICE_NAME=pollers", "OTEL_TRACES_SAMPLER=always_on")
	eventually(t, "it is polled", func() bool { return len(target.seen()) >= 3 })
	if text := openMetrics(t, addr); strings.Contains(text, "trace") {
		t.Errorf("the metrics have traces:\n%s", text)
	}
	stop()
	for _, h := range target.seen() {
		if h.Get("Traceparent") != "" {
			t.Errorf("a poll has %v", h)
		}
	}
	if strings.Contains(log.String(), "traces.") {
		t.Errorf("the log has traces:\n%s", log)
	}
}

// A collector that never answers costs the node nothing but the time that it was given to
// stop.
func TestACollectorThatHangsKeepsNoNodeFromPollingOrStopping(t *testing.T) {
	t.Parallel()
	target, collector := newTracedTarget(t), oteltest.Start(t)
	collector.Answer(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	addr, log, stop := traced(t, target.URL, "OTEL_EXPORTER_OTLP_ENDPOINT="+collector.URL,
		"OTEL_BSP_SCHEDULE_DELAY=10", "OTEL_BSP_MAX_QUEUE_SIZE=3", "OTEL_EXPORTER_OTLP_TIMEOUT=60000")
	full := `trace_spans_dropped_total{reason="full"}`
	eventually(t, "spans are dropped while polls go on", func() bool { s, _ := scrape(t, addr); return s[full] >= 3 })
	s, text := scrape(t, addr)
	if s["trace_spans_queued"] != 3 || s["trace_spans_sent_total"] != 0 || s[`polls_total{result="success"}`] < s[full]+3 || s[`polls_skipped_total{reason="unusable"}`] != 0 {
		t.Errorf("%v spans wait:\n%s", s["trace_spans_queued"], text)
	}
	code, took := stop()
	if code != exitOK || took > 5*time.Second { // 3 s to drain, and the machine may be slow
		t.Errorf("it ended with %d after %s", code, took)
	}
	if !strings.Contains(log.String(), `"event":"traces.dropped"`) {
		t.Errorf("nothing is told of what was lost:\n%s", log)
	}
}
