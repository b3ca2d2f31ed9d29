package membership

import (
	"errors"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"leasehold/actors/leaseholder"
	"leasehold/lease"
)

var errUnheard = errors.New("no answer from Redis")

// already answers a claim of s0 that found this node's own grant.
func (d *desk) already(token lease.Token, server string) orders {
	d.answer(lease.Outcome{Session: "s0", Granted: true, Already: true, Holder: self, Token: token, Server: server})
	return d.take()
}

// A release that had no answer may still be carried out, at any time: it would end the
// lease, with the mark of a poll in flight, under a leaseholder that trusts it.
var _ = Describe("a grant whose release had no answer", func() {
	// handsBack checks that the grant is handed back wherever a claim finds it, until a
	// release is answered.
	handsBack := func(d *desk, token lease.Token) {
		GinkgoHelper()
		for range 2 {
			d.sleep(time.Second)
			Expect(d.claims()).To(Equal(ids(1)))
			o := d.already(token, "a")
			Expect(o.spawns).To(BeEmpty())
			Expect(o.back).To(ConsistOf(lease.Release{Grant: lease.Grant{Session: "s0", Holder: self, Token: token}}))
			d.backWith(errUnheard)
		}
		d.sleep(time.Second)
		d.take()
		d.already(token, "a")
		d.back()
		Expect(d.claims()).To(Equal(ids(1)))
		d.grant("s0")
		Expect(d.take().spawns).To(HaveLen(1), "under the next token")
	}

	It("is never used again", func() {
		d := ready(nil, ids(1))
		token := d.grant("s0")
		d.take()
		d.ends("s0", leaseholder.Ended{Released: true, Reason: leaseholder.Rebalance, Err: errUnheard})
		handsBack(d, token)
	})

	It("is not either where its leaseholder failed", func() {
		d := ready(nil, ids(1))
		token := d.grant("s0")
		d.take()
		d.fails("s0")
		Expect(d.take().back).To(HaveLen(1))
		d.backWith(errUnheard)
		handsBack(d, token)
	})

	It("is remembered for as long as the release may be on its way", func() {
		d := ready(nil, ids(1))
		d.own("s0")
		d.ends("s0", leaseholder.Ended{Released: true, Reason: leaseholder.Rebalance, Err: errUnheard})
		d.answer(lease.Outcome{Session: "s0", Holder: external, Remaining: 3 * leaseholder.UnheardFor})
		d.scan(docs(ids(1)...)...)
		Expect(d.m.burnt).To(HaveLen(1))
		d.sleep(leaseholder.UnheardFor)
		d.scan(docs(ids(1)...)...)
		Expect(d.m.burnt).To(BeEmpty())
	})
})

var _ = Describe("a grant that was there already", func() {
	It("is used where no release was sent", func() {
		d := ready(nil, ids(1))
		token := d.grant("s0")
		d.take()
		d.ends("s0", leaseholder.Ended{Trusted: d.now})
		d.sleep(time.Second)
		Expect(d.claims()).To(Equal(ids(1)))
		Expect(d.already(token, "").spawns[0].cfg.HeldOff).To(BeZero(), "it lost the session itself")
	})

	It("may have been without a counter when a claim got it whose answer was lost: only a server's name tells", func() {
		for server, heldOff := range map[string]time.Duration{"": ttl, "a": 0} {
			d := ready(nil, ids(1))
			d.heldBy("s0", peer, 20*time.Second)
			d.freed("s0")
			d.take()
			d.answer(lease.Outcome{Session: "s0", Err: errUnheard})
			d.sleep(time.Second)
			Expect(d.claims()).To(Equal(ids(1)))
			Expect(d.already(9, server).spawns[0].cfg.HeldOff).To(Equal(heldOff), server)
		}
	})
})
