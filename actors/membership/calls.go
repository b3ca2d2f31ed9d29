package membership

import (
	"context"
	"slices"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"leasehold/actors/tree"
	"leasehold/eventlog"
	"leasehold/heartbeat"
	"leasehold/lease"
	"leasehold/planner"
	"leasehold/rediskey"
	"leasehold/session"
)

// callLimit bounds a call to Redis that has many round trips. Those that go through all
// keys take as long as there are keys: each of their round trips has a limit of its own.
const callLimit = time.Minute

// call starts what needs Redis or much computing, beside the actor. Each answer
// comes back as a message.
func (a *membershipActor) call(c actor.Context, out orders) {
	a.claim(c, out.claims)
	a.look(c, out.look, func(s []lease.Status) Message { return &looked{statuses: s} })
	for _, peek := range lease.ByPlace(out.peek, a.machine.place, max(1, len(out.peek))) {
		a.look(c, peek, func(s []lease.Status) Message { return &peeked{statuses: s} })
	}
	a.fetch(c, out.fetch)
	a.check(c, out.check)
	if out.list {
		a.list(c)
	}
	if out.scan {
		a.scan(c)
	}
	if out.asksLoss {
		a.askLoss(c)
	}
	if out.noteLoss > 0 {
		a.noteLoss(c, out.noteLoss)
	}
	if in := out.plan; in != nil {
		tree.Async(c, func() any {
			return &planned{in: in, owners: planner.Assign(in.View)}
		})
	}
}

// queue is the claims of one place: those that wait for a call, and how many are under way.
type queue struct {
	claims []lease.Claim
	calls  int
}

// claim sends claims, those of each place by themselves: one that hangs keeps no others
// waiting.
func (a *membershipActor) claim(c actor.Context, claims []lease.Claim) {
	for _, claim := range claims {
		place := a.machine.place(claim.Session)
		q, ok := a.claims[place]
		if !ok {
			q = new(queue)
			a.claims[place] = q
		}
		q.claims = append(q.claims, claim)
	}
	for place, q := range a.claims {
		a.send(c, place, q)
	}
}

// send sends the claims of a place. Those that come while as many calls as may be are under
// way go together with the next: what a call costs besides its claims counts where leases end
// one after the other.
func (a *membershipActor) send(c actor.Context, place string, q *queue) {
	if now := time.Now(); !a.machine.claims(place, now) {
		a.machine.onUnsent(q.claims, now)
		q.claims = nil
	}
	for ; len(q.claims) > 0 && q.calls < claimFlights; q.calls++ {
		n := min(len(q.claims), claimBatch)
		batch := q.claims[:n:n]
		if q.claims = q.claims[n:]; len(q.claims) == 0 {
			q.claims = nil
		}
		parent, store, holder := a.cfg.Context, a.cfg.Store, a.cfg.Instance
		tree.Async(c, func() any {
			ctx, cancel := context.WithTimeout(parent, callLimit)
			defer cancel()
			sent := time.Now()
			return &claimed{place: place, outcomes: store.Acquire(ctx, holder, batch), sent: sent}
		})
	}
}

func (a *membershipActor) look(c actor.Context, ids []string, answer func([]lease.Status) Message) {
	if len(ids) == 0 {
		return
	}
	parent, store := a.cfg.Context, a.cfg.Store
	tree.Async(c, func() any {
		ctx, cancel := context.WithTimeout(parent, callLimit)
		defer cancel()
		return answer(store.Look(ctx, ids))
	})
}

func (a *membershipActor) check(c actor.Context, names []string) {
	if len(names) == 0 {
		return
	}
	slices.Sort(names)
	names = slices.Compact(names)
	parent, members := a.cfg.Context, a.cfg.Members
	tree.Async(c, func() any {
		ctx, cancel := context.WithTimeout(parent, callLimit)
		defer cancel()
		list, err := members.Check(ctx, names)
		return &checked{asked: names, members: list, err: err}
	})
}

func (a *membershipActor) list(c actor.Context) {
	if a.listing {
		a.listAgain = true
		return
	}
	a.listing = true
	parent, members := a.cfg.Context, a.cfg.Members
	tree.Async(c, func() any {
		list, err := members.List(parent)
		return &listed{members: list, err: err}
	})
}

func (a *membershipActor) askLoss(c actor.Context) {
	parent, members := a.cfg.Context, a.cfg.Members
	tree.Async(c, func() any {
		asked := time.Now()
		ago, noted, err := members.LossNoted(parent)
		return &toldLoss{ago: ago, noted: noted, err: err, asked: asked}
	})
}

func (a *membershipActor) noteLoss(c actor.Context, ttl time.Duration) {
	ctx, members, instance := a.cfg.Context, a.cfg.Members, a.cfg.Instance
	tree.Async(c, func() any {
		heartbeat.TellLoss(ctx, members, instance, ttl)
		return &wake{}
	})
}

func (a *membershipActor) scan(c actor.Context) {
	if a.scanning {
		a.scanMore = true
		return
	}
	a.scanning = true
	parent, source, decode, texts := a.cfg.Context, a.cfg.Source, a.decoder(), a.texts
	tree.Async(c, func() any {
		read := time.Now()
		docs := make([]document, 0, texts.found())
		err := source.Scan(parent, func(batch []session.Document) {
			for _, d := range batch {
				if fingerprint, same := texts.same(d); same {
					docs = append(docs, document{id: d.ID, unchanged: true, fingerprint: fingerprint})
					continue
				}
				docs = append(docs, decode(d))
			}
		})
		texts.end(err)
		return &scanned{docs: docs, read: read, err: err}
	})
}

func (a *membershipActor) fetch(c actor.Context, ids []string) {
	if len(ids) == 0 {
		return
	}
	slices.Sort(ids)
	ids = slices.Compact(ids)
	parent, source, decode := a.cfg.Context, a.cfg.Source, a.decoder()
	tree.Async(c, func() any {
		ctx, cancel := context.WithTimeout(parent, callLimit)
		defer cancel()
		read := time.Now()
		raw, err := source.Get(ctx, ids)
		if err != nil && len(raw) == 0 {
			return &fetched{unread: ids}
		}
		answer := &fetched{docs: make([]document, 0, len(raw)), read: read}
		for _, d := range raw {
			if d.Unread != nil {
				answer.unread = append(answer.unread, d.ID)
				continue
			}
			answer.docs = append(answer.docs, decode(d))
		}
		return answer
	})
}

// decoder returns a function that any goroutine may use.
func (a *membershipActor) decoder() func(session.Document) document {
	defaults, check := a.cfg.Defaults, a.cfg.CheckID
	return func(d session.Document) document {
		return decode(d, defaults, check)
	}
}

func decode(d session.Document, defaults session.Defaults, check func(string) error) document {
	doc := document{id: d.ID}
	bad := func(err error) document {
		doc.fault = &fault{fingerprint: session.Fingerprint(d.Raw), reason: err.Error()}
		return doc
	}
	if d.Err != nil {
		return bad(d.Err)
	}
	if d.Raw == nil {
		doc.absent = true
		return doc
	}
	if err := rediskey.ValidID(d.ID); err != nil {
		return bad(err)
	}
	if check != nil {
		if err := check(d.ID); err != nil {
			return bad(err)
		}
	}
	s, err := session.Decode(d.ID, d.Raw, defaults)
	if err != nil {
		return bad(err)
	}
	doc.session = &s
	return doc
}

// noteLook follows the end of a look at everything of a kind, of which the one before
// failed or not, and reports whether this one did. The first of an outage is logged: it is
// repeated soon, and the others would say the same.
func (a *membershipActor) noteLook(kind string, failed bool, err error) bool {
	if err == nil || a.cfg.Context.Err() != nil { // the process ends, which says nothing of Redis
		return false
	}
	if !failed {
		a.machine.log(eventlog.ReconcileFailed{Kind: kind, Err: err})
	}
	return true
}

func (a *membershipActor) onListed(c actor.Context, m *listed, now time.Time) {
	a.listing = false
	a.unlisted = a.noteLook("member", a.unlisted, m.err)
	if m.err != nil {
		a.machine.onMembers(m.members, now) // nobody is missed who is not among them
		if !a.listLater {
			a.listLater = true
			tree.Self(c).After(firstPause, &relist{list: true})
		}
		return
	}
	a.machine.onList(m.members, now)
	if a.listAgain {
		a.listAgain = false
		a.machine.out.list = true
	}
}

func (a *membershipActor) onChecked(m *checked, now time.Time) {
	a.machine.onMembers(m.members, now) // for the others the fleet's own appointment comes again
}

// fetchLater repeats all failed readings of documents in one.
func (a *membershipActor) fetchLater(c actor.Context, ids []string) {
	if len(a.unread) == 0 {
		tree.Self(c).After(firstPause, &refetch{})
	}
	a.unread = append(a.unread, ids...)
}

func (a *membershipActor) onScanned(c actor.Context, m *scanned, now time.Time) {
	a.scanning = false
	a.unscanned = a.noteLook("session", a.unscanned, m.err)
	if m.err != nil {
		a.machine.onPart(m.docs, m.read, now)
		if !a.scanLater {
			a.scanLater = true
			tree.Self(c).After(mostPause, &relist{scan: true})
		}
		return
	}
	a.machine.onScan(m.docs, m.read, now)
	if a.scanMore {
		a.scanMore = false
		a.machine.out.scan = true
	}
}

func (a *membershipActor) onFetched(c actor.Context, m *fetched, now time.Time) {
	if len(m.unread) > 0 {
		a.fetchLater(c, m.unread)
	}
	a.machine.onDocuments(m.docs, m.read, now)
}
