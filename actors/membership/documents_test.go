package membership

import (
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"leasehold/actors/leaseholder"
	"leasehold/eventlog"
	"leasehold/lease"
	"leasehold/redisevents"
	"leasehold/session"
)

var _ = Describe("a session document", func() {
	It("is read when an event names it, and claimed when it is new", func() {
		d := ready(nil, nil)
		d.event(redisevents.SessionTouched{ID: "a"})
		Expect(d.take().fetch).To(Equal([]string{"a"}))
		d.read(doc("a"))
		o := d.take()
		Expect(count[eventlog.SessionAdded](o)).To(Equal(1))
		Expect(o.claims).To(HaveLen(1))
		d.read(doc("a"))
		Expect(d.take().logs).To(BeEmpty(), "nothing new")
	})

	It("that changed goes to the leaseholder, which keeps the lease", func() {
		d := ready(nil, ids(1))
		d.own("s0")
		d.read(doc("s0", edition(2), func(s *session.Session) { s.LeaseTTL = time.Minute }))
		o := d.take()
		Expect(count[eventlog.SessionChanged](o)).To(Equal(1))
		updates := told[*leaseholder.Update](o)
		Expect(updates).To(HaveLen(1))
		Expect(updates[0].TTL).To(Equal(time.Minute))
		Expect(updates[0].Session.Fingerprint).To(BeEquivalentTo(2))
		Expect(o.tells).To(HaveLen(1))
	})

	It("that was paused has its lease given back and is not claimed until it goes on", func() {
		d := ready(nil, ids(1))
		d.own("s0")
		d.read(doc("s0", edition(2), paused))
		Expect(reasons(d.take())).To(Equal([]leaseholder.Reason{leaseholder.Paused}))
		d.ends("s0", leaseholder.Ended{Released: true, Reason: leaseholder.Paused})
		d.freed("s0")
		d.status(lease.Status{Session: "s0"})
		d.sleep(time.Minute)
		quiet(d.take())
		d.read(doc("s0", edition(3)))
		Expect(d.claims()).To(Equal([]string{"s0"}))
	})

	It("that is external is never claimed", func() {
		d := ready(nil, nil)
		d.read(doc("a", func(s *session.Session) { s.Kind = session.External }))
		d.sleep(time.Minute)
		quiet(d.take())
	})

	It("that was removed has its lease given back with its state", func() {
		d := ready(nil, ids(2))
		d.own("s0")
		d.read(absent("s0"))
		o := d.take()
		Expect(count[eventlog.SessionRemoved](o)).To(Equal(1))
		Expect(reasons(o)).To(Equal([]leaseholder.Reason{leaseholder.Deleted}))
		d.ends("s0", leaseholder.Ended{Released: true, Reason: leaseholder.Deleted})
		Expect(d.claims()).To(BeEmpty())
	})

	It("that was removed while nobody held it has its state forgotten", func() {
		d := ready(nil, ids(1))
		d.heldBy("s0", peer, time.Second)
		d.take()
		d.read(absent("s0"))
		Expect(d.take().back).To(Equal([]lease.Release{{Grant: lease.Grant{Session: "s0", Holder: self}, Forget: true}}))
		d.back()
		d.read(absent("s0"))
		quiet(d.take())
	})

	It("that can't be used any more when its lease is granted keeps its state", func() {
		d := ready(nil, ids(1))
		d.take()
		d.read(bad("s0", 8))
		d.take()
		d.grant("s0")
		Expect(d.take().back).To(Equal([]lease.Release{{Grant: lease.Grant{Session: "s0", Holder: self, Token: 1}}}))
		d.back()
	})

	It("that can't be used is reported once, stops its session, and is picked up when it is corrected", func() {
		d := ready(nil, ids(1))
		d.own("s0")
		d.read(bad("s0", 8))
		o := d.take()
		Expect(count[eventlog.SessionInvalid](o)).To(Equal(1))
		Expect(reasons(o)).To(Equal([]leaseholder.Reason{leaseholder.Paused}), "its state is kept")
		d.read(bad("s0", 8))
		d.scan(bad("s0", 8))
		Expect(count[eventlog.SessionInvalid](d.take())).To(BeZero())
		d.read(because(bad("s0", 9), "is empty"))
		Expect(count[eventlog.SessionInvalid](d.take())).To(BeZero(), "too soon after the last line")
		d.sleep(otherFaultPause)
		d.scan(because(bad("s0", 9), "is empty"))
		Expect(count[eventlog.SessionInvalid](d.take())).To(Equal(1), "another fault is news")
		d.scan(because(bad("s0", 9), "is empty"))
		Expect(count[eventlog.SessionInvalid](d.take())).To(BeZero())
		d.ends("s0", leaseholder.Ended{Released: true, Reason: leaseholder.Paused})
		quiet(d.take())
		d.read(doc("s0", edition(10)))
		Expect(d.claims()).To(Equal([]string{"s0"}))
		d.read(bad("s0", 9))
		Expect(count[eventlog.SessionInvalid](d.take())).To(Equal(1), "it had been well in between")
	})

	It("that can't be used is reported seldom while it is written over and over", func() {
		d := ready(nil, nil)
		reported := func(reason func(i int) string) (n int) {
			for i := range 1100 { // almost two minutes
				d.read(because(bad("s0", uint64(i)), reason(i)))
				n += count[eventlog.SessionInvalid](d.take())
				d.sleep(100 * time.Millisecond)
			}
			return n
		}
		Expect(reported(func(int) string { return "is not valid JSON" })).To(Equal(2))
		d.read(absent("s0"))
		d.take()
		Expect(reported(func(i int) string { return fmt.Sprintf("has %d bytes", i) })).To(BeNumerically("~", 11, 1))
	})

	It("that came back while its old leaseholder lives gets no second one before that has ended", func() {
		d := ready(nil, ids(1))
		d.own("s0")
		d.read(absent("s0"))
		d.read(doc("s0", edition(2)))
		d.take()
		d.freed("s0")
		d.status(lease.Status{Session: "s0"})
		d.sleep(time.Minute)
		quiet(d.take())
		d.ends("s0", leaseholder.Ended{Released: true, Reason: leaseholder.Deleted})
		Expect(d.claims()).To(Equal([]string{"s0"}))
		d.grant("s0")
		Expect(d.take().spawns).To(HaveLen(1))
	})

	It("that came back while it was being claimed is not claimed a second time", func() {
		d := ready(nil, ids(1)) // the claim of s0 is in flight
		d.read(absent("s0"))
		d.back() // of the state
		d.read(doc("s0", edition(2)))
		d.freed("s0")
		d.sleep(time.Minute)
		Expect(d.claims()).To(BeEmpty())
		d.grant("s0")
		o := d.take()
		Expect(o.spawns).To(HaveLen(1))
		Expect(o.back).To(BeEmpty())
	})

	It("that went while it was being claimed has the grant given back, and is not claimed again before that is answered", func() {
		d := ready(nil, ids(1))
		d.read(absent("s0"))
		d.back()
		d.take()
		d.grant("s0")
		Expect(d.take().back).To(Equal([]lease.Release{{Grant: lease.Grant{Session: "s0", Holder: self, Token: 1}, Forget: true}}))
		d.read(doc("s0", edition(2)))
		d.sleep(time.Minute)
		quiet(d.take())
		d.back()
		Expect(d.claims()).To(Equal([]string{"s0"}))
	})

	It("that a scan does not show is read once more before it counts as removed", func() {
		d := ready(nil, ids(2))
		d.sleep(time.Second)
		d.take()
		d.scan(doc("s0"))
		o := d.take()
		Expect(o.fetch).To(Equal([]string{"s1"}))
		Expect(count[eventlog.SessionRemoved](o)).To(BeZero())
		d.read(doc("s1"))
		Expect(count[eventlog.SessionRemoved](d.take())).To(BeZero())
	})

	It("that a scan finds as it was is not decoded again, and read only where it is not known so", func() {
		unchanged := func(id string, fingerprint uint64) document {
			return document{id: id, unchanged: true, fingerprint: fingerprint}
		}
		d := ready(nil, ids(1))
		d.scan(doc("s0"), bad("s1", 7))
		d.take()
		d.now = d.now.Add(time.Second)
		d.scan(unchanged("s0", 1), unchanged("s1", 7))
		o := d.take()
		Expect(o.fetch).To(BeEmpty())
		Expect(o.logs).To(BeEmpty())

		d.read(absent("s0"), doc("s1"))
		d.take()
		d.now = d.now.Add(time.Second)
		d.scan(unchanged("s0", 1), unchanged("s1", 7))
		Expect(d.take().fetch).To(ContainElements("s0", "s1"))
		d.read(doc("s0"), bad("s1", 7))
		Expect(d.m.entries).To(HaveKey("s0"))
		Expect(d.m.invalid).To(HaveKey("s1"))
	})

	It("that only the scan found counts as a repair", func() {
		d := ready(nil, ids(1))
		d.sleep(time.Second)
		d.take()
		d.scan(docs("s0", "s1")...)
		Expect(count[eventlog.ReconcileRepaired](d.take())).To(Equal(1))
	})
})

var _ = Describe("an older reading of a document", func() {
	It("changes nothing, whichever answer comes first", func() {
		d := ready(nil, nil)
		early := d.now
		late := early.Add(10 * time.Millisecond)
		d.sleep(time.Second)
		d.m.onDocuments([]document{doc("a", edition(2))}, late, d.now)
		d.m.onDocuments([]document{doc("a", edition(1))}, early, d.now)
		Expect(d.m.entries["a"].session.Fingerprint).To(BeEquivalentTo(2))
	})

	It("does not hide a newer one that came later, however slow the older one's answer was", func() {
		d := ready(nil, ids(1))
		early := d.now
		late := early.Add(10 * time.Millisecond)
		d.sleep(time.Second)
		d.m.onDocuments([]document{doc("s0", edition(2))}, early, d.now)
		d.m.onDocuments([]document{doc("s0", edition(3))}, late, d.now)
		Expect(d.m.entries["s0"].session.Fingerprint).To(BeEquivalentTo(3))
	})

	It("does not bring back what has been removed since", func() {
		d := ready(nil, ids(1))
		scanned := d.now.Add(time.Second)
		d.sleep(2 * time.Second)
		d.read(absent("s0"))
		d.m.onScan(docs("s0"), scanned, d.now)
		d.settle()
		Expect(d.m.entries).To(BeEmpty())
		d.read(doc("s0"))
		Expect(d.m.entries).To(HaveLen(1), "a newer one does")
	})

	It("is not remembered for ever", func() {
		d := ready(nil, nil)
		for _, id := range ids(100) {
			d.read(absent(id))
		}
		d.sleep(2 * callLimit)
		d.scan()
		Expect(d.m.gone).To(BeEmpty())
	})
})

// because has a document be of no use for another reason.
func because(d document, reason string) document {
	d.fault.reason = reason
	return d
}
