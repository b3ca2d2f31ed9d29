package tracing_test

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"io"
	stdlog "log"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/protowire"

	"leasehold/eventlog"
	"leasehold/httppoll"
	"leasehold/internal/certtest"
	"leasehold/internal/oteltest"
	"leasehold/session"
	"leasehold/tracing"
)

// patience is for what must happen, and takes no time by itself.
const patience = 10 * time.Second

// tracer makes one from the variables, with a log that the test can read when the
// tracer was closed.
func tracer(t *testing.T, environ ...string) (*tracing.Tracer, func() string) {
	t.Helper()
	settings, warnings := tracing.Read(environ)
	if len(warnings) > 0 {
		t.Fatal(warnings)
	}
	var out bytes.Buffer
	log := eventlog.New(&out, eventlog.Options{})
	tr := tracing.New(t.Context(), tracing.Config{Settings: settings, Instance: "a-1-00000001", Version: "v9", Log: log})
	done := func() string {
		tr.Close(context.WithoutCancel(t.Context()))
		log.Close()
		return out.String()
	}
	t.Cleanup(func() { done() })
	return tr, done
}

func at(url string) tracing.Poll {
	return tracing.Poll{Request: httppoll.Request{
		Session: session.Session{ID: "web", URL: url, Method: http.MethodGet}, Instance: "a-1-00000001", Token: 7,
	}, Attempt: 42, Delay: 1500 * time.Millisecond}
}

// poll makes one span.
func poll(ctx context.Context, tr *tracing.Tracer, p tracing.Poll, o httppoll.Outcome) {
	_, span := tr.Start(ctx, p)
	span.End(o)
}

func ok() httppoll.Outcome {
	return httppoll.Outcome{OK: true, Class: httppoll.ClassSuccess, Status: 200}
}

func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if holds() {
			return
		}
	}
	t.Fatalf("not within %s: %s", patience, what)
}

func TestASpanSaysWhatWasPolledAndWhatCameOfIt(t *testing.T) {
	t.Parallel()
	c := oteltest.Start(t)
	tr, done := tracer(t, "OTEL_EXPORTER_OTLP_ENDPOINT="+c.URL, "OTEL_SERVICE_NAME=pollers",
		"OTEL_RESOURCE_ATTRIBUTES=deployment.environment.name=test,service.name=another", "OTEL_EXPORTER_OTLP_HEADERS=authorization=Bearer%20abc")
	began := time.Now()
	ctx, span := tr.Start(t.Context(), at("https://me:hunter2@api.example/v1/status?page=2&token=hunter2#x"))
	id := span.TraceID()
	header := make(http.Header)
	tr.Injector()(ctx, header)
	span.End(ok())
	log := done()

	spans := c.Spans()
	if len(spans) != 1 {
		t.Fatalf("%d spans; the log is %s", len(spans), log)
	}
	s := spans[0]
	want := map[string]any{
		"http.request.method": "GET", "url.full": "https://api.example/v1/status?page=2&token=***",
		"server.address": "api.example", "server.port": int64(443), "http.response.status_code": int64(200),
		"leasehold.session.id": "web", "leasehold.instance.id": "a-1-00000001", "leasehold.lease.token": int64(7),
		"leasehold.poll.attempt": int64(42), "leasehold.poll.delay": 1.5, "leasehold.poll.result": "success",
	}
	if !maps.Equal(s.Attributes, want) {
		t.Errorf("the attributes are %v, want %v", s.Attributes, want)
	}
	if s.GetName() != "GET" || s.GetKind() != tracepb.Span_SPAN_KIND_CLIENT || len(s.GetParentSpanId()) > 0 ||
		s.GetStatus().GetCode() != tracepb.Status_STATUS_CODE_UNSET {
		t.Errorf("the span is %v", s.Span)
	}
	from, to := time.Unix(0, int64(s.GetStartTimeUnixNano())), time.Unix(0, int64(s.GetEndTimeUnixNano()))
	if from.Before(began.Truncate(0).Add(-time.Millisecond)) || to.Before(from) || to.After(time.Now().Add(time.Millisecond)) {
		t.Errorf("it lasts from %s to %s", from, to)
	}
	for name, value := range map[string]any{
		"service.name": "pollers", "service.version": "v9", "service.instance.id": "a-1-00000001",
		"deployment.environment.name": "test", "telemetry.sdk.language": "go", "telemetry.sdk.name": "opentelemetry",
	} {
		if s.Resource[name] != value {
			t.Errorf("the resource's %s is %v, want %v", name, s.Resource[name], value)
		}
	}
	if s.Scope != "leasehold" || s.ScopeVersion != "v9" {
		t.Errorf("the scope is %s %s", s.Scope, s.ScopeVersion)
	}
	// The request to the target, the exemplars and the collector have the same IDs.
	trace := hex.EncodeToString(s.GetTraceId())
	if got := header.Get("Traceparent"); id != trace || got != "00-"+trace+"-"+hex.EncodeToString(s.GetSpanId())+"-01" {
		t.Errorf("the trace is %s, in the request %s, elsewhere %s", trace, got, id)
	}
	requests, _ := c.Requests()
	for name, want := range map[string]string{
		"Authorization": "Bearer abc", "Content-Type": "application/x-protobuf", "User-Agent": "leasehold/v9", "Content-Encoding": "",
	} {
		if got := requests[0].Header.Get(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if r := requests[0]; r.Method != http.MethodPost || r.URL.Path != "/v1/traces" {
		t.Errorf("%s %s", r.Method, r.URL.Path)
	}
	if !strings.Contains(log, `"event":"traces.started"`) || strings.Contains(log, "abc") || strings.Contains(log, "traces.dropped") {
		t.Errorf("the log is %s", log)
	}
	if got := tr.Stats(); got != (tracing.Stats{Sent: 1}) {
		t.Errorf("%+v", got)
	}
}

func TestWhatASpanSaysOfAFailure(t *testing.T) {
	t.Parallel()
	c := oteltest.Start(t)
	tr, done := tracer(t, "OTEL_EXPORTER_OTLP_ENDPOINT="+c.URL, "OTEL_EXPORTER_OTLP_COMPRESSION=gzip")
	boom := errors.New("boom")
	cases := []struct {
		poll    tracing.Poll
		outcome httppoll.Outcome
		name    string
		code    tracepb.Status_StatusCode
		has     map[string]any // nil: it has none
	}{
		{at("http://h/"), httppoll.Outcome{Class: "http_error", Status: 503, Err: boom}, "GET", tracepb.Status_STATUS_CODE_ERROR, map[string]any{
			"error.type": "503", "http.response.status_code": int64(503), "leasehold.poll.result": "http_error", "server.port": int64(80),
		}},
		{at("http://h:8080/"), httppoll.Outcome{Class: "connect_error", Err: boom}, "GET", tracepb.Status_STATUS_CODE_ERROR, map[string]any{
			"error.type": "connect_error", "http.response.status_code": nil, "server.port": int64(8080), "server.address": "h",
		}},
		{at("http://[::1]:81/"), httppoll.Outcome{Class: "assertion", Status: 200, Err: boom}, "GET", tracepb.Status_STATUS_CODE_ERROR, map[string]any{
			"error.type": "assertion", "http.response.status_code": int64(200), "server.address": "::1",
		}},
		{at("http://h/"), httppoll.Outcome{Class: "http_error", Status: 302, Err: boom}, "GET", tracepb.Status_STATUS_CODE_ERROR, map[string]any{
			"error.type": "http_error",
		}},
		// What the document expects is no error, whatever its number.
		{at("http://h/"), httppoll.Outcome{OK: true, Class: "success", Status: 404}, "GET", tracepb.Status_STATUS_CODE_UNSET, map[string]any{
			"error.type": nil, "http.response.status_code": int64(404),
		}},
		{with("", -1), ok(), "GET", tracepb.Status_STATUS_CODE_UNSET, map[string]any{"http.request.method": "GET", "leasehold.poll.delay": nil}},
		{with("POST", 0), ok(), "POST", tracepb.Status_STATUS_CODE_UNSET, map[string]any{"http.request.method": "POST", "leasehold.poll.delay": 0.0}},
		{with("FROB", 0), ok(), "HTTP", tracepb.Status_STATUS_CODE_UNSET, map[string]any{
			"http.request.method": "_OTHER", "http.request.method_original": "FROB",
		}},
		{at("http://%zz@h"), httppoll.Outcome{Class: "http_error", Err: boom}, "GET", tracepb.Status_STATUS_CODE_ERROR, map[string]any{
			"url.full": "[unreadable URL]", "server.address": nil,
		}},
	}
	for _, one := range cases {
		poll(t.Context(), tr, one.poll, one.outcome)
	}
	done()
	spans := c.Spans()
	if len(spans) != len(cases) {
		t.Fatalf("%d spans of %d polls", len(spans), len(cases))
	}
	for i, one := range cases {
		s := spans[i]
		if s.GetName() != one.name || s.GetStatus().GetCode() != one.code {
			t.Errorf("%d: %s, status %v", i, s.GetName(), s.GetStatus())
		}
		if text := s.GetStatus().GetMessage(); one.outcome.Err != nil && text != "boom" {
			t.Errorf("%d: it says %q", i, text)
		}
		for name, want := range one.has {
			if got := s.Attributes[name]; got != want {
				t.Errorf("%d: %s is %v, want %v", i, name, got, want)
			}
		}
	}
}

func with(method string, delay time.Duration) tracing.Poll {
	p := at("http://h/")
	p.Request.Session.Method, p.Delay = method, delay
	return p
}

func TestWithoutVariablesThereIsNoTracer(t *testing.T) {
	t.Parallel()
	tr, done := tracer(t)
	if tr != nil || tr.Injector() != nil || tr.Stats() != (tracing.Stats{}) {
		t.Errorf("%v", tr)
	}
	ctx, span := tr.Start(t.Context(), at("http://h/"))
	span.End(ok())
	if ctx != t.Context() || span.TraceID() != "" {
		t.Error("there is a span")
	}
	if log := done(); log != "" {
		t.Errorf("it says %s", log)
	}
}

func TestWhatIsNotSampledIsNotSent(t *testing.T) {
	t.Parallel()
	c := oteltest.Start(t)
	tr, done := tracer(t, "OTEL_EXPORTER_OTLP_ENDPOINT="+c.URL, "OTEL_TRACES_SAMPLER=always_off")
	ctx, span := tr.Start(t.Context(), at("http://h/"))
	header := make(http.Header)
	tr.Injector()(ctx, header)
	span.End(ok())
	if span.TraceID() != "" || !strings.HasSuffix(header.Get("Traceparent"), "-00") {
		t.Errorf("trace %q, in the request %q", span.TraceID(), header.Get("Traceparent"))
	}
	done()
	if requests, _ := c.Requests(); len(requests) > 0 || tr.Stats() != (tracing.Stats{}) {
		t.Errorf("%d requests, %+v", len(requests), tr.Stats())
	}
}

func TestPropagationCanBeForbidden(t *testing.T) {
	t.Parallel()
	if tr, _ := tracer(t, "OTEL_TRACES_EXPORTER=otlp", "OTEL_PROPAGATORS=none"); tr.Injector() != nil {
		t.Error("something is injected")
	}
}

// A collector that hangs costs spans, never a poll's time.
func TestAHangingCollectorDelaysNoPoll(t *testing.T) {
	t.Parallel()
	c := oteltest.Start(t)
	hanging := make(chan struct{})
	defer close(hanging)
	c.Answer(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-hanging:
		case <-r.Context().Done():
		}
	})
	tr, _ := tracer(t, "OTEL_EXPORTER_OTLP_ENDPOINT="+c.URL, "OTEL_BSP_MAX_QUEUE_SIZE=100", "OTEL_BSP_MAX_EXPORT_BATCH_SIZE=10", "OTEL_BSP_SCHEDULE_DELAY=1")
	const polls = 5000
	began := time.Now()
	for range polls {
		poll(t.Context(), tr, at("http://h/"), ok())
	}
	if took := time.Since(began); took > patience/2 { // the collector's limit is longer
		t.Errorf("%d polls took %s", polls, took)
	}
	eventually(t, "the collector is asked", func() bool { requests, _ := c.Requests(); return len(requests) > 0 })
	s := tr.Stats()
	if s.Queued != 100 || s.Full != polls-100 || s.Sent != 0 || s.Failed != 0 {
		t.Errorf("%+v", s)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	began = time.Now()
	tr.Close(ctx)
	if took := time.Since(began); took < 150*time.Millisecond || took > patience/2 {
		t.Errorf("closing took %s, its time was 200 ms", took)
	}
	if s := tr.Stats(); s != (tracing.Stats{Full: polls - 100, Failed: 100}) {
		t.Errorf("in the end %+v", s)
	}
	poll(t.Context(), tr, at("http://h/"), ok())
	if s := tr.Stats(); s.Queued != 0 {
		t.Errorf("a late span makes %+v", s)
	}
}

// What is lost is logged at once, then once a minute and at the end, with its number.
func TestLossesAreToldWithoutSecrets(t *testing.T) {
	t.Parallel()
	c := oteltest.Start(t)
	c.Answer(func(w http.ResponseWriter, r *http.Request) {
		http.Error(w, r.Header.Get("Authorization"), http.StatusUnauthorized)
	})
	tr, done := tracer(t, "OTEL_EXPORTER_OTLP_ENDPOINT="+strings.Replace(c.URL, "://", "://me:S3CRET@", 1)+"/S3CRET",
		"OTEL_EXPORTER_OTLP_HEADERS=authorization=S3CRET", "OTEL_BSP_SCHEDULE_DELAY=1")
	for i := range 3 {
		poll(t.Context(), tr, at("http://h/"), ok())
		eventually(t, "the span is lost", func() bool { return tr.Stats().Failed == uint64(i+1) })
	}
	poll(t.Context(), tr, at("http://h/"), ok())
	log := done()
	if strings.Count(log, `"event":"traces.dropped"`) != 2 || !strings.Contains(log, `"count":1,"error":"traces export: status 401"`) ||
		!strings.Contains(log, `"count":3,"error":`) {
		t.Errorf("the log is %s", log)
	}
	if strings.Contains(log, "S3CRET") {
		t.Errorf("a secret is in %s", log)
	}
}

func TestACollectorThatIsGoneIsToldOfWithoutItsAddress(t *testing.T) {
	t.Parallel()
	tr, done := tracer(t, "OTEL_EXPORTER_OTLP_ENDPOINT=http://S3CRET:S3CRET@127.0.0.1:1/S3CRET?key=S3CRET",
		"OTEL_EXPORTER_OTLP_TIMEOUT=100", "OTEL_BSP_SCHEDULE_DELAY=1")
	poll(t.Context(), tr, at("http://h/"), ok())
	log := done()
	if !strings.Contains(log, "refused") || strings.Contains(log, "S3CRET") || !strings.Contains(log, `"endpoint":"http://127.0.0.1:1"`) {
		t.Errorf("the log is %s", log)
	}
}

func TestWhatMayPassIsTriedAgain(t *testing.T) {
	t.Parallel()
	for _, code := range []int{429, 502, 503, 504} {
		c := oteltest.Start(t)
		var asked atomic.Int64
		c.Answer(func(w http.ResponseWriter, _ *http.Request) {
			asked.Add(1)
			c.Answer(nil)
			w.WriteHeader(code)
		})
		tr, done := tracer(t, "OTEL_EXPORTER_OTLP_ENDPOINT="+c.URL)
		poll(t.Context(), tr, at("http://h/"), ok())
		done()
		if requests, bodies := c.Requests(); asked.Load() != 1 || len(requests) != 2 || !bytes.Equal(bodies[0], bodies[1]) || len(c.Spans()) != 1 {
			t.Errorf("%d: %d requests, %d spans", code, len(requests), len(c.Spans()))
		}
		if s := tr.Stats(); s != (tracing.Stats{Sent: 1}) {
			t.Errorf("%d: %+v", code, s)
		}
	}
}

func TestARefusalIsFinal(t *testing.T) {
	t.Parallel()
	for _, code := range []int{301, 307, 400, 401, 404, 413, 500} {
		c := oteltest.Start(t)
		c.Answer(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", c.URL+"/elsewhere")
			w.WriteHeader(code)
		})
		tr, done := tracer(t, "OTEL_EXPORTER_OTLP_ENDPOINT="+c.URL)
		poll(t.Context(), tr, at("http://h/"), ok())
		log := done()
		if requests, _ := c.Requests(); len(requests) != 1 || tr.Stats() != (tracing.Stats{Failed: 1}) {
			t.Errorf("%d: %d requests, %+v", code, len(requests), tr.Stats())
		}
		if !strings.Contains(log, "status "+strconv.Itoa(code)) {
			t.Errorf("%d: the log is %s", code, log)
		}
	}
}

func TestABatchIsGivenUpWhenItsTimeIsOver(t *testing.T) {
	t.Parallel()
	c := oteltest.Start(t)
	c.Answer(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) })
	tr, done := tracer(t, "OTEL_EXPORTER_OTLP_ENDPOINT="+c.URL, "OTEL_EXPORTER_OTLP_TIMEOUT=1", "OTEL_BSP_SCHEDULE_DELAY=1")
	poll(t.Context(), tr, at("http://h/"), ok())
	eventually(t, "the span is lost", func() bool { return tr.Stats().Failed == 1 })
	if log := done(); !strings.Contains(log, "traces.dropped") {
		t.Errorf("the log is %s", log)
	}
}

func TestSpansThatTheCollectorRejectsAreLost(t *testing.T) {
	t.Parallel()
	c := oteltest.Start(t)
	c.Answer(func(w http.ResponseWriter, _ *http.Request) {
		partial := protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), 2)
		partial = protowire.AppendString(protowire.AppendTag(partial, 2, protowire.BytesType), "no")
		_, _ = w.Write(protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), partial))
	})
	tr, done := tracer(t, "OTEL_EXPORTER_OTLP_ENDPOINT="+c.URL)
	for range 5 {
		poll(t.Context(), tr, at("http://h/"), ok())
	}
	log := done()
	if s := tr.Stats(); s != (tracing.Stats{Sent: 3, Failed: 2}) || !strings.Contains(log, "rejected 2 spans") {
		t.Errorf("%+v, %s", s, log)
	}
	if requests, _ := c.Requests(); len(requests) != 1 {
		t.Errorf("%d requests", len(requests))
	}
}

func TestACollectorWithTLSIsVerifiedAndSeesACertificate(t *testing.T) {
	t.Parallel()
	ca := certtest.New(t)
	certFile, keyFile := ca.Pair(t, "127.0.0.1")
	clientCert, clientKey := ca.Pair(t, "leasehold")
	for _, trusts := range []bool{true, false} {
		c := oteltest.New(t)
		c.TLS = ca.Server(t, certFile, keyFile)
		c.Config.ErrorLog = stdlog.New(io.Discard, "", 0)
		c.StartTLS()
		file := ca.File
		if !trusts {
			file = certtest.New(t).File
		}
		tr, done := tracer(t, "OTEL_EXPORTER_OTLP_ENDPOINT="+c.URL, "OTEL_EXPORTER_OTLP_CERTIFICATE="+file,
			"OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE="+clientCert, "OTEL_EXPORTER_OTLP_CLIENT_KEY="+clientKey, "OTEL_EXPORTER_OTLP_TIMEOUT=1000", "OTEL_BSP_SCHEDULE_DELAY=1")
		poll(t.Context(), tr, at("http://h/"), ok())
		eventually(t, "the span is sent, or refused to be", func() bool { return len(c.Spans()) == 1 || !trusts })
		text := done()
		requests, _ := c.Requests()
		if trusts && requests[0].TLS.PeerCertificates[0].Subject.CommonName != "leasehold" {
			t.Errorf("the collector saw %v", requests[0].TLS.PeerCertificates)
		}
		if !trusts && (len(requests) > 0 || !strings.Contains(text, "certificate")) {
			t.Errorf("%d requests, %s", len(requests), text)
		}
	}
}

func BenchmarkPoll(b *testing.B) {
	for name, environ := range map[string][]string{
		"off":         nil,
		"not sampled": {"OTEL_TRACES_EXPORTER=otlp", "OTEL_TRACES_SAMPLER=always_off"},
		"full queue":  {"OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:1", "OTEL_BSP_MAX_QUEUE_SIZE=1", "OTEL_EXPORTER_OTLP_TIMEOUT=1000000"},
	} {
		b.Run(name, func(b *testing.B) {
			settings, _ := tracing.Read(environ)
			tr := tracing.New(b.Context(), tracing.Config{Settings: settings})
			p := at("http://api.example:8080/v1/status?page=2")
			b.ReportAllocs()
			for b.Loop() {
				_, span := tr.Start(b.Context(), p)
				span.End(ok())
				_ = span.TraceID()
			}
			b.StopTimer()
			ctx, cancel := context.WithCancel(b.Context())
			cancel()
			tr.Close(ctx)
		})
	}
}

// Off means off: not even an allocation is left.
func TestATracerThatIsNotThereCostsNothing(t *testing.T) {
	var tr *tracing.Tracer
	p, ctx := at("http://h/"), t.Context()
	if n := testing.AllocsPerRun(100, func() {
		_, span := tr.Start(ctx, p)
		span.End(ok())
		_ = span.TraceID()
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
