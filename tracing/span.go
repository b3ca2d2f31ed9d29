package tracing

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"leasehold/httppoll"
	"leasehold/session"
)

// Names of the product's own attributes.
const (
	attrSession  = attribute.Key("leasehold.session.id")
	attrInstance = attribute.Key("leasehold.instance.id")
	attrToken    = attribute.Key("leasehold.lease.token")
	attrAttempt  = attribute.Key("leasehold.poll.attempt")
	attrDelay    = attribute.Key("leasehold.poll.delay") // seconds
	attrResult   = attribute.Key("leasehold.poll.result")
)

// Poll is what a span is about.
type Poll struct {
	Request httppoll.Request
	// Attempt is the name of the attempt, as Redis knows it.
	Attempt int64
	// Delay is how late the poll began after the slot that it serves; below zero where
	// that is not known.
	Delay time.Duration
}

// Span is of one poll. Its zero value is none.
type Span struct{ span trace.Span }

// Start begins the span of a poll; the returned context carries it. It sends nothing.
func (t *Tracer) Start(ctx context.Context, p Poll) (context.Context, Span) {
	if t == nil {
		return ctx, Span{}
	}
	method, attributes := methodOf(p.Request.Session.Method)
	ctx, span := t.tracer.Start(ctx, method, trace.WithSpanKind(trace.SpanKindClient))
	if span.IsRecording() {
		span.SetAttributes(attributes...)
		span.SetAttributes(addresses(p.Request.Session.URL)...)
		span.SetAttributes(
			attrSession.String(p.Request.Session.ID), attrInstance.String(p.Request.Instance),
			attrToken.Int64(int64(p.Request.Token)), attrAttempt.Int64(p.Attempt))
		if p.Delay >= 0 {
			span.SetAttributes(attrDelay.Float64(p.Delay.Seconds()))
		}
	}
	return ctx, Span{span: span}
}

// End ends the span by the poll's outcome. It never waits.
func (s Span) End(o httppoll.Outcome) {
	if s.span == nil {
		return
	}
	if s.span.IsRecording() {
		s.span.SetAttributes(attrResult.String(o.Class))
		if o.Status != 0 {
			s.span.SetAttributes(semconv.HTTPResponseStatusCode(o.Status))
		}
		if !o.OK {
			s.span.SetAttributes(semconv.ErrorTypeKey.String(errorType(o)))
			s.span.SetStatus(codes.Error, describe(o.Err))
		}
	}
	s.span.End()
}

// TraceID returns the ID of the span's trace in hexadecimal digits; empty where it is
// not sent.
func (s Span) TraceID() string {
	if s.span == nil || !s.span.SpanContext().IsSampled() {
		return ""
	}
	return s.span.SpanContext().TraceID().String()
}

func describe(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// errorType is the status where that is the failure, else the class of the failure.
func errorType(o httppoll.Outcome) string {
	if o.Class == httppoll.ClassHTTP && o.Status >= http.StatusBadRequest {
		return strconv.Itoa(o.Status)
	}
	return o.Class
}

// methodOf returns the span's name and the attributes of a method: the conventions know
// some, and have the others counted as one.
func methodOf(method string) (name string, attributes []attribute.KeyValue) {
	switch method {
	case "":
		method = http.MethodGet
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete,
		http.MethodConnect, http.MethodOptions, http.MethodTrace, "QUERY":
	default:
		return "HTTP", []attribute.KeyValue{semconv.HTTPRequestMethodOther, semconv.HTTPRequestMethodOriginal(method)}
	}
	return method, []attribute.KeyValue{semconv.HTTPRequestMethodKey.String(method)}
}

// addresses are the attributes of a URL, without its secrets.
func addresses(raw string) []attribute.KeyValue {
	all := []attribute.KeyValue{semconv.URLFull(session.RedactURL(raw))}
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" {
		return all
	}
	all = append(all, semconv.ServerAddress(u.Hostname()))
	port, err := strconv.Atoi(u.Port())
	switch {
	case err == nil:
		all = append(all, semconv.ServerPort(port))
	case u.Scheme == "https":
		all = append(all, semconv.ServerPort(443))
	default:
		all = append(all, semconv.ServerPort(80))
	}
	return all
}
