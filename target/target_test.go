package target_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"leasehold/lease"
	"leasehold/target"
)

var _ = Describe("a target", func() {
	It("records who polled what, with which token, and when", func(ctx SpecContext) {
		r := serve(target.Options{Keep: true})
		before, earliest := r.Now(), time.Now()
		Expect(r.poll(ctx, r.server.URL("s1"), "n1", "7")).To(Equal(200))
		Expect(r.poll(ctx, r.server.URL("s1")+"?status=503", "n2", "8")).To(Equal(503))
		after := r.Now()

		polls := r.Records()
		Expect(polls).To(HaveLen(2))
		Expect(polls[0].Session).To(Equal("s1"))
		Expect(polls[0].Instance).To(Equal("n1"))
		Expect(polls[0].Token).To(Equal(lease.Token(7)))
		Expect(polls[0].Status).To(Equal(200))
		Expect(polls[1].Instance).To(Equal("n2"))
		Expect(polls[1].Status).To(Equal(503))
		Expect(polls[0].Start).To(BeTemporally(">=", earliest))
		times := []time.Duration{before, polls[0].From, polls[0].To, polls[1].From, polls[1].To, after}
		for i := range times[1:] {
			Expect(times[i]).To(BeNumerically("<=", times[i+1]))
		}
		Expect(r.Stats()).To(And(HaveField("Polls", int64(2)), HaveField("Overlaps", int64(0)),
			HaveField("Sessions", 1), HaveField("Deepest", 1), HaveField("InFlight", 0), HaveField("Stale", int64(0))))
	})

	DescribeTable("takes any session ID", func(ctx SpecContext, id string) {
		r := serve(target.Options{Keep: true})
		Expect(r.poll(ctx, r.server.URL(id), "n1", "1")).To(Equal(200))
		Expect(r.Records()).To(HaveExactElements(HaveField("Session", id)))
	},
		Entry("a slash", "a/b"), Entry("an escaped slash", "a%2Fb"), Entry("dots", "../x"), Entry("slashes", "a//b/"),
		Entry("a colon and braces", "{x}:y"), Entry("a space and a question mark", "a b?c=d#e"), Entry("Greek", "ψ"),
		Entry("a dot", "."), Entry("two dots", ".."),
	)

	It("refuses what names no session and what it cannot play", func(ctx SpecContext) {
		r := serve(target.Options{Keep: true})
		base := "http://" + r.server.Addr()
		Expect(r.poll(ctx, base+"/p/", "n", "1")).To(Equal(400))
		Expect(r.poll(ctx, base+"/other", "n", "1")).To(Equal(404))
		Expect(r.Records()).To(BeEmpty())
		for _, query := range []string{"?delay=x", "?delay=-1", "?status=99", "?no=1", "?gzip=999999999"} {
			Expect(r.poll(ctx, r.server.URL("s")+query, "n", "1")).To(Equal(400), query)
		}
	})

	It("counts polls of one session that overlap, and not those of two", func(ctx SpecContext) {
		r := serve(target.Options{Keep: true})
		var polls sync.WaitGroup
		for _, id := range []string{"s1", "s1", "s2"} {
			polls.Go(func() {
				defer GinkgoRecover()
				r.poll(ctx, r.server.URL(id)+"?delay=300", "n1", "1")
			})
		}
		polls.Wait()
		Expect(r.Overlaps()).To(Equal(int64(1)))
		Expect(r.Stats().Deepest).To(Equal(2))
		for _, p := range r.Records() {
			Expect(p.Overlap).To(Equal(p.Session == "s1"))
			Expect(p.To - p.From).To(BeNumerically(">=", 300*time.Millisecond))
		}
	})

	It("counts an overlap of two that have not ended", func(ctx SpecContext) {
		r := serve(target.Options{})
		ctx2, end := context.WithCancel(ctx)
		var polls sync.WaitGroup
		for range 2 {
			polls.Go(func() {
				_, err := r.do(ctx2, r.server.URL("s1")+"?hang=1", "n1", "1")
				_ = err
			})
		}
		Eventually(r.Overlaps, patience).Should(Equal(int64(1)))
		Expect(r.Records()).To(HaveExactElements(HaveField("Live", true), HaveField("Live", true)))
		end()
		polls.Wait()
		Eventually(func() int { return r.Stats().InFlight }, patience).Should(BeZero())
		Expect(r.Overlaps()).To(Equal(int64(1)), "the same pair, counted once")
	})

	It("ends a poll when its client has gone, whatever the answer", func(ctx SpecContext) {
		r := serve(target.Options{Keep: true})
		for _, query := range []string{"hang=1", "delay=60000", "trickle=20", "trickle=1", "endless=1", "gzip=100000"} {
			ctx, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
			resp, err := r.do(ctx, r.server.URL("s1")+"?"+query, "n1", "1")
			if err == nil {
				_, err = io.Copy(io.Discard, resp.Body)
				_ = resp.Body.Close()
			}
			cancel()
			Expect(err).To(MatchError(context.DeadlineExceeded), query)
			Eventually(func() int { return r.Stats().InFlight }, patience).Should(BeZero(), query)
			polls := r.Records()
			Expect(polls[len(polls)-1].Gone).To(BeTrue(), query)
		}
	})

	It("counts polls with an older token than was seen", func(ctx SpecContext) {
		r := serve(target.Options{})
		for _, token := range []string{"5", "5", "6", "5", "none", "7"} {
			r.poll(ctx, r.server.URL("s1"), "n1", token)
		}
		r.poll(ctx, r.server.URL("s2"), "n1", "1")
		Expect(r.Stats().Stale).To(Equal(int64(2)))
	})

	It("changes a session's answer at run time", func(ctx SpecContext) {
		r := serve(target.Options{})
		url := r.server.URL("a/b")
		post := func(query string) int {
			resp, err := r.client.Post(strings.Replace(url, "/p/", "/set/", 1)+query, "", nil)
			Expect(err).NotTo(HaveOccurred())
			Expect(resp.Body.Close()).To(Succeed())
			return resp.StatusCode
		}
		Expect(post("?status=500")).To(Equal(204))
		Expect(r.poll(ctx, url, "n", "1")).To(Equal(500))
		Expect(r.poll(ctx, r.server.URL("other"), "n", "1")).To(Equal(200))
		Expect(post("?to=http://x/y")).To(Equal(204))
		Expect(r.poll(ctx, url+"?hang=1", "n", "1")).To(Equal(302), "what was set comes before the query")
		Expect(post("?delay=x")).To(Equal(400))
		Expect(post("")).To(Equal(204))
		Expect(r.poll(ctx, url, "n", "1")).To(Equal(200))
	})

	It("keeps no record unless asked, and logs each as a line", func(ctx SpecContext) {
		var log bytes.Buffer
		r := serve(target.Options{Log: &log})
		for range 3 {
			r.poll(ctx, r.server.URL("s1"), "n1", "9007199254740993")
		}
		Expect(r.Records()).To(BeEmpty())
		lines := strings.Split(strings.TrimSpace(log.String()), "\n")
		Expect(lines).To(HaveLen(3))
		var rec target.Record
		Expect(json.Unmarshal([]byte(lines[2]), &rec)).To(Succeed())
		Expect(rec.Token).To(Equal(lease.Token(9007199254740993)))
		Expect(rec.To).To(BeNumerically(">=", rec.From))
		Expect(rec.End).To(BeTemporally(">=", rec.Start))
	})

	It("goes on when the log takes nothing", func(ctx SpecContext) {
		r := serve(target.Options{Log: broken{}})
		Expect(r.poll(ctx, r.server.URL("s1"), "n1", "1")).To(Equal(200))
		Expect(r.Stats().Unlogged).To(Equal(int64(1)))
	})

	It("shows its counters", func(ctx SpecContext) {
		r := serve(target.Options{})
		r.poll(ctx, r.server.URL("s1"), "n1", "1")
		resp, err := r.do(ctx, "http://"+r.server.Addr()+"/stats", "", "")
		Expect(err).NotTo(HaveOccurred())
		defer func() { _ = resp.Body.Close() }()
		var s target.Stats
		Expect(json.NewDecoder(resp.Body).Decode(&s)).To(Succeed())
		Expect(s.Polls).To(Equal(int64(1)))
		Expect(s.PerSecond).To(BeNumerically(">", 0))
	})

	It("ends with its context, with polls in flight", func() {
		ctx, cancel := context.WithCancel(context.Background())
		t := target.New(target.Options{})
		s, err := target.Serve(ctx, "127.0.0.1:0", t)
		Expect(err).NotTo(HaveOccurred())
		done := make(chan error)
		go func() {
			resp, err := http.Get(s.URL("s1") + "?hang=1")
			if err == nil {
				_ = resp.Body.Close()
			}
			done <- err
		}()
		Eventually(func() int { return t.Stats().InFlight }, patience).Should(Equal(1))
		cancel()
		Eventually(done, patience).Should(Receive(HaveOccurred()))
		Expect(s.Close()).To(Succeed())
		_, err = target.Serve(context.Background(), "127.0.0.1:99999", t)
		Expect(err).To(MatchError(ContainSubstring("poll target")))
	})
})

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("full") }

func BenchmarkPoll(b *testing.B) {
	t := target.New(target.Options{})
	s, err := target.Serve(b.Context(), "127.0.0.1:0", t)
	if err != nil {
		b.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 100}}
	defer client.CloseIdleConnections()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			resp, err := client.Get(s.URL("s1"))
			if err != nil {
				b.Error(err)
				return
			}
			_, _ = io.Copy(io.Discard, resp.Body)
			_ = resp.Body.Close()
		}
	})
	b.StopTimer()
	if err := s.Close(); err != nil {
		b.Error(err)
	}
}
