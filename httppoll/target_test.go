package httppoll_test

import (
	"context"
	"math/rand/v2"
	"net"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"leasehold/httppoll"
	"leasehold/lease"
	"leasehold/target"
	"leasehold/test/fleet/check"
)

var _ = Describe("polls of one session, one after the other", func() {
	BeforeEach(noLeaks)

	It("never overlap at the target, though most are ended by their lease at any moment", func(ctx SpecContext) {
		witness := target.New(target.Options{Keep: true})
		server, err := target.Serve(ctx, "127.0.0.1:0", witness)
		Expect(err).NotTo(HaveOccurred())
		DeferCleanup(server.Close)
		// Two nodes take turns, each with connections of its own.
		nodes := []*httppoll.Client{newClient(httppoll.Config{}), newClient(httppoll.Config{})}
		names := []string{"n0", "n1"}
		behaviors := []string{"", "?delay=1", "?trickle=2", "?hang=1"}
		const polls = 100
		// A handover takes a release, a claim and a begin. What a request that was just
		// given up still does at the target within that time is out of our hands.
		const handover = 25 * time.Millisecond
		canceled := 0
		for i := range polls {
			r := to(server.URL("s1") + behaviors[rand.IntN(len(behaviors))])
			r.Instance, r.Token = names[i%2], lease.Token(i+1)
			leased, end := context.WithTimeout(ctx, time.Duration(rand.IntN(4000))*time.Microsecond)
			if nodes[i%2].Poll(leased, r).Class == httppoll.ClassCanceled {
				canceled++
			}
			end()
			time.Sleep(handover)
		}
		Expect(canceled).To(BeNumerically(">", polls/10))
		Eventually(func() int { return witness.Stats().InFlight }, 5*time.Second).Should(BeZero())
		h := check.History{Polls: witness.Records()}
		// A poll whose lease ended before it was sent is none for the target.
		Expect(check.All(check.Overlaps(h, polls/4), check.Tokens(h, polls/4))).To(Succeed())
		Expect(witness.Overlaps()).To(BeZero())
	})
})

var _ = Describe("a dead connection of HTTP/2", func() {
	BeforeEach(noLeaks)

	It("is given up, so that polls go on over a new one", func(ctx SpecContext) {
		cert := certificate(time.Now().Add(24 * time.Hour))
		s := serveTLS(cert, answering("fine"))
		relay := newRelay(s.Listener.Addr().String())
		client := newClient(httppoll.Config{RootCAs: pool(cert)})
		client.PingEvery(100 * time.Millisecond)
		r := to("https://" + relay.addr)
		r.Session.Timeout = 200 * time.Millisecond
		Eventually(func() error { return client.Poll(ctx, r).Err }, 5*time.Second).Should(Succeed())
		relay.freeze.Store(relay.conns.Load())
		Expect(client.Poll(ctx, r).OK).To(BeFalse())
		Eventually(func() error { return client.Poll(ctx, r).Err }, 10*time.Second).Should(Succeed())
	})
})

// relay passes bytes on, except for those of its first connections once they are frozen:
// these vanish, as behind a router that forgot them.
type relay struct {
	addr          string
	conns, freeze atomic.Int32
}

func newRelay(backend string) *relay {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(l.Close)
	r := &relay{addr: l.Addr().String()}
	go func() {
		for {
			near, err := l.Accept()
			if err != nil {
				return
			}
			far, err := net.Dial("tcp", backend)
			if err != nil {
				_ = near.Close()
				continue
			}
			n := r.conns.Add(1)
			go r.pass(near, far, n)
			go r.pass(far, near, n)
		}
	}()
	return r
}

func (r *relay) pass(to, from net.Conn, n int32) {
	defer func() { _ = to.Close() }()
	buf := make([]byte, 32<<10)
	for {
		k, err := from.Read(buf)
		if err != nil {
			return
		}
		if n > r.freeze.Load() {
			_, _ = to.Write(buf[:k])
		}
	}
}
