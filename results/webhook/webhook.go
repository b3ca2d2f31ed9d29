package webhook

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/cenkalti/backoff/v5"
	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"leasehold/httppoll"
	"leasehold/results"
)

const (
	// lanes is how many requests are under way at once.
	lanes = 8
	// tryLimit bounds one request, giveUp all tries of one result.
	tryLimit = 10 * time.Second
	giveUp   = 2 * time.Minute
	// firstPause and longestPause are between two tries.
	firstPause   = 500 * time.Millisecond
	longestPause = 30 * time.Second
	// readLimit is what is read of an answer, so that its connection can be used again.
	readLimit = 64 << 10
)

// Config sets a Sink up.
type Config struct {
	URL string
	// Secret is whsec_ and the base64 of the key.
	Secret string
	// Version goes into the User-Agent.
	Version string
	// Transport sends the requests; nil: one of its own.
	Transport http.RoundTripper
}

// Sink is a [results.Sink]. Close it after its hub.
type Sink struct {
	url, agent string
	signer     *standardwebhooks.Webhook
	client     *http.Client
}

var _ results.Sink = (*Sink)(nil)

// New returns a sink that has connected to nothing yet.
func New(c Config) (*Sink, error) {
	signer, err := standardwebhooks.NewWebhook(c.Secret)
	if err != nil {
		return nil, errors.New("webhook: the secret is no base64") // the library's error quotes it
	}
	if c.Transport == nil {
		c.Transport = transport()
	}
	return &Sink{
		url: c.URL, agent: "leasehold/" + c.Version, signer: signer,
		client: &http.Client{
			Transport:     c.Transport,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}, nil
}

func transport() *http.Transport {
	return &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		ForceAttemptHTTP2:   true,
		MaxIdleConnsPerHost: lanes,
		IdleConnTimeout:     90 * time.Second,
	}
}

// Close closes the connections that are not in use.
func (s *Sink) Close() { s.client.CloseIdleConnections() }

// Name is what LEASEHOLD_RESULT_SINKS calls it.
func (*Sink) Name() string { return "webhook" }

// Lanes is how many requests are under way at once.
func (*Sink) Lanes() int { return lanes }

// Deliver sends the event until it is taken, refused for good, or ctx ends.
func (s *Sink) Deliver(ctx context.Context, m results.Message) error {
	pause := backoff.NewExponentialBackOff()
	pause.InitialInterval, pause.MaxInterval, pause.Multiplier = firstPause, longestPause, 2
	_, err := backoff.Retry(ctx, func() (struct{}, error) { return struct{}{}, s.try(ctx, m) },
		backoff.WithBackOff(pause), backoff.WithMaxElapsedTime(giveUp))
	return err
}

// try sends the event once. Its error says whether to try again.
func (s *Sink) try(ctx context.Context, m results.Message) error {
	ctx, cancel := context.WithTimeout(ctx, tryLimit)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url, bytes.NewReader(m.JSON))
	if err != nil {
		return backoff.Permanent(errors.New("the URL can't be used"))
	}
	now := time.Now()
	signature, err := s.signer.Sign(m.ID, now, m.JSON)
	if err != nil {
		return backoff.Permanent(errors.New("it can't be signed"))
	}
	req.Header.Set("Content-Type", results.ContentType)
	req.Header.Set("User-Agent", s.agent)
	req.Header.Set(standardwebhooks.HeaderWebhookID, m.ID)
	req.Header.Set(standardwebhooks.HeaderWebhookTimestamp, strconv.FormatInt(now.Unix(), 10))
	req.Header.Set(standardwebhooks.HeaderWebhookSignature, signature)

	resp, err := s.client.Do(req)
	if err != nil {
		return httppoll.Describe(err)
	}
	_, _ = io.CopyN(io.Discard, resp.Body, readLimit)
	_ = resp.Body.Close()
	return judge(resp)
}

// judge reads the receiver's mind.
func judge(resp *http.Response) error {
	code := resp.StatusCode
	if code >= 200 && code <= 299 {
		return nil
	}
	err := fmt.Errorf("status %d", code)
	switch {
	case code == http.StatusRequestTimeout, code == http.StatusTooEarly, code == http.StatusTooManyRequests, code >= 500:
		wait, bad := strconv.Atoi(resp.Header.Get("Retry-After"))
		if bad != nil || wait <= 0 {
			return err
		}
		return fmt.Errorf("%w: %w", err, backoff.RetryAfter(min(wait, int(longestPause/time.Second))))
	default:
		return backoff.Permanent(err)
	}
}
