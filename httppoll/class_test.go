package httppoll_test

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"leasehold/httppoll"
)

// raw answers each connection's first request with the text given, then closes.
func raw(text string) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(l.Close)
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer func() { _ = conn.Close() }()
				_, _ = http.ReadRequest(bufio.NewReader(conn))
				_, _ = io.WriteString(conn, text)
			}()
		}
	}()
	return "http://" + l.Addr().String()
}

func certificate(notAfter time.Time) tls.Certificate {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	Expect(err).NotTo(HaveOccurred())
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "target"},
		NotBefore: notAfter.Add(-48 * time.Hour), NotAfter: notAfter,
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	Expect(err).NotTo(HaveOccurred())
	leaf, err := x509.ParseCertificate(der)
	Expect(err).NotTo(HaveOccurred())
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}
}

func serveTLS(cert tls.Certificate, h http.HandlerFunc) *httptest.Server {
	s := httptest.NewUnstartedServer(h)
	s.EnableHTTP2 = true
	s.TLS = &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12}
	s.Config.ErrorLog = quiet()
	s.StartTLS()
	DeferCleanup(s.Close)
	return s
}

func pool(cert tls.Certificate) *x509.CertPool {
	p := x509.NewCertPool()
	p.AddCert(cert.Leaf)
	return p
}

var _ = Describe("a failed poll", func() {
	BeforeEach(noLeaks)

	poll := func(ctx context.Context, r httppoll.Request) httppoll.Outcome {
		GinkgoHelper()
		out := newClient(httppoll.Config{MaxBody: 1000}).Poll(ctx, r)
		Expect(out.OK).To(Equal(out.Err == nil))
		return out
	}

	It("is dns_error when the name is unknown", func(ctx SpecContext) {
		Expect(poll(ctx, to("http://no-such-host.invalid/")).Class).To(Equal("dns_error"))
	})

	It("is connect_error when nobody listens", func(ctx SpecContext) {
		s := httptest.NewServer(answering(""))
		s.Close()
		out := poll(ctx, to(s.URL))
		Expect(out.Class).To(Equal("connect_error"))
		Expect(out.Err).To(MatchError(ContainSubstring("connection refused")))
	})

	DescribeTable("is http_error for a status that is not expected", func(ctx SpecContext, status int, want []int, class string) {
		s := serve(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) })
		r := to(s.URL)
		r.Session.Expect.Status = want
		out := poll(ctx, r)
		Expect(out.Class).To(Equal(class))
		Expect(out.Status).To(Equal(status))
	},
		Entry("500", 500, nil, "http_error"),
		Entry("404", 404, []int{200}, "http_error"),
		Entry("200 where 204 is", 200, []int{204}, "http_error"),
		Entry("a redirect without a location", 302, nil, "http_error"),
		Entry("but not for 204", 204, nil, "success"),
		Entry("nor for an expected 404", 404, []int{200, 404}, "success"),
	)

	DescribeTable("is http_error for a broken answer", func(ctx SpecContext, text, says string) {
		out := poll(ctx, to(raw(text)))
		Expect(out.Class).To(Equal("http_error"))
		Expect(out.Err).To(MatchError(ContainSubstring(says)))
		Expect(out.Err.Error()).NotTo(ContainSubstring("s3cret"))
		Expect(out.Err.Error()).NotTo(ContainSubstring("\x1b"))
	},
		Entry("none at all", "", "closed the connection"),
		Entry("no HTTP", "SSH-2.0-\x1b[31mx\r\n\r\n", "malformed HTTP"),
		Entry("a header that is none", "HTTP/1.1 200 OK\r\nSet-Cookie s3cret\r\n\r\n", "header is malformed"),
		Entry("a body that ends early", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc", "broke off after 3 bytes"),
		Entry("gzip that is none", "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 12\r\n\r\nabcabcabcabc", "gzip"),
		Entry("a header without end", "HTTP/1.1 200 OK\r\nA: "+strings.Repeat("x", 1<<20), "header"),
	)

	It("is tls_error for an expired certificate of a trusted issuer", func(ctx SpecContext) {
		cert := certificate(time.Now().Add(-24 * time.Hour))
		s := serveTLS(cert, answering("secret"))
		out := newClient(httppoll.Config{RootCAs: pool(cert)}).Poll(ctx, to(s.URL))
		Expect(out.Class).To(Equal("tls_error"))
		Expect(out.Err).To(MatchError(ContainSubstring("expired")))
	})

	It("is tls_error for a self-signed certificate", func(ctx SpecContext) {
		cert := certificate(time.Now().Add(24 * time.Hour))
		s := serveTLS(cert, answering("fine"))
		Expect(poll(ctx, to(s.URL)).Class).To(Equal("tls_error"))
		// The same one is good when it is trusted, so it was the trust that failed.
		out := newClient(httppoll.Config{RootCAs: pool(cert)}).Poll(ctx, to(s.URL))
		Expect(out.Err).NotTo(HaveOccurred())
	})

	It("is tls_error when the target speaks no TLS, or hangs up in the handshake", func(ctx SpecContext) {
		https := func(url string) httppoll.Request { return to(strings.Replace(url, "http:", "https:", 1)) }
		Expect(poll(ctx, https(raw("HTTP/1.1 400 Bad Request\r\n\r\n"))).Class).To(Equal("tls_error"))
		Expect(poll(ctx, https(raw(""))).Class).To(Equal("tls_error"))
	})

	It("is assertion when the text is missing", func(ctx SpecContext) {
		r := to(serve(answering("all good")).URL)
		r.Session.Expect.BodyContains = "good"
		Expect(poll(ctx, r).Class).To(Equal("success"))
		r.Session.Expect.BodyContains = "bad"
		Expect(poll(ctx, r).Class).To(Equal("assertion"))
		r.Session.Method = http.MethodHead
		Expect(poll(ctx, r).Class).To(Equal("assertion"), "HEAD has no body")
	})

	It("is canceled, with the cause, when the lease ends", func(ctx SpecContext) {
		lost := errors.New("lease lost")
		leased, end := context.WithCancelCause(ctx)
		s := serve(func(_ http.ResponseWriter, r *http.Request) {
			end(lost)
			<-r.Context().Done()
		})
		out := poll(leased, to(s.URL))
		Expect(out.Class).To(Equal("canceled"))
		Expect(out.Err).To(MatchError(lost))
	})

	It("is canceled when the lease ends before the poll's own timeout", func(ctx SpecContext) {
		leased, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
		defer cancel()
		out := poll(leased, to(serve(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }).URL))
		Expect(out.Class).To(Equal("canceled"))
		Expect(out.Err).To(MatchError(context.DeadlineExceeded))
	})

	It("is canceled once the client is closed", func(ctx SpecContext) {
		c := httppoll.New(httppoll.Config{})
		s := serve(answering("x"))
		Expect(c.Poll(ctx, to(s.URL)).OK).To(BeTrue())
		c.Close()
		c.Close()
		out := c.Poll(ctx, to(s.URL))
		Expect(out.Class).To(Equal("canceled"))
		Expect(out.Err).To(MatchError(httppoll.ErrClosed))
	})

	It("never panics out", func() {
		out := httppoll.New(httppoll.Config{}).Poll(nil, to("http://127.0.0.1:9/")) //nolint:staticcheck // the fault on purpose
		Expect(out.Class).To(Equal("http_error"))
		Expect(out.Err).To(MatchError(ContainSubstring("panicked")))
	})
})

var _ = Describe("a poll whose target hangs", func() {
	BeforeEach(noLeaks)

	// Far above what a loaded machine needs, far below what a poll without a deadline
	// of its own would take.
	const soon = 3 * time.Second

	hanging := func(before string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			if before != "" {
				_, _ = io.WriteString(w, before)
				w.(http.Flusher).Flush()
			}
			<-r.Context().Done()
		}
	}
	trickling := func(w http.ResponseWriter, r *http.Request) {
		for r.Context().Err() == nil {
			if _, err := w.Write([]byte("x")); err != nil {
				return
			}
			w.(http.Flusher).Flush()
			time.Sleep(20 * time.Millisecond)
		}
	}
	DescribeTable("times out", func(ctx SpecContext, h http.HandlerFunc, says string) {
		ended := make(chan struct{})
		s := serve(func(w http.ResponseWriter, r *http.Request) {
			defer close(ended)
			h(w, r)
		})
		r := to(s.URL)
		r.Session.Timeout = 200 * time.Millisecond
		out := newClient(httppoll.Config{}).Poll(ctx, r)
		Expect(out.Class).To(Equal("timeout"))
		Expect(out.Err).To(MatchError(httppoll.ErrTimeout))
		Expect(out.Err).To(MatchError(ContainSubstring(says)))
		Expect(out.Duration).To(BeNumerically("~", r.Session.Timeout+soon/2, soon/2))
		Eventually(ended, soon).Should(BeClosed(), "the target sees its client go")
	},
		Entry("before the header", hanging(""), "no answer"),
		Entry("in the body", hanging("abc"), "after 3 bytes"),
		Entry("while bytes trickle in", http.HandlerFunc(trickling), "bytes of the answer"),
	)

	It("times out in the handshake", func(ctx SpecContext) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(l.Close)
		r := to("https://" + l.Addr().String())
		r.Session.Timeout = 200 * time.Millisecond
		Expect(newClient(httppoll.Config{}).Poll(ctx, r).Class).To(Equal("timeout"))
	})

	It("does not wait for the body of an answer that failed already", func(ctx SpecContext) {
		s := serve(func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusInternalServerError)
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		})
		out := newClient(httppoll.Config{}).Poll(ctx, to(s.URL))
		Expect(out.Class).To(Equal("http_error"))
		Expect(out.Duration).To(BeNumerically("<", 5*time.Second))
	})
})
