package httppoll

import (
	"bytes"
	"io"
	"net/url"
	"strings"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"
)

// The search over pieces agrees with the search over the whole.
func TestScanFindsWhatIsThere(t *testing.T) {
	c := New(Config{})
	rapid.Check(t, func(t *rapid.T) {
		// Two letters, so that there are many near misses.
		body := rapid.SliceOfN(rapid.SampledFrom([]byte("ab")), 0, 60).Draw(t, "body")
		want := string(rapid.SliceOfN(rapid.SampledFrom([]byte("ab")), 0, 8).Draw(t, "want"))
		var from io.Reader = bytes.NewReader(body)
		switch rapid.IntRange(0, 2).Draw(t, "reader") {
		case 1:
			from = iotest.OneByteReader(from)
		case 2:
			from = iotest.DataErrReader(iotest.HalfReader(from))
		}
		n, found, err := c.scan(from, want)
		if err != nil || n != int64(len(body)) || found != bytes.Contains(body, []byte(want)) {
			t.Errorf("%q in %q: %d, %v, %v", want, body, n, found, err)
		}
	})
}

// Whatever a target answers, the next request goes to the document's origin.
func FuzzFollowStaysAtTheOrigin(f *testing.F) {
	for _, location := range []string{
		"/x", "//other/x", "http://10.0.0.7:9090/y", "http://10.0.0.7/y", "https://10.0.0.7:9090/", "?q", "#f",
		"http://10.0.0.7:9090@other/", "file:///etc/passwd", `\\elsewhere\x`, "http:other", "http:///x", "HTTP://10.0.0.7:9090",
		"http://[::1]:9090/", "http://10.0.0.7:9090\t@other/", "//10.0.0.7:9090/../..//other", "javascript:x", "pAss:",
	} {
		f.Add(location, 302)
	}
	origin, err := url.Parse("http://user:pass@10.0.0.7:9090/a/b?q=1")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, location string, status int) {
		h := hop{url: origin.String(), method: "POST", body: true, user: origin.User}
		next, err := follow(h, origin, origin, status, location)
		if err != nil {
			if strings.Contains(err.Error(), "pass") && !strings.Contains(strings.ToLower(location), "pass") {
				t.Errorf("a secret in %q", err)
			}
			return
		}
		to, err := url.Parse(next.url)
		if err != nil {
			return // refused when the request is built
		}
		if to.Scheme != "http" || to.Host != "10.0.0.7:9090" {
			t.Errorf("%q leads to %q", location, next.url)
		}
		if next.body && status != 307 && status != 308 {
			t.Errorf("status %d keeps the body", status)
		}
	})
}
