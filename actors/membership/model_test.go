package membership

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"leasehold/actors/leaseholder"
	"leasehold/lease"
	"leasehold/planner"
	"leasehold/redisevents"
	"leasehold/session"
)

// model is a store, a set of documents and the actors around a machine. Requests
// reach the store, and answers reach the machine, whenever the run says so.
type model struct {
	t   *rapid.T
	m   *machine
	now time.Time

	docs   map[string]uint64 // editions
	leases map[string]held
	tokens map[string]lease.Token

	requests []func() // not at the store yet
	answers  []func() // not at the machine yet
	edition  uint64
	claims   map[string]int // in flight, by session
	alive    map[uint64]*living
	drain    bool
}

type held struct {
	holder string
	token  lease.Token
	until  time.Time
}

// living is a leaseholder, whose messages come in order.
type living struct {
	id      uint64
	session string
	token   lease.Token
	asked   bool // to release
	reason  leaseholder.Reason
	ended   bool
}

func newModel(t *rapid.T) *model {
	w := &model{
		t: t, now: time.Unix(1_000_000, 0), docs: map[string]uint64{}, leases: map[string]held{},
		tokens: map[string]lease.Token{}, claims: map[string]int{}, alive: map[uint64]*living{},
	}
	maxSessions := rapid.SampledFrom([]int{0, 2}).Draw(t, "max sessions")
	w.m = newMachine(Settings{
		Instance: self, TTL: ttl, Margin: 2 * time.Second, Reconcile: 10 * time.Second, MaxSessions: maxSessions,
	}, w.now)
	w.settle()
	return w
}

func (w *model) lease(id string) held {
	h := w.leases[id]
	if !w.now.Before(h.until) {
		delete(w.leases, id)
		return held{}
	}
	return h
}

// settle does what follows every message, and sends what the machine wants.
func (w *model) settle() {
	w.m.onTime(w.now)
	o := w.m.take()
	for _, s := range o.spawns {
		w.spawn(s)
	}
	for _, t := range o.tells {
		w.tell(t)
	}
	for _, c := range o.claims {
		w.claims[c.Session]++
		if w.claims[c.Session] > 1 {
			w.t.Fatalf("two claims of %s in flight", c.Session)
		}
		w.requests = append(w.requests, func() { w.acquire(c) })
	}
	for _, r := range o.back {
		w.requests = append(w.requests, func() { w.release(r) })
	}
	if o.plan != nil {
		w.answers = append(w.answers, func() {
			w.m.onPlan(o.plan, planner.Assign(o.plan.View), w.now)
		})
	}
	for _, id := range o.look {
		w.requests = append(w.requests, func() { w.look(id, w.m.onStatuses) })
	}
	for _, id := range o.peek {
		w.requests = append(w.requests, func() { w.look(id, w.m.onPeeked) })
	}
	for _, id := range o.fetch {
		w.fetch(id)
	}
	if o.scan {
		w.scan()
	}
	if o.list {
		w.requests = append(w.requests, func() {
			w.answers = append(w.answers, func() {
				w.m.onList([]lease.Member{{Instance: self, Remaining: ttl}, {Instance: peer, Remaining: ttl}}, w.now)
			})
		})
	}
	if asked := w.now; o.asksLoss {
		w.requests = append(w.requests, func() {
			w.answers = append(w.answers, func() { w.m.onLoss(0, false, nil, asked, w.now) })
		})
	}
	w.check()
}

func (w *model) spawn(s spawn) {
	id := s.cfg.Term.Session
	for _, c := range w.alive {
		if c.session == id {
			w.t.Fatalf("a second leaseholder of %s", id)
		}
	}
	if w.drain {
		w.t.Fatalf("a leaseholder of %s while draining", id)
	}
	w.alive[s.id] = &living{id: s.id, session: id, token: s.cfg.Term.Token}
}

func (w *model) tell(t tell) {
	c, ok := w.alive[t.id]
	if !ok {
		return
	}
	if r, ok := t.message.(*leaseholder.Release); ok && !c.asked {
		c.asked, c.reason = true, r.Reason
	}
}

func (w *model) acquire(c lease.Claim) {
	h := w.lease(c.Session)
	o := lease.Outcome{Session: c.Session, Holder: h.holder, Token: h.token, Remaining: h.until.Sub(w.now)}
	if h.holder == "" || h.holder == self {
		o.Granted, o.Already, o.Holder = true, h.holder == self, self
		if !o.Already {
			w.tokens[c.Session]++
			o.Token = w.tokens[c.Session]
		}
		w.leases[c.Session] = held{holder: self, token: o.Token, until: w.now.Add(c.TTL)}
	}
	if rapid.IntRange(0, 9).Draw(w.t, "acquire answered") == 0 {
		o = lease.Outcome{Session: c.Session, Err: errRedis}
	}
	sent := w.now
	w.answers = append(w.answers, func() {
		w.claims[c.Session]--
		w.m.onOutcomes([]lease.Outcome{o}, sent, w.now)
	})
}

// release ends a grant that the machine gave back. No leaseholder may live under
// it: its poll would go on without a lease.
func (w *model) release(r lease.Release) {
	for _, c := range w.alive {
		if c.session == r.Session && c.token == r.Token && !c.ended {
			w.t.Fatalf("%s was given back under its leaseholder", r.Session)
		}
	}
	w.drop(r.Grant)
	w.answers = append(w.answers, func() { w.m.onBack(r.Grant, nil, w.now) })
}

func (w *model) drop(g lease.Grant) {
	if h := w.lease(g.Session); h.holder == g.Holder && h.token == g.Token {
		delete(w.leases, g.Session)
		w.event(redisevents.LeaseFreed{Session: g.Session})
	}
}

func (w *model) event(e redisevents.Event) {
	if rapid.IntRange(0, 4).Draw(w.t, "event arrives") > 0 {
		w.answers = append(w.answers, func() { w.m.onEvents([]redisevents.Event{e}, w.now) })
	}
}

func (w *model) look(id string, answer func([]lease.Status, time.Time)) {
	h := w.lease(id)
	s := lease.Status{Session: id, Holder: h.holder, Remaining: h.until.Sub(w.now)}
	w.answers = append(w.answers, func() { answer([]lease.Status{s}, w.now) })
}

func (w *model) document(id string) document {
	switch n := w.docs[id]; {
	case n == 0:
		return absent(id)
	case n%5 == 4:
		return bad(id, n)
	default:
		return doc(id, edition(n), func(s *session.Session) {
			s.Paused = n%5 == 3
			s.LeaseTTL = time.Duration(n%3) * 10 * time.Second
		})
	}
}

func (w *model) fetch(id string) {
	read := w.now
	w.requests = append(w.requests, func() {
		d := w.document(id)
		w.answers = append(w.answers, func() { w.m.onDocuments([]document{d}, read, w.now) })
	})
}

func (w *model) scan() {
	read := w.now
	w.requests = append(w.requests, func() {
		var list []document
		for _, id := range ids(5) {
			if w.docs[id] != 0 {
				list = append(list, w.document(id))
			}
		}
		w.answers = append(w.answers, func() { w.m.onScan(list, read, w.now) })
	})
}

// check holds after every message.
func (w *model) check() {
	moving := 0
	for _, c := range w.m.children {
		if c.moving {
			moving++
		}
	}
	if w.m.moving != moving || len(w.m.asking) != w.flying() {
		w.t.Fatalf("%d moving of %d, %d asking of %d", w.m.moving, moving, len(w.m.asking), w.flying())
	}
	for id, n := range w.m.handing {
		if n <= 0 {
			w.t.Fatalf("%d releases of %s", n, id)
		}
	}
	if len(w.m.children) != len(w.alive) || len(w.m.held) != len(w.alive) {
		w.t.Fatalf("%d children, %d held, %d alive", len(w.m.children), len(w.m.held), len(w.alive))
	}
	if next := w.m.next(w.now); !next.IsZero() && !next.After(w.now) {
		w.t.Fatalf("wants to be woken at once: %s", w.now.Sub(next))
	}
	if w.m.drained() && len(w.alive) > 0 {
		w.t.Fatal("drained with leaseholders alive")
	}
}

func (w *model) flying() int {
	n := 0
	for _, c := range w.claims {
		n += c
	}
	return n
}

// endOne ends a leaseholder as it was asked to, or by a fault or a loss.
func (w *model) endOne(c *living, how int) {
	switch {
	case how == 0: // it fails: no report
		delete(w.alive, c.id)
		w.m.onTerminated(c.id, w.now)
		w.settle()
		return
	case how == 1: // lost: Redis has it no more
		w.drop(lease.Grant{Session: c.session, Holder: self, Token: c.token})
		w.m.onEnded(c.id, &leaseholder.Ended{Reason: c.reason})
	case c.asked:
		w.drop(lease.Grant{Session: c.session, Holder: self, Token: c.token})
		w.m.onEnded(c.id, &leaseholder.Ended{Released: true, Reason: c.reason})
	case how == 2:
		w.drop(lease.Grant{Session: c.session, Holder: self, Token: c.token})
		w.m.onEnded(c.id, &leaseholder.Ended{Released: true, Reason: leaseholder.Failure, RetryIn: time.Second})
	default:
		return
	}
	c.ended = true
	w.settle()
	delete(w.alive, c.id)
	w.m.onTerminated(c.id, w.now)
	w.settle()
}

// any draws an element in a stable order.
func (w *model) any() *living {
	var list []*living
	for id := range w.m.lastID + 1 {
		if c, ok := w.alive[id]; ok {
			list = append(list, c)
		}
	}
	if len(list) == 0 {
		return nil
	}
	return list[rapid.IntRange(0, len(list)-1).Draw(w.t, "leaseholder")]
}

func (w *model) id() string {
	return fmt.Sprint("s", rapid.IntRange(0, 4).Draw(w.t, "session"))
}

// step does one thing at random.
func (w *model) step() {
	switch rapid.IntRange(0, 13).Draw(w.t, "step") {
	case 0, 1, 2:
		w.carry()
	case 3, 4, 5:
		w.hear()
	case 6:
		w.pass(time.Duration(rapid.SampledFrom([]int{1, 50, 251, 600, 2001, 10001, 31000}).Draw(w.t, "ms")) * time.Millisecond)
	case 7, 8:
		id := w.id()
		w.edition++
		w.docs[id] = w.edition
		if rapid.IntRange(0, 3).Draw(w.t, "removed") == 0 {
			w.docs[id] = 0
		}
		w.event(redisevents.SessionTouched{ID: id})
	case 9:
		if c := w.any(); c != nil {
			w.endOne(c, rapid.IntRange(0, 3).Draw(w.t, "how"))
		}
	case 10: // the other node
		if id := w.id(); w.lease(id).holder == "" && w.docs[id] != 0 {
			w.tokens[id]++
			w.leases[id] = held{holder: peer, token: w.tokens[id], until: w.now.Add(ttl)}
		} else if h := w.lease(id); h.holder == peer {
			w.drop(lease.Grant{Session: id, Holder: peer, Token: h.token})
		}
	case 11:
		lives := rapid.SampledFrom([]time.Duration{0, ttl, ttl}).Draw(w.t, "peer")
		w.m.onMembers([]lease.Member{{Instance: peer, Remaining: lives}}, w.now)
		w.settle()
	case 12:
		switch rapid.IntRange(0, 2).Draw(w.t, "gap or fence") {
		case 0:
			w.m.onEvents([]redisevents.Event{redisevents.Gap{Restarted: w.edition%2 == 0}}, w.now)
		case 1:
			w.m.onFenced(!w.m.fenced, w.now)
		default:
			w.m.out.scan = true
		}
		w.settle()
	case 13:
		w.event(redisevents.LeaseFreed{Session: w.id()}) // anybody can publish one
	}
}

// carry takes one request to the store, in any order.
func (w *model) carry() {
	if len(w.requests) == 0 {
		return
	}
	i := rapid.IntRange(0, len(w.requests)-1).Draw(w.t, "request")
	f := w.requests[i]
	w.requests = append(w.requests[:i:i], w.requests[i+1:]...)
	f()
}

// hear takes one answer to the machine, in any order.
func (w *model) hear() {
	if len(w.answers) == 0 {
		return
	}
	i := rapid.IntRange(0, len(w.answers)-1).Draw(w.t, "answer")
	f := w.answers[i]
	w.answers = append(w.answers[:i:i], w.answers[i+1:]...)
	f()
	w.settle()
}

func (w *model) pass(d time.Duration) {
	end := w.now.Add(d)
	for range 1000 {
		at := w.m.next(w.now)
		if at.IsZero() || at.After(end) {
			break
		}
		w.now = at
		w.settle()
	}
	w.now = end
	w.settle()
}

// quiet lets all that is under way arrive and every leaseholder do as it is told.
func (w *model) quiet() {
	for range 10_000 {
		busy := len(w.requests)+len(w.answers) > 0
		for len(w.requests) > 0 {
			w.carry()
		}
		for len(w.answers) > 0 {
			w.hear()
		}
		for _, c := range w.alive {
			if c.asked {
				w.endOne(c, 3)
				busy = true
			}
		}
		if !busy {
			return
		}
	}
	w.t.Fatal("never comes to rest")
}

// TestMembershipModel runs random histories against a model of Redis, the
// documents and the leaseholders. In each: never two leaseholders or two claims of
// one session, never a grant given back under a leaseholder, no counter astray, no
// busy loop; what should be polled is, once the world holds still; and a drain
// ends.
func TestMembershipModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newModel(t)
		for range rapid.IntRange(1, 150).Draw(t, "steps") {
			w.step()
		}
		if rapid.Bool().Draw(t, "settles before the drain") {
			w.holdStill()
		}
		w.drain = true
		w.m.onDrain()
		w.settle()
		w.quiet()
		if !w.m.drained() {
			t.Fatalf("not drained: %d children, %d asking, %d handing", len(w.m.children), len(w.m.asking), len(w.m.handing))
		}
	})
}

// holdStill gives the node the fleet for itself, and time, and expects it to hold
// every session that can be polled and none other.
func (w *model) holdStill() {
	w.m.onFenced(false, w.now)
	w.settle()
	for range 30 {
		w.m.onMembers([]lease.Member{{Instance: peer}}, w.now)
		w.settle()
		w.pass(10 * time.Second)
		w.m.out.scan = true // the reconciliation
		w.settle()
		w.quiet()
		for _, c := range w.alive { // renewals
			if h, ok := w.leases[c.session]; ok && h.holder == self && h.token == c.token {
				h.until = w.now.Add(ttl)
				w.leases[c.session] = h
			} else {
				w.endOne(c, 1)
			}
		}
		w.quiet()
	}
	want := map[string]bool{}
	for _, id := range ids(5) {
		if d := w.document(id); !d.absent && d.fault == nil && d.session.Pollable() {
			want[id] = true
		}
	}
	if most := w.m.set.MaxSessions; most > 0 {
		if len(w.alive) != min(most, len(want)) {
			w.t.Fatalf("holds %d of %d sessions, may hold %d", len(w.alive), len(want), most)
		}
		return
	}
	for id := range want {
		if w.m.held[id] == nil {
			w.t.Fatalf("%s is not held: %+v", id, w.m.entries[id])
		}
	}
	if len(w.alive) != len(want) {
		w.t.Fatalf("holds %d sessions, should %d", len(w.alive), len(want))
	}
}
