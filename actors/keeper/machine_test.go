package keeper

import (
	"errors"
	"strconv"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"leasehold/actors/leaseholder"
	"leasehold/lease"
	"leasehold/redisevents"
)

const (
	ttl    = 30 * time.Second
	margin = 2 * time.Second
)

var errNoAnswer = errors.New("no answer")

// desk is a machine under a spec, with a clock of its own.
type desk struct {
	m   *machine
	now time.Time
}

func newDesk() *desk {
	now := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	return &desk{m: newMachine(Config{Holder: "me", TTL: ttl, Margin: margin}), now: now}
}

// ask sends a request to take s, and returns where its answer will be.
func (d *desk) ask(waits bool) *[]Taken {
	var got []Taken
	d.m.onRequest(&Take{Session: "s", Answer: func(t Taken) bool {
		got = append(got, t)
		return waits
	}}, d.now)
	return &got
}

func (d *desk) giveBack() *[]error {
	var got []error
	d.m.onRequest(&GiveBack{Session: "s", Answer: func(err error) { got = append(got, err) }}, d.now)
	return &got
}

// answer answers the one claim that the machine must have made.
func (d *desk) answer(o lease.Outcome) lease.Claim {
	GinkgoHelper()
	out := d.m.take()
	Expect(out.claims).To(HaveLen(1))
	o.Session = out.claims[0].Session
	d.m.onOutcomes([]lease.Outcome{o}, d.now, d.now)
	return out.claims[0]
}

func granted(token lease.Token) lease.Outcome {
	return lease.Outcome{Granted: true, Holder: "me", Token: token}
}

func other(remaining time.Duration) lease.Outcome {
	return lease.Outcome{Holder: "other", Token: 6, Remaining: remaining}
}

// hold has the machine get the lease, up to where its tenure would be known.
func (d *desk) hold(token lease.Token) (id uint64, taken *[]Taken) {
	GinkgoHelper()
	taken = d.ask(true)
	d.answer(granted(token))
	out := d.m.take()
	Expect(out.spawns).To(HaveLen(1))
	Expect(out.spawns[0].cfg.Term).To(Equal(lease.NewTerm(
		lease.Grant{Session: "s", Holder: "me", Token: token}, d.now, ttl, margin)))
	return out.spawns[0].id, taken
}

// end lets a leaseholder end.
func (d *desk) end(id uint64, r leaseholder.Ended) {
	d.m.onEnded(id, &r)
	d.m.onTerminated(id, d.now)
}

func (d *desk) back() []lease.Release { return d.m.take().back }

func release(token lease.Token, forget bool) []lease.Release {
	return []lease.Release{{Grant: lease.Grant{Session: "s", Holder: "me", Token: token}, Forget: forget}}
}

var _ = Describe("a keeper's machine", func() {
	var d *desk
	BeforeEach(func() { d = newDesk() })

	It("claims once for all who ask, and tells them once the lease can be seen to be ours", func() {
		first, second := d.ask(true), d.ask(true)
		Expect(d.answer(granted(7))).To(Equal(lease.Claim{Session: "s", TTL: ttl, Alone: true}))
		id := d.m.take().spawns[0].id
		third := d.ask(true)
		Expect(*first).To(BeEmpty())
		d.m.onOpened(id, nil)
		for _, got := range []*[]Taken{first, second, third} {
			Expect(*got).To(Equal([]Taken{{Granted: true}}))
		}
		Expect(d.m.take()).To(Equal(orders{}))
	})

	It("answers that another has it, and why nothing is known", func() {
		got := d.ask(true)
		d.answer(other(time.Second))
		Expect(*got).To(Equal([]Taken{{}}))
		got = d.ask(true)
		d.answer(lease.Outcome{Err: errNoAnswer})
		Expect(*got).To(Equal([]Taken{{Err: errNoAnswer}}))
		Expect(d.m.entries).To(BeEmpty())
	})

	It("remembers who had it also where it was refused for that one's poll, which may be in flight", func() {
		d.ask(true)
		d.answer(other(ttl))
		got := d.ask(true)
		d.answer(lease.Outcome{Token: 6, Remaining: time.Second})
		Expect(*got).To(Equal([]Taken{{}}))
		Expect(d.m.others.get("s", d.now).holder).To(Equal("other"))
	})

	It("gives back what nobody waits for any more", func() {
		d.ask(false)
		d.answer(granted(7))
		id := d.m.take().spawns[0].id
		d.m.onOpened(id, nil)
		Expect(d.m.take().tells).To(Equal([]tell{{id: id, message: &leaseholder.Release{Reason: leaseholder.Asked}}}))
	})

	It("gives back what is wanted back while it is being claimed", func() {
		got, gone := d.ask(true), d.giveBack()
		d.answer(granted(7))
		Expect(*got).To(Equal([]Taken{{}}))
		Expect(d.back()).To(Equal(release(7, false)))
		Expect(*gone).To(BeEmpty())
		Expect(*d.ask(true)).To(Equal([]Taken{{}}), "not before the release is answered")
		d.m.onBack("s", nil, d.now)
		Expect(*gone).To(Equal([]error{nil}))
	})

	It("answers a wish to give back once the lease has gone, at once if there is none", func() {
		Expect(*d.giveBack()).To(Equal([]error{nil}))
		id, _ := d.hold(7)
		d.m.onOpened(id, nil)
		first, second := d.giveBack(), d.giveBack()
		Expect(d.m.take().tells).To(HaveLen(1))
		Expect(*d.ask(true)).To(Equal([]Taken{{}}))
		d.end(id, leaseholder.Ended{Released: true})
		Expect(*first).To(Equal([]error{nil}))
		Expect(*second).To(Equal([]error{nil}))
		Expect(d.m.leases()).To(BeZero())
	})

	It("never takes up a lease again whose release had no answer", func() {
		id, _ := d.hold(7)
		d.m.onOpened(id, nil)
		gone := d.giveBack()
		d.m.take()
		d.end(id, leaseholder.Ended{Released: true, Err: errNoAnswer})
		Expect(*gone).To(Equal([]error{errNoAnswer}))

		o := granted(7)
		o.Already = true
		for _, err := range []error{errNoAnswer, nil} { // the answer to one more release
			got := d.ask(true)
			d.answer(o)
			Expect(*got).To(Equal([]Taken{{}}))
			Expect(d.back()).To(Equal(release(7, false)))
			d.m.onBack("s", err, d.now)
		}
		d.hold(8)
	})

	It("takes up a lease again that it lost trust in", func() {
		id, _ := d.hold(7)
		d.end(id, leaseholder.Ended{})
		d.hold(7)
	})

	It("hands back what a leaseholder that failed has left", func() {
		id, got := d.hold(7)
		d.m.onTerminated(id, d.now)
		Expect(*got).To(Equal([]Taken{{Err: ErrFailed}}))
		Expect(d.back()).To(Equal(release(7, false)))
		d.m.onBack("s", lease.ErrLost, d.now)
		Expect(d.m.entries).To(BeEmpty())
	})

	It("takes over a lease without expiry after one and a half TTLs, of the holder that it saw", func() {
		d.ask(true)
		d.answer(other(lease.NoExpiry))
		d.now = d.now.Add(ttl)
		d.ask(true)
		Expect(d.answer(other(lease.NoExpiry)).Abandoned).To(BeEmpty())
		d.now = d.now.Add(ttl/2 - 1)
		d.ask(true)
		Expect(d.answer(other(lease.NoExpiry)).Abandoned).To(BeEmpty())
		d.now = d.now.Add(1)
		d.ask(true)
		Expect(d.answer(other(time.Second)).Abandoned).To(Equal("other"))
		d.now = d.now.Add(1)
		d.ask(true)
		Expect(d.answer(granted(7)).Abandoned).To(BeEmpty(), "it is renewed again")
	})

	Context("after Redis was restarted", func() {
		restart := func() { d.m.onEvent(redisevents.Gap{Restarted: true}, d.now) }

		It("renews all, and takes nothing for a TTL but what it has just lost", func() {
			id, _ := d.hold(7)
			restart()
			Expect(d.m.take().renew).To(BeTrue())
			d.end(id, leaseholder.Ended{Trusted: d.now.Add(ttl - margin)}) // it was refused
			d.now = d.now.Add(margin - 1)
			d.hold(8) // at once
			Expect(d.m.take().claims).To(BeEmpty())

			d.m.onRequest(&Take{Session: "t", Answer: func(t Taken) bool {
				Expect(t).To(Equal(Taken{Err: ErrHeldOff}))
				return true
			}}, d.now)
			d.now = d.now.Add(ttl - margin + 1)
			d.m.onRequest(&Take{Session: "t"}, d.now)
			Expect(d.m.take().claims).To(HaveLen(1))
		})

		It("does not count as its own what it gave back, or lost longer ago", func() {
			given, _ := d.hold(6)
			d.end(given, leaseholder.Ended{Released: true})
			restart()
			Expect(*d.ask(true)).To(Equal([]Taken{{Err: ErrHeldOff}}))
			d.now = d.now.Add(ttl)
			id, _ := d.hold(7)
			d.end(id, leaseholder.Ended{Trusted: d.now})
			restart()
			d.now = d.now.Add(margin)
			Expect(*d.ask(true)).To(Equal([]Taken{{Err: ErrHeldOff}}))
		})

		// The callback may wait long for work to end, and another have it meanwhile.
		It("counts what it lost from the end of its trust, however late it hears of that", func() {
			id, _ := d.hold(7)
			trusted := d.now.Add(ttl - margin)
			d.now = trusted.Add(margin)
			restart()
			d.end(id, leaseholder.Ended{Trusted: trusted})
			Expect(*d.ask(true)).To(Equal([]Taken{{Err: ErrHeldOff}}))
			Expect(d.m.take().claims).To(BeEmpty())

			d.now = d.now.Add(ttl)
			id, _ = d.hold(8)
			trusted = d.now.Add(ttl - margin)
			d.now = trusted.Add(margin - 1)
			restart()
			d.m.take()
			d.end(id, leaseholder.Ended{Trusted: trusted})
			d.hold(9)
		})

		by := func(server string, o lease.Outcome) lease.Outcome {
			o.Server = server
			return o
		}

		// A process that was frozen or cut off can be quicker with a claim than its events.
		It("hears of another server by the answer to a claim, and hands back what that granted", func() {
			d.m.onEvent(redisevents.Gap{Server: "one"}, d.now)
			d.m.take()
			got := d.ask(true)
			d.answer(by("two", granted(7)))
			Expect(*got).To(Equal([]Taken{{Err: ErrHeldOff}}))
			out := d.m.take()
			Expect(out.back).To(Equal(release(7, false)), "its counter may be known to others")
			Expect(out.renew).To(BeTrue())
			d.m.onBack("s", nil, d.now)
			d.now = d.now.Add(ttl - 1)
			Expect(*d.ask(true)).To(Equal([]Taken{{Err: ErrHeldOff}}))
			d.now = d.now.Add(1)
			d.ask(true)
			d.answer(by("two", granted(8)))
			Expect(d.m.take().spawns).To(HaveLen(1))
		})

		It("takes at once what the first server grants that it hears of, or the same, or one without a name", func() {
			for _, server := range []string{"one", "one", ""} {
				d.ask(true)
				d.answer(by(server, granted(7)))
				out := d.m.take()
				Expect(out.spawns).To(HaveLen(1))
				Expect(out.renew).To(BeFalse())
				d.end(out.spawns[0].id, leaseholder.Ended{Released: true})
			}
			for _, master := range []string{"one", "two", "three"} { // of a cluster, at the start
				d.m.onEvent(redisevents.Gap{Server: master}, d.now)
			}
			d.m.take()
			d.hold(8)
		})

		It("hears of another server also where its events began with that one", func() {
			d.ask(true)
			d.answer(by("one", other(time.Second)))
			d.m.onEvent(redisevents.Gap{Server: "two"}, d.now)
			got := d.ask(true)
			d.answer(by("two", granted(7)))
			Expect(*got).To(Equal([]Taken{{Err: ErrHeldOff}}))
		})

		It("hands back what it had claimed before it heard of it, and hears no news in late answers", func() {
			d.m.onEvent(redisevents.Gap{Server: "one"}, d.now)
			for _, fresh := range []bool{false, true} {
				got, sent := d.ask(true), d.now
				d.m.take()
				d.now = d.now.Add(time.Millisecond)
				d.m.onEvent(redisevents.Gap{Restarted: true, Server: "two"}, d.now)
				o := by("one", granted(7))
				o.Session, o.Fresh = "s", fresh
				d.m.onOutcomes([]lease.Outcome{o}, sent, d.now)
				Expect(*got).To(Equal([]Taken{{Err: ErrHeldOff}}))
				Expect(d.back()).To(Equal(release(7, fresh)))
				d.m.onBack("s", nil, d.now)
				d.now = d.now.Add(ttl)
				d.ask(true)
				d.answer(by("two", granted(8)))
				out := d.m.take()
				Expect(out.spawns).To(HaveLen(1))
				d.end(out.spawns[0].id, leaseholder.Ended{Released: true})
			}
		})

		It("takes what it has just lost, whoever tells of the restart", func() {
			d.m.onEvent(redisevents.Gap{Server: "one"}, d.now)
			id, _ := d.hold(7)
			d.end(id, leaseholder.Ended{Trusted: d.now})
			d.ask(true)
			d.answer(by("two", granted(8)))
			out := d.m.take()
			Expect(out.spawns).To(HaveLen(1))
			Expect(out.renew).To(BeTrue())
		})

		It("does not count as just lost what another has taken", func() {
			d.m.onEvent(redisevents.Gap{Server: "one"}, d.now)
			id, _ := d.hold(7)
			d.end(id, leaseholder.Ended{Trusted: d.now, Taken: true})
			restart()
			Expect(*d.ask(true)).To(Equal([]Taken{{Err: ErrHeldOff}}))
		})

		It("hears nothing of another server in an error, which a demoted one may send", func() {
			d.m.onEvent(redisevents.Gap{Server: "two"}, d.now)
			d.ask(true)
			d.answer(by("one", lease.Outcome{Err: errNoAnswer}))
			d.ask(true)
			d.answer(by("two", granted(8)))
			Expect(d.m.take().spawns).To(HaveLen(1))
		})

		It("does not count as its own what another has had since", func() {
			id, _ := d.hold(7)
			d.end(id, leaseholder.Ended{Trusted: d.now})
			d.ask(true)
			d.answer(other(time.Second))
			restart()
			Expect(*d.ask(true)).To(Equal([]Taken{{Err: ErrHeldOff}}))
		})

		It("hands back what another had, though nothing told of the restart yet", func() {
			d.ask(true)
			d.answer(other(time.Second))
			fresh := granted(1_000_000)
			fresh.Fresh = true
			got := d.ask(true)
			d.answer(fresh)
			Expect(*got).To(Equal([]Taken{{Err: ErrHeldOff}}))
			Expect(d.back()).To(Equal(release(1_000_000, true)), "others are to see it, too")
			d.m.onBack("s", nil, d.now)
			d.now = d.now.Add(ttl - 1)
			Expect(*d.ask(true)).To(Equal([]Taken{{Err: ErrHeldOff}}))
			d.now = d.now.Add(1)
			d.ask(true)
			d.answer(fresh)
			Expect(d.m.take().spawns).To(HaveLen(1))
		})

		// The answer that would have told was lost.
		It("hands back what another had where a claim without an answer was granted by who knows which server", func() {
			for _, server := range []string{"", "one"} {
				d = newDesk()
				d.ask(true)
				d.answer(by(server, other(time.Second)))
				d.ask(true)
				d.answer(lease.Outcome{Err: errNoAnswer})
				o := by(server, granted(7))
				o.Already = true
				got := d.ask(true)
				d.answer(o)
				out := d.m.take()
				if server != "" { // it would have told by its name
					Expect(out.spawns).To(HaveLen(1))
					continue
				}
				Expect(*got).To(Equal([]Taken{{Err: ErrHeldOff}}))
				Expect(out.back).To(Equal(release(7, false)), "another may have given it back")
				d.m.onBack("s", nil, d.now)
				d.now = d.now.Add(ttl - 1)
				Expect(*d.ask(true)).To(Equal([]Taken{{Err: ErrHeldOff}}))
				d.now = d.now.Add(1)
				d.hold(8)
			}
		})

		It("takes what another had once it has held off", func() {
			d.ask(true)
			d.answer(other(time.Second))
			d.now = d.now.Add(1)
			restart()
			d.m.take()
			d.now = d.now.Add(ttl)
			d.ask(true)
			fresh := granted(1_000_000)
			fresh.Fresh = true
			d.answer(fresh)
			Expect(d.m.take().spawns).To(HaveLen(1))
		})
	})

	It("has a lease looked at of which an event says that it went, and all after a gap", func() {
		id, _ := d.hold(7)
		d.m.onEvent(redisevents.LeaseFreed{Session: "s"}, d.now)
		Expect(d.m.take().tells).To(BeEmpty())
		d.m.onOpened(id, nil)
		d.m.onEvent(redisevents.LeaseFreed{Session: "t"}, d.now)
		d.m.onEvent(redisevents.LeaseFreed{Session: "s"}, d.now)
		Expect(d.m.take().tells).To(Equal([]tell{{id: id, message: &leaseholder.Verify{}}}))
		d.m.onEvent(redisevents.Gap{}, d.now)
		Expect(d.m.take().renew).To(BeTrue())
	})

	It("drains what is held, what opens and what is being asked for", func() {
		id, opening := d.hold(7)
		d.m.onRequest(&Take{Session: "t", Answer: func(t Taken) bool {
			Expect(t).To(Equal(Taken{Err: ErrDraining}))
			return true
		}}, d.now)
		d.m.onDrain()
		d.m.onOpened(id, nil)
		Expect(*opening).To(Equal([]Taken{{Err: ErrDraining}}))
		Expect(*d.ask(true)).To(Equal([]Taken{{Err: ErrDraining}}))
		out := d.m.take()
		Expect(out.tells).To(Equal([]tell{{id: id, message: &leaseholder.Release{Reason: leaseholder.Shutdown}}}))
		d.m.onOutcomes([]lease.Outcome{{Session: "t", Granted: true, Token: 3}}, d.now, d.now)
		Expect(d.back()).To(HaveLen(1))
		Expect(d.m.drained()).To(BeFalse())
		d.m.onBack("t", nil, d.now)
		Expect(d.m.drained()).To(BeFalse())
		d.end(id, leaseholder.Ended{Released: true})
		Expect(d.m.drained()).To(BeTrue())
	})

	It("leaves nobody without an answer when it fails", func() {
		asked, gone := d.ask(true), d.giveBack()
		d.m.onFailure()
		Expect(*asked).To(Equal([]Taken{{Err: ErrFailed}}))
		Expect(*gone).To(Equal([]error{ErrFailed}))
	})
})

var _ = Describe("a keeper's memory", func() {
	It("forgets what is past, at once for who asks, and later for good", func() {
		m, now := newMemory(), time.Now()
		for i := range 10 * memoryLeast {
			now = now.Add(time.Second)
			m.keep(strconv.Itoa(i), mark{until: now.Add(2 * time.Second)}, now)
			Expect(m.has(strconv.Itoa(i), now)).To(BeTrue())
			Expect(m.has(strconv.Itoa(i-2), now)).To(BeFalse())
			Expect(len(m.marks)).To(BeNumerically("<=", memoryLeast))
		}
	})
})
