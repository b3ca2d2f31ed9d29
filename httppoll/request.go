package httppoll

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// What the fleet says about itself in each request.
const (
	HeaderInstance = "Leasehold-Instance"
	HeaderToken    = "Leasehold-Token"

	headerPrefix = "Leasehold-"
)

// request builds the request of one hop. Redirects stay within one origin, so each
// hop carries the document's headers and credentials.
func (c *Client) request(ctx context.Context, r Request, h hop) (*http.Request, error) {
	var body io.Reader
	if h.body && r.Session.Body != "" {
		body = strings.NewReader(r.Session.Body)
	}
	req, err := http.NewRequestWithContext(ctx, h.method, h.url, body)
	if err != nil {
		return nil, badRequest(err)
	}
	if s := req.URL.Scheme; s != "http" && s != "https" {
		return nil, fail(ClassHTTP, "the URL's scheme is not http or https")
	}
	if req.URL.Host == "" {
		return nil, fail(ClassHTTP, "the URL names no host")
	}
	c.setHeaders(req, r, h)
	return req, nil
}

func (c *Client) setHeaders(req *http.Request, r Request, h hop) {
	req.Header.Set("User-Agent", c.userAgent)
	for name, value := range r.Session.Headers {
		setHeader(req, name, value, h)
	}
	req.Header.Set(HeaderInstance, r.Instance)
	req.Header.Set(HeaderToken, strconv.FormatInt(int64(r.Token), 10))
	if c.cfg.Inject != nil {
		c.cfg.Inject(req.Context(), req.Header)
	}

	if req.Header.Get("Authorization") == "" && h.user != nil {
		password, _ := h.user.Password()
		req.SetBasicAuth(h.user.Username(), password)
	}
	// As net/http does it: no compression for HEAD, which has no body, and for
	// ranges, which would be of the compressed bytes.
	if req.Method != http.MethodHead && req.Header.Get("Accept-Encoding") == "" && req.Header.Get("Range") == "" {
		req.Header.Set("Accept-Encoding", "gzip")
	}
}

func setHeader(req *http.Request, name, value string, h hop) {
	name = http.CanonicalHeaderKey(name)
	switch {
	case strings.HasPrefix(name, headerPrefix):
	case name == "Host":
		req.Host = value
	case !h.body && strings.HasPrefix(name, "Content-"):
		// It describes the body that a redirect made us drop.
	default:
		req.Header.Set(name, value)
	}
}

// badRequest replaces what url.Parse says: it quotes the URL, and what it takes for a
// port may be half a password.
func badRequest(err error) error {
	if _, ok := errors.AsType[*url.Error](err); ok {
		return fail(ClassHTTP, "the URL cannot be parsed")
	}
	return fail(ClassHTTP, "%s", clip(err.Error()))
}
