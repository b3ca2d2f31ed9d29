package httppoll

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"time"

	"leasehold/session"
)

// What is read of an answer that no longer matters, so that its connection can be
// used again.
const (
	drainBytes = 64 << 10
	drainTime  = 250 * time.Millisecond
)

// answer is what is known of the last response of a poll.
type answer struct {
	status int
	bytes  int64
	body   []byte
}

// ask sends the session's request, follows redirects and judges the answer.
func (c *Client) ask(ctx context.Context, r Request) (answer, error) {
	h := hop{url: r.Session.URL, method: r.Session.Method, body: true}
	var a answer
	var origin *url.URL
	for range MaxRedirects + 1 {
		req, err := c.request(ctx, r, h)
		if err != nil {
			return a, err
		}
		if origin == nil {
			origin = req.URL
			if origin.User != nil {
				h.user = origin.User
				c.setHeaders(req, r, h)
			}
		}
		resp, err := c.transport.RoundTrip(req)
		if err != nil {
			return answer{}, err
		}
		location := resp.Header.Get("Location")
		a.status = resp.StatusCode
		if !redirects(a.status, location, r.Session.Expect.Status) {
			kept := &head{room: r.Session.KeepBody}
			a.bytes, err = c.judge(resp, req.Method, r.Session.Expect, kept)
			a.body = kept.body()
			return a, err
		}
		drain(resp, &head{})
		if h, err = follow(h, origin, req.URL, a.status, location); err != nil {
			return a, err
		}
	}
	return a, fail(ClassHTTP, "more than %d redirects", MaxRedirects)
}

// judge reads the answer, keeps its head and compares it with what the document
// expects. It closes the body.
func (c *Client) judge(resp *http.Response, method string, want session.Expect, kept *head) (int64, error) {
	if !expected(resp.StatusCode, want.Status) {
		return drain(resp, kept), fail(ClassHTTP, "status %d", resp.StatusCode)
	}
	defer func() { _ = resp.Body.Close() }()
	if method == http.MethodHead {
		return 0, missing(want.BodyContains == "")
	}
	n, found, err := c.read(resp, want.BodyContains, kept)
	if err != nil {
		return n, err
	}
	return n, missing(found)
}

func missing(found bool) error {
	if found {
		return nil
	}
	return fail(ClassAssertion, "the answer lacks what the document expects")
}

func expected(status int, want []int) bool {
	if len(want) == 0 {
		return status >= 200 && status <= 299
	}
	return slices.Contains(want, status)
}

// drain reads a little of a body, for a short time, and closes it.
func drain(resp *http.Response, kept *head) int64 {
	// Closing is allowed while another goroutine reads, and ends its reading.
	stop := time.AfterFunc(drainTime, func() { _ = resp.Body.Close() })
	defer stop.Stop()
	n := int64(0)
	if body, err := plain(resp.Body, isZipped(resp), drainBytes); err == nil {
		n, err = io.CopyN(kept, body, drainBytes)
		kept.cut = kept.cut || !errors.Is(err, io.EOF)
	}
	_ = resp.Body.Close()
	return n
}
