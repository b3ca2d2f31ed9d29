package httppoll_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"leasehold/httppoll"
)

var _ = Describe("an error's text", func() {
	BeforeEach(noLeaks)

	It("holds no secret of the document, whatever fails", func(ctx SpecContext) {
		closed := httptest.NewServer(nil)
		closed.Close()
		cert := certificate(time.Now().Add(-time.Hour))
		bases := map[string]string{
			"refused":   closed.URL,
			"no name":   "http://no-such-host.invalid",
			"no port":   "http://127.0.0.1:port",
			"tls":       serveTLS(cert, answering("")).URL,
			"malformed": raw("HTTP/x s\r\n\r\n"),
			// Answers that repeat the request.
			"a status code":  raw("HTTP/1.1 /secretPath?token=secretQuery\r\n\r\n"),
			"a request line": raw("GET /secretPath?token=secretQuery HTTP/1.1\r\n\r\n"),
			"a length":       raw("HTTP/1.1 200 OK\r\nContent-Length: secretQuery\r\n\r\n"),
			"an encoding":    raw("HTTP/1.1 200 OK\r\nTransfer-Encoding: secretQuery\r\n\r\n"),
			"a header":       raw("HTTP/1.1 200 OK\r\nX Key secretHeader\r\n\r\n"),
			"a chunk":        raw("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nsecretQuery\r\n"),
			"closed":         raw(""),
			"cut":            raw("HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\nabc"),
			"hangs":          serve(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }).URL,
			"status":         serve(http.NotFound).URL,
			"elsewhere": serve(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Location", "http://secretUser:secretPass@other.example/secretPath?token=secretQuery")
				w.WriteHeader(http.StatusFound)
			}).URL,
			"large": serve(answering(strings.Repeat("x", 2000))).URL,
			"lacks": serve(answering("x")).URL,
		}
		client := newClient(httppoll.Config{MaxBody: 1000})
		for name, base := range bases {
			r := to(strings.Replace(base, "://", "://secretUser:secretPass@", 1) + "/secretPath?token=secretQuery")
			r.Session.Timeout = 300 * time.Millisecond
			r.Session.Headers = map[string]string{"X-Key": "secretHeader"}
			r.Session.Expect.BodyContains = "secretWant"
			out := client.Poll(ctx, r)
			Expect(out.OK).To(BeFalse(), name)
			Expect(out.Err.Error()).NotTo(ContainSubstring("secret"), name)

			r.Session.Headers = map[string]string{"X-Key": "secret\nHeader"}
			out = client.Poll(ctx, r)
			Expect(out.OK).To(BeFalse(), name)
			Expect(out.Err.Error()).NotTo(ContainSubstring("secret"), name)
		}
	})
})
