package tracing

import (
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"

	"leasehold/internal/certtest"
)

const endpoint = "OTEL_EXPORTER_OTLP_ENDPOINT=http://otel:4318"

func TestOnlyTheStandardVariablesAskForTraces(t *testing.T) {
	for environ, want := range map[string]string{
		"":                              "",
		"OTEL_SERVICE_NAME=pollers":     "",
		"OTEL_EXPORTER_OTLP_ENDPOINT=":  "",
		"OTEL_TRACES_SAMPLER=always_on": "",
		"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT=http://otel:4318":                             "",
		"OTEL_TRACES_EXPORTER=otlp":                                                        "http://localhost:4318/v1/traces",
		endpoint:                                                                           "http://otel:4318/v1/traces",
		"OTEL_EXPORTER_OTLP_ENDPOINT=https://otel/base/":                                   "https://otel/base/v1/traces",
		"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=http://otel:9/in":                              "http://otel:9/in",
		"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=http://otel:9":                                 "http://otel:9/",
		endpoint + " OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=http://other:9/in":                 "http://other:9/in",
		endpoint + " OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf":                            "http://otel:4318/v1/traces",
		endpoint + " OTEL_EXPORTER_OTLP_PROTOCOL=grpc":                                     "",
		endpoint + " OTEL_EXPORTER_OTLP_PROTOCOL=grpc " + traces("PROTOCOL=http/protobuf"): "http://otel:4318/v1/traces",
		endpoint + " OTEL_TRACES_EXPORTER=none":                                            "",
		endpoint + " OTEL_TRACES_EXPORTER=zipkin":                                          "",
		endpoint + " OTEL_SDK_DISABLED=true":                                               "",
		endpoint + " OTEL_SDK_DISABLED=TRUE":                                               "",
		endpoint + " OTEL_SDK_DISABLED=false":                                              "http://otel:4318/v1/traces",
		"OTEL_EXPORTER_OTLP_ENDPOINT=otel:4318":                                            "",
	} {
		s, warnings := Read(strings.Fields(environ))
		if s.endpoint != want || s.Wanted() != (want != "") {
			t.Errorf("%s: the endpoint is %q, want %q", environ, s.endpoint, want)
		}
		// Whoever asks for traces and gets none is told why, unless they forbade them.
		refused := strings.Contains(environ, "grpc") && want == "" || strings.Contains(environ, "zipkin") || strings.HasSuffix(environ, "=otel:4318")
		if (len(warnings) > 0) != refused {
			t.Errorf("%s: warnings %q", environ, warnings)
		}
		for _, w := range warnings {
			if !strings.HasSuffix(w, "no traces are sent") || !strings.HasPrefix(w, "OTEL_") {
				t.Errorf("%s: %q", environ, w)
			}
		}
	}
}

func traces(setting string) string { return "OTEL_EXPORTER_OTLP_TRACES_" + setting }

func TestWhatIsNotSetIsAsTheSpecificationSays(t *testing.T) {
	s, warnings := Read([]string{endpoint})
	if len(warnings) > 0 || s.timeout != 10*time.Second || s.gzip || len(s.headers) > 0 || !s.propagate || len(s.resource) > 0 ||
		s.queue != 2048 || s.batch != 512 || s.delay != 5*time.Second || s.exportLimit != 30*time.Second ||
		!strings.Contains(s.sampler.Description(), "root:AlwaysOnSampler") {
		t.Errorf("%+v, %q", s, warnings)
	}
}

func TestEverySettingIsRead(t *testing.T) {
	s, warnings := Read([]string{
		endpoint, "OTEL_EXPORTER_OTLP_TIMEOUT=1500", "OTEL_EXPORTER_OTLP_COMPRESSION=gzip",
		"OTEL_EXPORTER_OTLP_HEADERS= authorization=Bearer%20a%2Cb , x-scope=one,", "OTEL_PROPAGATORS=none",
		"OTEL_RESOURCE_ATTRIBUTES=service.name=first,deployment.environment.name=a%20b", "OTEL_SERVICE_NAME=second",
		"OTEL_BSP_MAX_QUEUE_SIZE=100", "OTEL_BSP_MAX_EXPORT_BATCH_SIZE=10", "OTEL_BSP_SCHEDULE_DELAY=250", "OTEL_BSP_EXPORT_TIMEOUT=3000",
		"OTEL_TRACES_SAMPLER=traceidratio", "OTEL_TRACES_SAMPLER_ARG=0.25",
	})
	want := http.Header{"Authorization": {"Bearer a,b"}, "X-Scope": {"one"}}
	if len(warnings) > 0 || s.timeout != 1500*time.Millisecond || !s.gzip || !reflect.DeepEqual(s.headers, want) || s.propagate ||
		s.queue != 100 || s.batch != 10 || s.delay != 250*time.Millisecond || s.exportLimit != 3*time.Second ||
		s.sampler.Description() != "TraceIDRatioBased{0.25}" {
		t.Errorf("%+v, %q", s, warnings)
	}
	attributes := []attribute.KeyValue{
		attribute.String("service.name", "first"), attribute.String("deployment.environment.name", "a b"), attribute.String("service.name", "second"),
	}
	if !slices.Equal(s.resource, attributes) {
		t.Errorf("the resource is %v", s.resource)
	}
}

func TestTheVariablesForTracesGoFirst(t *testing.T) {
	s, warnings := Read([]string{
		endpoint, "OTEL_EXPORTER_OTLP_TIMEOUT=1", traces("TIMEOUT=2000"), "OTEL_EXPORTER_OTLP_HEADERS=a=all", traces("HEADERS=b=traces"),
		"OTEL_EXPORTER_OTLP_COMPRESSION=gzip", traces("COMPRESSION=none"),
	})
	if len(warnings) > 0 || s.timeout != 2*time.Second || s.gzip || !reflect.DeepEqual(s.headers, http.Header{"B": {"traces"}}) {
		t.Errorf("%+v, %q", s, warnings)
	}
}

func TestSamplers(t *testing.T) {
	for value, want := range map[string]string{
		"always_on": "AlwaysOnSampler", "always_off": "AlwaysOffSampler", "traceidratio": "TraceIDRatioBased{1}",
		"parentbased_always_off": "ParentBased{root:AlwaysOffSampler", "parentbased_traceidratio": "ParentBased{root:TraceIDRatioBased{1}",
	} {
		s, warnings := Read([]string{endpoint, "OTEL_TRACES_SAMPLER=" + value})
		if got := s.sampler.Description(); len(warnings) > 0 || !strings.HasPrefix(got, want) {
			t.Errorf("%s is %s (%q)", value, got, warnings)
		}
	}
}

// A slip costs the setting, not the traces, and not the node.
func TestASlipIsNamedAndTheDefaultHolds(t *testing.T) {
	normal, _ := Read([]string{endpoint})
	for _, slip := range []string{
		"OTEL_SDK_DISABLED=maybe", "OTEL_EXPORTER_OTLP_TIMEOUT=10s", "OTEL_EXPORTER_OTLP_TIMEOUT=0", "OTEL_EXPORTER_OTLP_COMPRESSION=zstd",
		"OTEL_PROPAGATORS=tracecontext,b3", "OTEL_BSP_MAX_QUEUE_SIZE=-1", "OTEL_BSP_MAX_QUEUE_SIZE=99999999999999999999",
		"OTEL_BSP_MAX_EXPORT_BATCH_SIZE=x", "OTEL_BSP_SCHEDULE_DELAY=0", "OTEL_BSP_EXPORT_TIMEOUT=1.5", "OTEL_TRACES_SAMPLER=jaeger_remote",
		"OTEL_RESOURCE_ATTRIBUTES=novalue", "OTEL_RESOURCE_ATTRIBUTES=a=%zz", "OTEL_EXPORTER_OTLP_HEADERS==x",
		"OTEL_EXPORTER_OTLP_HEADERS=a b=x", "OTEL_EXPORTER_OTLP_HEADERS=a=x%0Ay",
	} {
		s, warnings := Read([]string{endpoint, slip})
		name, _, _ := strings.Cut(slip, "=")
		if len(warnings) != 1 || !strings.HasPrefix(warnings[0], name) || !strings.Contains(warnings[0], "ignored") {
			t.Errorf("%s: %q", slip, warnings)
		}
		s.tls = normal.tls
		if s.sampler.Description() != normal.sampler.Description() {
			t.Errorf("%s: the sampler is %s", slip, s.sampler.Description())
		}
		s.sampler = normal.sampler
		if !reflect.DeepEqual(s, normal) {
			t.Errorf("%s: %+v", slip, s)
		}
	}
	s, warnings := Read([]string{endpoint, "OTEL_TRACES_SAMPLER=traceidratio", "OTEL_TRACES_SAMPLER_ARG=1.5"})
	if len(warnings) != 1 || !strings.HasPrefix(warnings[0], "OTEL_TRACES_SAMPLER_ARG") || s.sampler.Description() != "TraceIDRatioBased{1}" {
		t.Errorf("%s, %q", s.sampler.Description(), warnings)
	}
	if s, _ := Read([]string{endpoint, "OTEL_BSP_MAX_QUEUE_SIZE=5"}); s.batch != 5 {
		t.Errorf("batches of %d from a queue of 5", s.batch)
	}
}

func TestNoWarningHoldsASecret(t *testing.T) {
	for _, environ := range []string{
		"OTEL_EXPORTER_OTLP_ENDPOINT=htp://me:S3CRET@otel?key=S3CRET",
		"OTEL_EXPORTER_OTLP_ENDPOINT=http://me:S3CRET%zz@otel",
		endpoint + " OTEL_EXPORTER_OTLP_HEADERS=S3CRET",
		endpoint + " OTEL_EXPORTER_OTLP_HEADERS=authorization=S3CRET%zz",
		endpoint + " OTEL_EXPORTER_OTLP_HEADERS=authorization=S3CRET%00",
		endpoint + " OTEL_RESOURCE_ATTRIBUTES=S3CRET",
	} {
		_, warnings := Read(strings.Fields(environ))
		if len(warnings) != 1 || strings.Contains(warnings[0], "S3CRET") {
			t.Errorf("%s: %q", environ, warnings)
		}
	}
	if s, _ := Read([]string{"OTEL_EXPORTER_OTLP_ENDPOINT=http://me:S3CRET@otel:4318/S3CRET?key=S3CRET"}); s.origin() != "http://otel:4318" {
		t.Errorf("the endpoint is shown as %s", s.origin())
	}
}

func TestFilesThatCanNotBeUsedAreNamed(t *testing.T) {
	cert, key := certtest.New(t).Pair(t, "otel")
	empty := filepath.Join(t.TempDir(), "empty")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ environ, name string }{
		{"OTEL_EXPORTER_OTLP_CERTIFICATE=/no/such", "OTEL_EXPORTER_OTLP_CERTIFICATE"},
		{traces("CERTIFICATE=" + empty), traces("CERTIFICATE")},
		{"OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE=" + cert, "OTEL_EXPORTER_OTLP_CLIENT_KEY"},
		{"OTEL_EXPORTER_OTLP_CLIENT_KEY=" + key, "OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE"},
		{"OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE=" + empty + " " + traces("CLIENT_KEY="+key), "OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE"},
		{"OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE=" + cert + " " + traces("CLIENT_KEY="+cert), traces("CLIENT_KEY")},
	} {
		s, warnings := Read(append(strings.Fields(c.environ), endpoint))
		if s.Wanted() || len(warnings) != 1 || !strings.HasPrefix(warnings[0], c.name+" ") {
			t.Errorf("%s: wanted %t, %q", c.environ, s.Wanted(), warnings)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add("http://otel:4318", "a=b,c=%20d", "traceidratio", "0.5")
	f.Add("http://me:pw@[::1]:x/%zz", "=,,;=%", "parentbased_", "NaN")
	f.Fuzz(func(t *testing.T, url, list, sampler, number string) {
		s, warnings := Read([]string{
			"OTEL_EXPORTER_OTLP_ENDPOINT=" + url, "OTEL_EXPORTER_OTLP_HEADERS=" + list, "OTEL_RESOURCE_ATTRIBUTES=" + list,
			"OTEL_TRACES_SAMPLER=" + sampler, "OTEL_TRACES_SAMPLER_ARG=" + number, "OTEL_BSP_MAX_QUEUE_SIZE=" + number,
		})
		if !s.Wanted() {
			return
		}
		if _, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.endpoint, http.NoBody); err != nil {
			t.Errorf("%q passes as an endpoint: %v", url, err)
		}
		if s.queue < 1 || s.batch < 1 || s.batch > s.queue || s.sampler == nil || s.timeout <= 0 {
			t.Errorf("%+v, %q", s, warnings)
		}
	})
}
