package httppoll_test

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/gleak"

	"leasehold/httppoll"
	"leasehold/session"
)

func TestHTTPPoll(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "httppoll")
}

// noLeaks ends each spec with the goroutines it began with.
func noLeaks() {
	GinkgoHelper()
	before := gleak.Goroutines()
	DeferCleanup(func() {
		http.DefaultTransport.(*http.Transport).CloseIdleConnections()
		Eventually(gleak.Goroutines, 5*time.Second).ShouldNot(gleak.HaveLeaked(before))
	})
}

func newClient(cfg httppoll.Config) *httppoll.Client {
	c := httppoll.New(cfg)
	DeferCleanup(c.Close)
	return c
}

func serve(h http.HandlerFunc) *httptest.Server {
	s := httptest.NewServer(h)
	DeferCleanup(s.Close)
	return s
}

// to asks for a poll of the URL with a deadline that no good answer comes near.
func to(url string) httppoll.Request {
	return httppoll.Request{
		Session:  session.Session{ID: "s1", Kind: session.HTTP, URL: url, Method: http.MethodGet, Timeout: 10 * time.Second},
		Instance: "node-1-abcdef01",
		Token:    42,
	}
}

func answering(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(text)) }
}
