package tracing

import (
	"cmp"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"golang.org/x/net/http/httpguts"
)

const (
	// shownBytes is what a warning shows of a value.
	shownBytes = 60
	// most bounds numbers: of spans in a queue, and of milliseconds, about 11 days.
	most = 1_000_000_000
)

// reader reads the variables and collects what is wrong with them.
type reader struct {
	env      map[string]string
	warnings []string
}

// specific returns the variable for traces of an OTLP setting, or the one for all
// signals where that is not set.
func (r *reader) specific(setting string) (name, value string) {
	traces, all := "OTEL_EXPORTER_OTLP_TRACES_"+setting, "OTEL_EXPORTER_OTLP_"+setting
	if value := r.env[traces]; value != "" {
		return traces, value
	}
	return all, r.env[all]
}

// ignore tells of a value that is not used. Call it only for variables that hold no
// secret.
func (r *reader) ignore(name, rule string) {
	r.warn(fmt.Sprintf("%s=%s is ignored: it %s", name, shown(r.env[name]), rule))
}

// off tells of a value without which no traces can be sent.
func (r *reader) off(name, rule string) {
	r.warn(fmt.Sprintf("%s=%s: it %s; no traces are sent", name, shown(r.env[name]), rule))
}

func (r *reader) warn(text string) { r.warnings = append(r.warnings, text) }

func shown(value string) string {
	if len(value) > shownBytes {
		value = value[:shownBytes] + "…"
	}
	return strconv.QuoteToASCII(value)
}

func (r *reader) flag(name string) bool {
	switch value := strings.ToLower(r.env[name]); value {
	case "true":
		return true
	case "", "false":
		return false
	default:
		r.ignore(name, "must be true or false")
		return false
	}
}

// whole reads a number above zero.
func (r *reader) whole(name string, otherwise int) int {
	if r.env[name] == "" {
		return otherwise
	}
	n, err := strconv.Atoi(r.env[name])
	if err != nil || n < 1 || n > most {
		r.ignore(name, fmt.Sprintf("must be a number from 1 to %d", most))
		return otherwise
	}
	return n
}

func (r *reader) milliseconds(name string, otherwise time.Duration) time.Duration {
	return time.Duration(r.whole(name, int(otherwise/time.Millisecond))) * time.Millisecond
}

// pair is one entry of a list of names and values.
type pair struct{ name, value string }

// pairs reads a list like name=value,name=value, whose values are percent-encoded. Its
// warnings show nothing of it: it may hold secrets.
func (r *reader) pairs(variable, list string, fits func(pair) bool) []pair {
	var all []pair
	for i, entry := range strings.Split(list, ",") {
		if entry = strings.TrimSpace(entry); entry == "" {
			continue
		}
		name, value, found := strings.Cut(entry, "=")
		plain, err := url.PathUnescape(strings.TrimSpace(value))
		p := pair{name: strings.TrimSpace(name), value: plain}
		if !found || err != nil || p.name == "" || fits != nil && !fits(p) {
			r.warn(fmt.Sprintf("%s: entry %d is ignored: it must be name=value, percent-encoded", variable, i+1))
			continue
		}
		all = append(all, p)
	}
	return all
}

func fitsHeader(p pair) bool {
	return httpguts.ValidHeaderFieldName(p.name) && httpguts.ValidHeaderFieldValue(p.value)
}

func (r *reader) sampler() sdktrace.Sampler {
	const name = "OTEL_TRACES_SAMPLER"
	value := cmp.Or(r.env[name], "parentbased_always_on")
	plain, parentBased := strings.CutPrefix(value, "parentbased_")
	var root sdktrace.Sampler
	switch plain {
	case "always_on":
		root = sdktrace.AlwaysSample()
	case "always_off":
		root = sdktrace.NeverSample()
	case "traceidratio":
		root = sdktrace.TraceIDRatioBased(r.ratio())
	default:
		r.ignore(name, "must be always_on, always_off or traceidratio, or one of these after parentbased_")
		root, parentBased = sdktrace.AlwaysSample(), true
	}
	if parentBased {
		return sdktrace.ParentBased(root)
	}
	return root
}

func (r *reader) ratio() float64 {
	const name = "OTEL_TRACES_SAMPLER_ARG"
	if r.env[name] == "" {
		return 1
	}
	ratio, err := strconv.ParseFloat(r.env[name], 64)
	if err != nil || !(ratio >= 0 && ratio <= 1) {
		r.ignore(name, "must be a number from 0 to 1")
		return 1
	}
	return ratio
}
