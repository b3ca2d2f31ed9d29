package httppoll_test

import (
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

var _ = Describe("who traces a poll", func() {
	BeforeEach(noLeaks)

	It("hears of the handshake when it begins, and when it has ended", func(ctx SpecContext) {
		cert := certificate(time.Now().Add(24 * time.Hour))
		var begun, ended, early, late atomic.Bool
		s := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { late.Store(!ended.Load()) }))
		s.TLS = &tls.Config{
			Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12,
			GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
				early.Store(begun.Load() && !ended.Load())
				return nil, nil //nolint:nilnil // it wants the configuration that is there
			},
		}
		s.StartTLS()
		DeferCleanup(s.Close)
		traced := httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
			TLSHandshakeStart: func() { begun.Store(true) },
			TLSHandshakeDone: func(_ tls.ConnectionState, err error) {
				Expect(err).NotTo(HaveOccurred())
				ended.Store(true)
			},
		})
		Expect(newClient(httppoll.Config{RootCAs: pool(cert)}).Poll(traced, to(s.URL)).Err).NotTo(HaveOccurred())
		Expect(early.Load()).To(BeTrue(), "the handshake had begun, and not ended")
		Expect(late.Load()).To(BeFalse(), "the request came before the handshake had ended")
	})
})
