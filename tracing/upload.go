package tracing

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strconv"
	"time"

	"github.com/cenkalti/backoff/v5"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"

	"leasehold/httppoll"
)

const (
	// firstPause and longestPause are between two tries.
	firstPause   = 500 * time.Millisecond
	longestPause = 5 * time.Second
	// readLimit is what is read of an answer.
	readLimit = 64 << 10
	// idleLimit is how long a connection waits for the next batch.
	idleLimit = 90 * time.Second
)

// errLate is what a batch is given up with.
var errLate = errors.New("no success in time")

// rejected are spans that the collector did not want.
type rejected uint64

func (n rejected) Error() string { return fmt.Sprintf("the collector rejected %d spans", uint64(n)) }

// uploader posts spans to the collector. It is the SDK's client for a protocol; its
// calls follow one another.
type uploader struct {
	set    Settings
	agent  string
	client *http.Client

	ctx context.Context //nolint:containedctx // ends requests under way when the tracer is closed
	end context.CancelFunc
}

var _ otlptrace.Client = (*uploader)(nil)

func newUploader(ctx context.Context, s Settings, agent string) *uploader {
	ctx, end := context.WithCancel(context.WithoutCancel(ctx))
	return &uploader{
		set: s, agent: agent, ctx: ctx, end: end,
		client: &http.Client{
			Transport: &http.Transport{
				Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true, TLSClientConfig: s.tls, IdleConnTimeout: idleLimit,
			},
			// The headers are for one receiver.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}
}

// Start implements [otlptrace.Client]. It connects to nothing.
func (*uploader) Start(context.Context) error { return nil }

// Stop implements [otlptrace.Client].
func (u *uploader) Stop(context.Context) error {
	u.end()
	u.client.CloseIdleConnections()
	return nil
}

// UploadTraces posts one batch until it is taken, refused for good, or its time is over.
func (u *uploader) UploadTraces(ctx context.Context, spans []*tracepb.ResourceSpans) error {
	// As it is written, this is the message of the collector's service too, whose own
	// type would link gRPC.
	body, err := proto.Marshal(&tracepb.TracesData{ResourceSpans: spans})
	if err != nil {
		return errors.New("the spans can't be encoded")
	}
	if u.set.gzip {
		body = zipped(body)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, u.set.timeout, errLate)
	defer cancel()
	defer context.AfterFunc(u.ctx, cancel)()

	pause := backoff.NewExponentialBackOff()
	pause.InitialInterval, pause.MaxInterval, pause.Multiplier = firstPause, longestPause, 2
	var last error
	_, err = backoff.Retry(ctx, func() (struct{}, error) {
		last = u.try(ctx, body)
		return struct{}{}, last
	}, backoff.WithBackOff(pause), backoff.WithMaxElapsedTime(u.set.timeout))
	if errors.Is(err, errLate) && last != nil {
		return fmt.Errorf("%w: %w", err, last)
	}
	return err
}

// try posts the batch once. Its error says whether to try again, and holds no URL.
func (u *uploader) try(ctx context.Context, body []byte) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, u.set.endpoint, bytes.NewReader(body))
	if err != nil {
		return backoff.Permanent(errors.New("the endpoint can't be used"))
	}
	maps.Copy(req.Header, u.set.headers)
	req.Header.Set("User-Agent", u.agent)
	req.Header.Set("Content-Type", "application/x-protobuf")
	if u.set.gzip {
		req.Header.Set("Content-Encoding", "gzip")
	}
	resp, err := u.client.Do(req)
	if err != nil {
		return httppoll.Describe(err)
	}
	answer, _ := io.ReadAll(io.LimitReader(resp.Body, readLimit)) // what can't be read rejects nothing
	_ = resp.Body.Close()
	return judge(resp, answer)
}

// judge reads the collector's mind.
func judge(resp *http.Response, answer []byte) error {
	code := resp.StatusCode
	if code >= 200 && code <= 299 {
		if n := rejections(answer); n > 0 {
			return backoff.Permanent(rejected(n))
		}
		return nil
	}
	err := fmt.Errorf("status %d", code)
	switch code {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		wait, bad := strconv.Atoi(resp.Header.Get("Retry-After"))
		if bad != nil || wait <= 0 {
			return err
		}
		return fmt.Errorf("%w: %w", err, backoff.RetryAfter(min(wait, most)))
	default:
		return backoff.Permanent(err)
	}
}

// rejections reads how many spans of a batch the collector did not want:
// ExportTraceServiceResponse.partial_success.rejected_spans, each the first field.
func rejections(answer []byte) uint64 {
	partial, _ := first(answer, protowire.BytesType)
	_, n := first(partial, protowire.VarintType)
	return n
}

// first returns the last field with number 1 of that type.
func first(message []byte, want protowire.Type) (text []byte, number uint64) {
	for len(message) > 0 {
		field, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			return text, number
		}
		message = message[n:]
		if n = protowire.ConsumeFieldValue(field, kind, message); n < 0 {
			return text, number
		}
		if field == 1 && kind == want {
			text, _ = protowire.ConsumeBytes(message)
			number, _ = protowire.ConsumeVarint(message)
		}
		message = message[n:]
	}
	return text, number
}

func zipped(body []byte) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write(body) // a buffer takes all
	_ = w.Close()
	return b.Bytes()
}
