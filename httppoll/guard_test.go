package httppoll_test

import (
	"context"
	"crypto/tls"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"leasehold/httppoll"
)

// leased is a lease, and a target that counts requests.
type leased struct {
	ended atomic.Bool
	heard atomic.Int64
}

func (l *leased) request(url string) httppoll.Request {
	r := to(url)
	r.Holds = func() bool { return !l.ended.Load() }
	return r
}

func (l *leased) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	l.heard.Add(1)
	if r.URL.Path == "/moved" {
		l.ended.Store(true)
		http.Redirect(w, r, "/", http.StatusFound)
	}
}

var _ = Describe("a request whose lease has ended", func() {
	BeforeEach(noLeaks)
	cert := certificate(time.Now().Add(24 * time.Hour))

	late := func(o httppoll.Outcome) {
		GinkgoHelper()
		Expect(o.Class).To(Equal(httppoll.ClassCanceled))
		Expect(o.Err).To(MatchError(httppoll.ErrLate))
	}
	servers := map[string]func(h http.Handler) *httptest.Server{
		"HTTP/1.1": func(h http.Handler) *httptest.Server { return serve(h.ServeHTTP) },
		"HTTP/1.1 over TLS": func(h http.Handler) *httptest.Server {
			s := httptest.NewUnstartedServer(h)
			s.TLS = &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12}
			s.StartTLS()
			DeferCleanup(s.Close)
			return s
		},
		"HTTP/2": func(h http.Handler) *httptest.Server { return serveTLS(cert, h.ServeHTTP) },
	}
	for name, start := range servers {
		It("is not sent, neither over a new connection nor over a kept one: "+name, func(ctx SpecContext) {
			l := new(leased)
			s := start(l)
			c := newClient(httppoll.Config{RootCAs: pool(cert)})
			l.ended.Store(true)
			late(c.Poll(ctx, l.request(s.URL)))
			Expect(l.heard.Load()).To(BeZero())
			l.ended.Store(false)
			for n := range int64(3) {
				Expect(c.Poll(ctx, l.request(s.URL)).Err).NotTo(HaveOccurred())
				Expect(l.heard.Load()).To(Equal(n + 1))
			}
			l.ended.Store(true)
			late(c.Poll(ctx, l.request(s.URL)))
			Expect(l.heard.Load()).To(Equal(int64(3)))
			l.ended.Store(false)
			Expect(c.Poll(ctx, to(s.URL)).Err).NotTo(HaveOccurred(), "one that asks nobody")
		})
	}

	for _, name := range []string{"HTTP/1.1", "HTTP/1.1 over TLS"} {
		It("is not sent though the lease lived when it got its connection: "+name, func(ctx SpecContext) {
			l := new(leased)
			s := servers[name](l)
			c := newClient(httppoll.Config{RootCAs: pool(cert)})
			ends := httptrace.WithClientTrace(context.Context(ctx), &httptrace.ClientTrace{
				GotConn: func(httptrace.GotConnInfo) { l.ended.Store(true) }, // called after the client's own
			})
			late(c.Poll(ends, l.request(s.URL)))
			l.ended.Store(false)
			Expect(c.Poll(ctx, l.request(s.URL)).Err).NotTo(HaveOccurred())
			late(c.Poll(ends, l.request(s.URL)))
			Expect(l.heard.Load()).To(Equal(int64(1)))
		})
	}

	It("is not sent to where it was redirected", func(ctx SpecContext) {
		l := new(leased)
		s := serve(l.ServeHTTP)
		late(newClient(httppoll.Config{}).Poll(ctx, l.request(s.URL+"/moved")))
		Expect(l.heard.Load()).To(Equal(int64(1)))
	})
})
