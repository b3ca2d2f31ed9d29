package tracing

import (
	"context"
	"net/http"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"leasehold/eventlog"
)

// scope is what the spans say they were made by, and the service's name unless the
// settings have another.
const scope = "leasehold"

// Config says who traces.
type Config struct {
	Settings Settings
	// Instance and Version are those of the node.
	Instance, Version string
	Log               *eventlog.Log
}

// Tracer makes spans and sends them. Its methods may be called from any goroutine;
// those of a nil Tracer do nothing.
type Tracer struct {
	provider  *sdktrace.TracerProvider
	tracer    trace.Tracer
	queue     *queue
	upload    *uploader
	propagate bool
}

// New returns a tracer, nil where the settings want none. It connects to nothing before
// the first span has ended.
func New(ctx context.Context, c Config) *Tracer {
	s := c.Settings
	if !s.Wanted() {
		return nil
	}
	up := newUploader(ctx, s, "leasehold/"+c.Version)
	q := &queue{room: int64(s.queue)}
	out := &outlet{SpanExporter: otlptrace.NewUnstarted(up), queue: q, log: c.Log}
	q.SpanProcessor = sdktrace.NewBatchSpanProcessor(out,
		sdktrace.WithMaxQueueSize(s.queue), sdktrace.WithMaxExportBatchSize(s.batch),
		sdktrace.WithBatchTimeout(s.delay), sdktrace.WithExportTimeout(s.exportLimit))
	// The SDK prints what it finds wrong with variables, some of which it reads too. All
	// that is of interest here was told by Read, without values that may be secret.
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(error) {}))
	provider := sdktrace.NewTracerProvider(
		sdktrace.WithSpanProcessor(q), sdktrace.WithSampler(s.sampler), sdktrace.WithResource(c.resource(ctx)))
	c.Log.Emit(eventlog.TracesStarted{Endpoint: s.origin(), Sampler: s.sampler.Description()})
	return &Tracer{
		provider: provider, queue: q, upload: up, propagate: s.propagate,
		tracer: provider.Tracer(scope, trace.WithInstrumentationVersion(c.Version), trace.WithSchemaURL(semconv.SchemaURL)),
	}
}

// resource is what all spans of the node have in common; the later of equal names count.
func (c Config) resource(ctx context.Context) *resource.Resource {
	own := append([]attribute.KeyValue{
		semconv.ServiceName(scope), semconv.ServiceVersion(c.Version), semconv.ServiceInstanceID(c.Instance),
	}, c.Settings.resource...)
	r, _ := resource.New(ctx, resource.WithTelemetrySDK(), resource.WithAttributes(own...), resource.WithSchemaURL(semconv.SchemaURL))
	return r // also with an error, which is about schemas that differ
}

// Injector returns what puts a poll's span into its request as traceparent; nil where
// none does.
func (t *Tracer) Injector() func(context.Context, http.Header) {
	if t == nil || !t.propagate {
		return nil
	}
	return func(ctx context.Context, h http.Header) {
		propagation.TraceContext{}.Inject(ctx, propagation.HeaderCarrier(h))
	}
}

// Stats returns the counts.
func (t *Tracer) Stats() Stats {
	if t == nil {
		return Stats{}
	}
	return t.queue.stats()
}

// Close sends what is queued, and drops what is not sent when ctx ends. Spans that end
// later are dropped.
func (t *Tracer) Close(ctx context.Context) {
	if t == nil {
		return
	}
	t.queue.closed.Store(true)
	// Every batch fails at once when the uploads have ended, so that all are counted.
	stop := context.AfterFunc(ctx, t.upload.end)
	defer stop()
	_ = t.provider.Shutdown(context.WithoutCancel(ctx)) // its errors are those of Close's own parts, which have none
	_ = t.upload.Stop(ctx)
}
