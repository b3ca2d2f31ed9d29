package httppoll_test

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"leasehold/httppoll"
)

var _ = Describe("Hosts", func() {
	// full asks for a place and does not wait long.
	full := func(h *httppoll.Hosts, url string) bool {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
		defer cancel()
		release, err := h.Acquire(ctx, url)
		if err == nil {
			release()
		}
		return err != nil
	}

	It("lets so many polls of one host be in flight, whatever its spelling, and none of others wait", func() {
		h := httppoll.NewHosts(2)
		first, err := h.Acquire(context.Background(), "http://a/1")
		Expect(err).NotTo(HaveOccurred())
		second, err := h.Acquire(context.Background(), "HTTP://A:80/2?x=1")
		Expect(err).NotTo(HaveOccurred())
		Expect(full(h, "http://user@a/3")).To(BeTrue())
		Expect(full(h, "http://a:8080/")).To(BeFalse())
		Expect(full(h, "https://a/")).To(BeFalse())
		Expect(full(h, "http://b/")).To(BeFalse())
		first()
		Expect(full(h, "http://a/")).To(BeFalse())
		second()
		Expect(httppoll.KnownHosts(h)).To(BeZero(), "a host that nobody polls is forgotten")
	})

	It("wakes who waits when a poll ends, and forgets who has given up waiting", func() {
		h := httppoll.NewHosts(1)
		release, err := h.Acquire(context.Background(), "http://[::1]:9/")
		Expect(err).NotTo(HaveOccurred())
		got := make(chan func())
		go func() {
			defer GinkgoRecover()
			next, err := h.Acquire(context.Background(), "http://[::1]:9/")
			Expect(err).NotTo(HaveOccurred())
			got <- next
		}()
		Consistently(got, "50ms").ShouldNot(Receive())
		release()
		var next func()
		Eventually(got).Should(Receive(&next))
		Expect(full(h, "http://[::1]:9/")).To(BeTrue())
		next()
		Expect(httppoll.KnownHosts(h)).To(BeZero())
	})

	It("lets pass what has no host", func() {
		h := httppoll.NewHosts(1)
		for range 2 {
			_, err := h.Acquire(context.Background(), "")
			Expect(err).NotTo(HaveOccurred())
		}
		Expect(httppoll.KnownHosts(h)).To(BeZero())
	})
})
