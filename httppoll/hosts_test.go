package httppoll_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"leasehold/httppoll"
)

var _ = Describe("Hosts", func() {
	// full asks for a place and does not wait.
	full := func(h *httppoll.Hosts, url string) bool {
		p, in := h.Enter(url, func() {})
		p.Leave()
		return !in
	}

	It("lets so many polls of one host be in flight, whatever its spelling, and none of others wait", func() {
		h := httppoll.NewHosts(2)
		first, in := h.Enter("http://a/1", nil)
		Expect(in).To(BeTrue())
		second, in := h.Enter("HTTP://A:80/2?x=1", nil)
		Expect(in).To(BeTrue())
		Expect(full(h, "http://user@a/3")).To(BeTrue())
		Expect(full(h, "http://a:8080/")).To(BeFalse())
		Expect(full(h, "https://a/")).To(BeFalse())
		Expect(full(h, "http://b/")).To(BeFalse())
		first.Leave()
		Expect(full(h, "http://a/")).To(BeFalse())
		second.Leave()
		Expect(httppoll.KnownHosts(h)).To(BeZero(), "a host that nobody polls is forgotten")
	})

	It("calls who waits when a poll ends, and forgets who has given up waiting", func() {
		h, called := httppoll.NewHosts(1), 0
		first, _ := h.Enter("http://[::1]:9/", nil)
		next, in := h.Enter("http://[::1]:9/", func() { called++ })
		Expect(in).To(BeFalse())
		Expect(called).To(BeZero())
		first.Leave()
		Expect(called).To(Equal(1))
		Expect(full(h, "http://[::1]:9/")).To(BeTrue())
		next.Leave()
		Expect(httppoll.KnownHosts(h)).To(BeZero())
	})

	It("lets pass what has no host", func() {
		h := httppoll.NewHosts(1)
		for range 2 {
			p, in := h.Enter("", nil)
			Expect(in).To(BeTrue())
			defer p.Leave()
		}
		Expect(httppoll.KnownHosts(h)).To(BeZero())
	})
})
