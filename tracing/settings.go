package tracing

import (
	"crypto/tls"
	"net/http"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// Defaults of the OpenTelemetry specification.
const (
	defaultEndpoint = "http://localhost:4318"
	tracesPath      = "/v1/traces"
	defaultTimeout  = 10 * time.Second
)

// Settings are what the variables say. The zero value asks for no traces.
type Settings struct {
	endpoint string // empty: no traces
	headers  http.Header
	timeout  time.Duration
	gzip     bool
	tls      *tls.Config

	sampler   sdktrace.Sampler
	propagate bool
	resource  []attribute.KeyValue

	queue, batch int
	delay        time.Duration // until a batch that is not full is sent
	exportLimit  time.Duration
}

// Wanted reports whether traces are to be sent.
func (s Settings) Wanted() bool { return s.endpoint != "" }

// Read takes the settings from an environment as [os.Environ] has it. What can't be
// used is left out and told in the warnings, which hold no secrets.
func Read(environ []string) (Settings, []string) {
	r := reader{env: make(map[string]string)}
	for _, kv := range environ {
		if name, value, ok := strings.Cut(kv, "="); ok && strings.HasPrefix(name, "OTEL_") {
			r.env[name] = strings.TrimSpace(value)
		}
	}
	if !r.wanted() {
		return Settings{}, r.warnings
	}
	var s Settings
	ok := r.protocol() && r.target(&s) && r.trust(&s)
	if !ok {
		return Settings{}, r.warnings
	}
	r.request(&s)
	r.spans(&s)
	r.limits(&s)
	return s, r.warnings
}

// wanted reports whether the variables ask for traces: by an endpoint, or by naming the
// exporter, and do not forbid them.
func (r *reader) wanted() bool {
	if r.flag("OTEL_SDK_DISABLED") {
		return false
	}
	asked := r.env["OTEL_EXPORTER_OTLP_ENDPOINT"] != "" || r.env["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"] != ""
	const name = "OTEL_TRACES_EXPORTER"
	switch r.env[name] {
	case "":
		return asked
	case "otlp":
		return true
	case "none":
		return false
	default:
		r.off(name, "must be otlp or none")
		return false
	}
}

func (r *reader) protocol() bool {
	name, value := r.specific("PROTOCOL")
	if value == "" || value == "http/protobuf" {
		return true
	}
	r.off(name, "must be http/protobuf")
	return false
}

// request reads how a request to the collector is made.
func (r *reader) request(s *Settings) {
	s.headers = make(http.Header)
	name, value := r.specific("HEADERS")
	for _, p := range r.pairs(name, value, fitsHeader) {
		s.headers.Set(p.name, p.value)
	}
	name, _ = r.specific("TIMEOUT")
	s.timeout = r.milliseconds(name, defaultTimeout)
	switch name, value = r.specific("COMPRESSION"); value {
	case "", "none":
	case "gzip":
		s.gzip = true
	default:
		r.ignore(name, "must be gzip or none")
	}
}

// spans reads which spans are made, and what all of them say.
func (r *reader) spans(s *Settings) {
	s.sampler = r.sampler()
	const propagators = "OTEL_PROPAGATORS"
	s.propagate = r.env[propagators] == ""
	for one := range strings.SplitSeq(r.env[propagators], ",") {
		switch strings.TrimSpace(one) {
		case "tracecontext":
			s.propagate = true
		case "", "none", "baggage": // polls carry no baggage
		default:
			r.ignore(propagators, "of its values only tracecontext and none are known")
		}
	}
	const resource = "OTEL_RESOURCE_ATTRIBUTES"
	for _, p := range r.pairs(resource, r.env[resource], nil) {
		s.resource = append(s.resource, attribute.String(p.name, p.value))
	}
	if service := r.env["OTEL_SERVICE_NAME"]; service != "" {
		s.resource = append(s.resource, attribute.String("service.name", service))
	}
}

func (r *reader) limits(s *Settings) {
	s.queue = r.whole("OTEL_BSP_MAX_QUEUE_SIZE", sdktrace.DefaultMaxQueueSize)
	s.batch = r.whole("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", sdktrace.DefaultMaxExportBatchSize)
	s.batch = min(s.batch, s.queue)
	s.delay = r.milliseconds("OTEL_BSP_SCHEDULE_DELAY", sdktrace.DefaultScheduleDelay*time.Millisecond)
	s.exportLimit = r.milliseconds("OTEL_BSP_EXPORT_TIMEOUT", sdktrace.DefaultExportTimeout*time.Millisecond)
}
