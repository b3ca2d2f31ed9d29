package sim

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"leasehold/lease"
	"leasehold/lease/leasetest"
	"leasehold/redisstore"
)

// lesseeKinds are programs that lease sessions through the API: its calls are those of
// the store, with a holder that is no node.
func lesseeKinds() []kind {
	return []kind{{"lessee", 3, hands, func(w *world, f Fault) (string, func()) {
		if len(w.docs) == 0 {
			return "", nil
		}
		var wanted []string
		for i := range min(f.Count, len(w.docs)) {
			wanted = append(wanted, w.docs[(int(f.Which%uint32(len(w.docs)))+i)%len(w.docs)].ID)
		}
		x := w.hire(wanted, f.Which/16%3 == 0)
		return x.holder, func() { close(x.done) }
	}}}
}

// hands draws how many sessions one wants.
func hands(rnd *rand.Rand, _ Timings, f *Fault) { f.Count = skewed(rnd, 1, 30) }

// lessee wants some sessions, takes those that come free, and keeps them.
type lessee struct {
	holder string
	wanted []string
	store  *redisstore.Store
	ttl    time.Duration
	// vanishes says that it gives nothing back in the end.
	vanishes bool
	held     map[string]lease.Grant

	done chan struct{} // closed when it shall end
	over chan struct{} // closed when it has
}

// hire has a lessee begin.
func (w *world) hire(wanted []string, vanishes bool) *lessee {
	store, leave := w.visit()
	x := &lessee{
		holder: fmt.Sprint("lessee ", len(w.lessees)), wanted: wanted, vanishes: vanishes, ttl: w.scenario.Timings.LeaseTTL.D(),
		store: store,
		held:  map[string]lease.Grant{}, done: make(chan struct{}), over: make(chan struct{}),
	}
	w.lessees = append(w.lessees, x)
	go func() {
		defer close(x.over)
		defer leave()
		x.run()
	}()
	return x
}

// run asks often, and renews thrice in a TTL.
func (x *lessee) run() {
	const often = 500 * time.Millisecond
	renewed := time.Now()
	for {
		x.take()
		x.steal()
		if time.Since(renewed) >= x.ttl/3 {
			renewed = time.Now()
			x.renew()
		}
		timer := time.NewTimer(often)
		select {
		case <-timer.C:
		case <-x.done:
			timer.Stop()
			x.leave()
			return
		}
	}
}

// take claims what it wants and does not have.
func (x *lessee) take() {
	var claims []lease.Claim
	for _, id := range x.wanted {
		if _, ok := x.held[id]; !ok {
			claims = append(claims, lease.Claim{Session: id, TTL: x.ttl})
		}
	}
	for _, o := range x.store.Acquire(context.Background(), x.holder, claims) {
		if o.Granted && o.Err == nil {
			x.held[o.Session] = lease.Grant{Session: o.Session, Holder: x.holder, Token: o.Token}
		}
	}
}

// steal tries to renew and to end what another has, under its own name and with the
// other's token.
func (x *lessee) steal() {
	id := x.wanted[0]
	if _, ours := x.held[id]; ours {
		return
	}
	r := x.store.Read(context.Background(), []string{id})[0]
	if r.Err != nil || r.Holder == "" || r.Holder == x.holder {
		return
	}
	g := lease.Grant{Session: id, Holder: x.holder, Token: r.Token}
	x.store.Renew(context.Background(), leasetest.Renewals(x.ttl, g))
	x.store.Release(context.Background(), []lease.Release{{Grant: g}})
}

// renew keeps what it has, and forgets what was lost.
func (x *lessee) renew() {
	grants := x.grants()
	for i, v := range x.store.Renew(context.Background(), leasetest.Renewals(x.ttl, grants...)) {
		if v.Err != nil && !lease.Unknown(v.Err) {
			delete(x.held, grants[i].Session)
		}
	}
}

func (x *lessee) leave() {
	if x.vanishes {
		return
	}
	var all []lease.Release
	for _, g := range x.grants() {
		all = append(all, lease.Release{Grant: g})
	}
	x.store.Release(context.Background(), all)
}

// grants are in the order of what it wants.
func (x *lessee) grants() []lease.Grant {
	var all []lease.Grant
	for _, id := range x.wanted {
		if g, ok := x.held[id]; ok {
			all = append(all, g)
		}
	}
	return all
}
