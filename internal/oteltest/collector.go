package oteltest

import (
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// Collector keeps the spans that it gets. Its methods may be called from any goroutine.
type Collector struct {
	*httptest.Server

	tb testing.TB

	mu       sync.Mutex
	answer   http.HandlerFunc
	requests []*http.Request
	bodies   [][]byte
	spans    []Span
}

// Span is one span with what its batch says of it. Attributes are strings, int64,
// float64 or bool.
type Span struct {
	*tracepb.Span

	Attributes, Resource map[string]any
	Scope, ScopeVersion  string
}

// New returns a collector that is not started, so that a test can give it TLS.
func New(tb testing.TB) *Collector {
	tb.Helper()
	c := &Collector{tb: tb}
	c.Server = httptest.NewUnstartedServer(http.HandlerFunc(c.serve))
	tb.Cleanup(func() {
		c.CloseClientConnections()
		c.Close()
	})
	return c
}

// Start returns a collector that takes everything.
func Start(tb testing.TB) *Collector {
	tb.Helper()
	c := New(tb)
	c.Start()
	return c
}

// Answer has requests answered by the handler from now on, and nothing kept of them but
// themselves; nil: as before.
func (c *Collector) Answer(h http.HandlerFunc) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.answer = h
}

// Spans returns what was taken so far.
func (c *Collector) Spans() []Span {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]Span{}, c.spans...)
}

// Requests returns all requests so far, whatever they were answered, and their bodies.
func (c *Collector) Requests() ([]*http.Request, [][]byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]*http.Request{}, c.requests...), append([][]byte{}, c.bodies...)
}

func (c *Collector) serve(w http.ResponseWriter, r *http.Request) {
	body, err := read(r)
	c.mu.Lock()
	c.requests, c.bodies = append(c.requests, r), append(c.bodies, body)
	answer := c.answer
	c.mu.Unlock()
	if answer != nil {
		answer(w, r)
		return
	}
	var data tracepb.TracesData
	if err == nil {
		err = proto.Unmarshal(body, &data)
	}
	if err != nil {
		c.tb.Errorf("the collector can't read a request: %v", err)
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	c.take(&data)
	w.Header().Set("Content-Type", "application/x-protobuf")
}

func read(r *http.Request) ([]byte, error) {
	if r.Header.Get("Content-Encoding") != "gzip" {
		return io.ReadAll(r.Body)
	}
	z, err := gzip.NewReader(r.Body)
	if err != nil {
		return nil, err
	}
	return io.ReadAll(z)
}

func (c *Collector) take(data *tracepb.TracesData) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, resource := range data.GetResourceSpans() {
		for _, scope := range resource.GetScopeSpans() {
			for _, span := range scope.GetSpans() {
				c.spans = append(c.spans, Span{
					Span: span, Attributes: plain(span.GetAttributes()), Resource: plain(resource.GetResource().GetAttributes()),
					Scope: scope.GetScope().GetName(), ScopeVersion: scope.GetScope().GetVersion(),
				})
			}
		}
	}
}

func plain(all []*commonpb.KeyValue) map[string]any {
	m := make(map[string]any)
	for _, kv := range all {
		switch v := kv.GetValue().GetValue().(type) {
		case *commonpb.AnyValue_StringValue:
			m[kv.GetKey()] = v.StringValue
		case *commonpb.AnyValue_IntValue:
			m[kv.GetKey()] = v.IntValue
		case *commonpb.AnyValue_DoubleValue:
			m[kv.GetKey()] = v.DoubleValue
		case *commonpb.AnyValue_BoolValue:
			m[kv.GetKey()] = v.BoolValue
		}
	}
	return m
}
