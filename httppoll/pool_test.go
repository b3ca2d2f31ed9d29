package httppoll_test

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"leasehold/httppoll"
)

// counting is a server that counts the connections it was asked for.
func counting(h http.HandlerFunc) (*httptest.Server, *atomic.Int32) {
	conns := new(atomic.Int32)
	s := httptest.NewUnstartedServer(h)
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			conns.Add(1)
		}
	}
	s.Start()
	DeferCleanup(s.Close)
	return s, conns
}

var _ = Describe("the pool", func() {
	BeforeEach(noLeaks)

	DescribeTable("uses a connection again", func(ctx SpecContext, h http.HandlerFunc) {
		s, conns := counting(h)
		client := newClient(httppoll.Config{MaxBody: 100_000})
		for range 20 {
			client.Poll(ctx, to(s.URL))
		}
		Expect(conns.Load()).To(Equal(int32(1)))
	},
		Entry("after a good answer", answering("fine")),
		Entry("after a chunked one", func(w http.ResponseWriter, _ *http.Request) {
			for range 3 {
				_, _ = io.WriteString(w, "abc")
				w.(http.Flusher).Flush()
			}
		}),
		Entry("after a compressed one", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "gzip")
			_, _ = w.Write(zipped([]byte("abc")))
			w.(http.Flusher).Flush()
		}),
		Entry("after a failure with a body", func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusInternalServerError)
			_, _ = io.WriteString(w, strings.Repeat("x", 10_000))
		}),
		Entry("over redirects", func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/" {
				http.Redirect(w, r, "/x", http.StatusFound)
			}
		}),
	)

	It("keeps a connection for each of a thousand targets, with many polls at once", func(ctx SpecContext) {
		const targets, workers = 1000, 64
		urls, conns := manyTargets(targets)
		client := newClient(httppoll.Config{Concurrency: workers})
		round := func() int32 {
			var bad atomic.Int32
			var wg sync.WaitGroup
			work := make(chan string)
			for range workers {
				wg.Go(func() {
					for url := range work {
						if out := client.Poll(ctx, to(url)); !out.OK {
							bad.Add(1)
						}
					}
				})
			}
			for _, url := range urls {
				work <- url
			}
			close(work)
			wg.Wait()
			return bad.Load()
		}
		Expect(round()).To(BeZero())
		Expect(conns.Load()).To(Equal(int32(targets)))
		Expect(round()).To(BeZero())
		Expect(conns.Load()).To(Equal(int32(targets)), "the second round opens none")
	})

	It("keeps as many connections to one host as there are polls at once", func(ctx SpecContext) {
		const workers = 32
		var wait sync.WaitGroup
		s, conns := counting(func(http.ResponseWriter, *http.Request) {
			wait.Done()
			wait.Wait()
		})
		client := newClient(httppoll.Config{Concurrency: workers})
		for range 3 {
			wait.Add(workers)
			var polls sync.WaitGroup
			for range workers {
				polls.Go(func() { client.Poll(ctx, to(s.URL)) })
			}
			polls.Wait()
		}
		Expect(conns.Load()).To(Equal(int32(workers)))
	})

	It("speaks HTTP/2 where the target does, and resets the stream of a poll that ended", func(ctx SpecContext) {
		cert := certificate(time.Now().Add(24 * time.Hour))
		gone := make(chan struct{})
		s := serveTLS(cert, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/hang" {
				<-r.Context().Done()
				close(gone)
				return
			}
			_, _ = io.WriteString(w, r.Proto)
		})
		client := newClient(httppoll.Config{RootCAs: pool(cert)})
		r := to(s.URL)
		r.Session.Expect.BodyContains = "HTTP/2.0"
		Expect(client.Poll(ctx, r).Err).NotTo(HaveOccurred())
		h := to(s.URL + "/hang")
		h.Session.Timeout = 100 * time.Millisecond
		Expect(client.Poll(ctx, h).Class).To(Equal("timeout"))
		Eventually(gone, 3*time.Second).Should(BeClosed())
		Expect(client.Poll(ctx, r).Err).NotTo(HaveOccurred())
	})

	It("repeats a GET once, not at the same time, when the target closed the reused connection", func(ctx SpecContext) {
		var sends, inFlight, peak atomic.Int32
		s := serve(func(http.ResponseWriter, *http.Request) {
			peak.Store(max(peak.Load(), inFlight.Add(1)))
			defer inFlight.Add(-1)
			if sends.Add(1) == 2 {
				panic(http.ErrAbortHandler)
			}
		})
		client := newClient(httppoll.Config{})
		Expect(client.Poll(ctx, to(s.URL)).OK).To(BeTrue())
		out := client.Poll(ctx, to(s.URL))
		Expect(out.Err).NotTo(HaveOccurred())
		Expect(sends.Load()).To(Equal(int32(3)))
		Expect(peak.Load()).To(Equal(int32(1)))

		sends.Store(0)
		r := to(s.URL)
		r.Session.Method = http.MethodPost
		r.Session.Body = "x"
		Expect(client.Poll(ctx, r).OK).To(BeTrue())
		out = client.Poll(ctx, r)
		Expect(out.Class).To(Equal("http_error"), "a POST is not repeated")
		Expect(sends.Load()).To(Equal(int32(2)))
	})

	It("survives Close while polls are in flight", func(ctx SpecContext) {
		in, release := make(chan struct{}), make(chan struct{})
		s := serve(func(http.ResponseWriter, *http.Request) {
			close(in)
			<-release
		})
		client := httppoll.New(httppoll.Config{})
		done := make(chan httppoll.Outcome)
		go func() { done <- client.Poll(ctx, to(s.URL)) }()
		<-in
		client.Close()
		close(release)
		Expect((<-done).Err).NotTo(HaveOccurred())
	})
})

// manyTargets is one server on n ports.
func manyTargets(n int) ([]string, *atomic.Int32) {
	conns := new(atomic.Int32)
	s := &http.Server{
		Handler: answering("fine"),
		ConnState: func(_ net.Conn, state http.ConnState) {
			if state == http.StateNew {
				conns.Add(1)
			}
		},
	}
	DeferCleanup(s.Close)
	urls := make([]string, n)
	for i := range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		Expect(err).NotTo(HaveOccurred())
		go func() { _ = s.Serve(l) }()
		urls[i] = "http://" + l.Addr().String()
	}
	return urls, conns
}

func BenchmarkPoll(b *testing.B) {
	s := httptest.NewServer(answering(`{"ok":true}`))
	defer s.Close()
	client := httppoll.New(httppoll.Config{})
	defer client.Close()
	r := to(s.URL)
	r.Session.Expect.BodyContains = "true"
	r.Holds = func() bool { return true } // as a node's polls do
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if out := client.Poll(b.Context(), r); !out.OK {
				b.Error(out.Err)
			}
		}
	})
}

// The same requests with net/http alone, as the yardstick.
func BenchmarkNetHTTP(b *testing.B) {
	s := httptest.NewServer(answering(`{"ok":true}`))
	defer s.Close()
	client := &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 256}}
	defer client.CloseIdleConnections()
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			resp, err := client.Get(s.URL)
			if err != nil {
				b.Error(err)
				return
			}
			body, err := io.ReadAll(resp.Body)
			_ = resp.Body.Close()
			if err != nil || !strings.Contains(string(body), "true") {
				b.Error(err)
			}
		}
	})
}
