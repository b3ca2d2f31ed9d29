package membership

import (
	"errors"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"leasehold/lease"
	"leasehold/session"
)

var _ = Describe("what a node knows of unleased sessions", func() {
	began := time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
	at := func(seconds int) time.Time { return began.Add(time.Duration(seconds) * time.Second) }
	var (
		m *machine
		v *coverage
	)
	// finds is a look at leases: who has which; empty: nobody.
	finds := func(seconds int, holders map[string]string) {
		var all []lease.Status
		for id, holder := range holders {
			all = append(all, lease.Status{Session: id, Holder: holder})
		}
		v.look(m, all, at(seconds))
	}
	BeforeEach(func() {
		v = &coverage{}
		m = &machine{entries: make(map[string]*entry), held: make(map[string]*child), children: make(map[uint64]*child)}
		for i, id := range []string{"early", "late"} {
			m.entries[id] = newEntry(&session.Session{ID: id, Kind: session.HTTP}, at(10*i))
		}
	})

	It("is since when the longest is free, and for how long all are", func() {
		finds(20, map[string]string{"early": "", "late": ""})
		finds(30, map[string]string{"early": "", "late": ""})
		for range 20 { // whatever the order of the map
			Expect(v.known(m)).To(Equal(Known{Unleased: 2, FreeSince: at(0), Free: 50 * time.Second}))
		}
	})

	It("is of those behind a key of another type too, whoever had them", func() {
		m.entries["early"].foreign, m.entries["early"].holder = true, peer
		look := []lease.Status{{Session: "early", Err: fmt.Errorf("early: %w", lease.ErrForeign)}, {Session: "late", Err: errors.New("no answer")}}
		v.look(m, look, at(20))
		v.look(m, look, at(50))
		Expect(v.known(m)).To(Equal(Known{Unleased: 1, Elsewhere: 1, FreeSince: at(0), Free: 50 * time.Second}))
	})

	It("ends when a look finds a holder, and begins anew with the next time", func() {
		finds(20, map[string]string{"early": "", "late": ""})
		finds(30, map[string]string{"early": peer})
		Expect(v.known(m)).To(Equal(Known{Unleased: 1, Elsewhere: 1, FreeSince: at(10), Free: 30 * time.Second}))
		m.entries["early"].freedAt = at(45)
		finds(50, map[string]string{"early": ""})
		Expect(v.known(m)).To(Equal(Known{Unleased: 2, FreeSince: at(10), Free: 35 * time.Second}), "5 s since its lease went")
	})

	It("ends when this node, or another that it heard of, has the session, or nobody shall", func() {
		for _, ends := range []func(){
			func() { m.held["early"] = &child{} },
			func() { m.entries["early"].holder = peer },
			func() { m.entries["early"].session = &session.Session{ID: "early", Kind: session.HTTP, Paused: true} },
			func() { m.entries["early"].session = &session.Session{ID: "early", Kind: session.External} },
			func() { delete(m.entries, "early") },
		} {
			before, kept := *m.entries["early"], m.entries["early"]
			v = &coverage{}
			finds(20, map[string]string{"early": ""})
			Expect(v.known(m).Unleased).To(Equal(1))
			ends()
			Expect(v.known(m)).To(And(HaveField("Unleased", 0), HaveField("FreeSince", BeZero())))
			// As before, but not free all the time: what was known is forgotten.
			*kept = before
			m.entries["early"] = kept
			delete(m.held, "early")
			Expect(v.known(m).Unleased).To(BeZero())
		}
	})

	It("is not known of what could not be read", func() {
		finds(20, map[string]string{"early": ""})
		v.look(m, []lease.Status{{Session: "early", Err: errRedis}, {Session: "gone"}}, at(30))
		Expect(v.known(m)).To(Equal(Known{Unleased: 1, Elsewhere: 1, FreeSince: at(0), Free: 20 * time.Second}))
	})
})
