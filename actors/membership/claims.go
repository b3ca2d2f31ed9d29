package membership

import (
	"errors"
	"fmt"
	"time"

	"leasehold/actors/leaseholder"
	"leasehold/actors/renewer"
	"leasehold/eventlog"
	"leasehold/lease"
	"leasehold/redisevents"
	"leasehold/session"
)

// consider claims a session if this node may and should try it now, or makes an
// appointment for when it may. The turn of a node that the plan does not name begins with
// a look: mostly those before have the lease, and a look costs Redis much less.
func (m *machine) consider(id string, e *entry, why trigger, now time.Time) {
	switch {
	case !m.mayClaim(id, e, why, now):
	case why == byFallback && !e.mine && !e.doubtful(now) && e.abandoned(m.ttl(e), now) == "":
		m.peek(id, e, why)
	default:
		m.claim(id, e, why, now)
	}
}

// mayClaim reports whether this node may and should try a session now; if only later,
// it makes an appointment.
func (m *machine) mayClaim(id string, e *entry, why trigger, now time.Time) bool {
	_, held := m.held[id]
	if held || m.asking[id] != nil || m.handing[id] > 0 || !m.ready || m.fenced || m.draining || !e.session.Pollable() {
		return false
	}
	if !e.mine && why != byFallback && !e.doubtful(now) {
		return false
	}
	if m.fleet.cordon != lease.Open && !e.doubtful(now) {
		return false // whoever ranks next takes it
	}
	if why == byPlan && e.holder != "" && now.Before(e.heldUntil) {
		m.wake(id, e, m.nextTry(e, now), byTimer)
		return false
	}
	if at := m.barred(e, now); now.Before(at) {
		if why == byFallback { // the nodes before this one are barred as long
			at = at.Add(time.Duration(m.rank(e)) * rankDelay)
		}
		m.wake(id, e, at, why)
		return false
	}
	// At the limit whoever ranks next takes it.
	return m.set.MaxSessions <= 0 || len(m.children)+len(m.asking) < m.set.MaxSessions
}

func (m *machine) claim(id string, e *entry, why trigger, now time.Time) {
	ttl := m.ttl(e)
	m.asking[id] = &ask{why: why, ttl: ttl}
	m.out.claims = append(m.out.claims, lease.Claim{
		Session: id, TTL: m.set.Stagger.TTL(id, ttl), Abandoned: e.abandoned(ttl, now), Interval: e.session.Interval,
	})
}

// barred returns until when this node must not claim a session.
func (m *machine) barred(e *entry, now time.Time) time.Time {
	at := m.pauseOf(e.session.ID).until
	if e.notBefore.After(at) {
		at = e.notBefore
	}
	if until := m.holdEnds(e); !e.stillOurs(now) && until.After(at) {
		at = until
	}
	return at
}

// othersBarred reports whether other nodes may still hold off: they hear of another
// server at different times. Then it says nothing about them that they take nothing.
func (m *machine) othersBarred(e *entry, now time.Time) bool {
	return now.Before(m.othersBarredUntil(e))
}

func (m *machine) othersBarredUntil(e *entry) time.Time { return m.holdEnds(e).Add(newcomer) }

// holdEnds is when a session of another may be claimed again; long ago where Redis has
// forgotten nothing.
func (m *machine) holdEnds(e *entry) time.Time {
	if m.forgotAt.IsZero() {
		return time.Time{}
	}
	return m.forgotAt.Add(m.hold(e))
}

// hold is how long a session of another is not claimed after Redis may have
// forgotten its lease: its holder claims it again at once, and a poll of a holder
// that was cut off is over by then.
func (m *machine) hold(e *entry) time.Duration {
	return max(m.set.TTL, min(m.ttl(e), e.session.Timeout+m.set.PollSlack))
}

// onLeaseFreed answers the hint that a lease went.
func (m *machine) onLeaseFreed(freed redisevents.LeaseFreed, now time.Time) {
	id := freed.Session
	e, ok := m.entries[id]
	if c, held := m.held[id]; held {
		late := ok && freed.Cause == redisevents.Expired && now.Before(e.ledAt.Add(echo))
		if !c.leaving && !late { // somebody took it from us, or says so
			m.out.tells = append(m.out.tells, tell{id: c.id, message: &leaseholder.Verify{}})
		}
		return
	}
	if !ok {
		return
	}
	if a := m.asking[id]; a != nil {
		a.freed = true
	}
	e.orphan = false
	if freed.Cause == redisevents.Deleted {
		e.givenUpAt = now
	}
	if freed.Cause == redisevents.Expired {
		m.onRanOut(id, e, now)
	} else {
		e.ranOutOf = ""
	}
	m.tryFreed(id, e, now)
}

// onRanOut books whose lease ran out. Under a plan that is younger than the lease it may be
// that of a node that went, whose heir is not to blame for it, nor for being busy.
func (m *machine) onRanOut(id string, e *entry, now time.Time) {
	e.orphan = now.Before(e.ownedAt.Add(m.ttl(e)))
	switch holder := m.holder(id, e, now); {
	case e.orphan && holder == e.owner && holder != e.holder:
	case holder != "":
		e.ranOutOf = holder
	}
}

// tryFreed has a session tried whose lease went just now.
func (m *machine) tryFreed(id string, e *entry, now time.Time) {
	e.free()
	e.foreign = false
	e.freedAt = now
	if e.mine {
		m.consider(id, e, byEvent, now)
		return
	}
	m.fallBack(id, e, now)
}

// fallBack makes an appointment to try a session that the nodes before this one
// may not have taken by then.
func (m *machine) fallBack(id string, e *entry, now time.Time) {
	if e.owner == "" || !e.session.Pollable() {
		return // the plan is on its way
	}
	if rank := m.rank(e); rank <= fallbacks {
		m.takeTurn(id, e, rank, now)
	}
}

// takeTurn makes an appointment to try a session after the nodes that rank before.
// Turns count from when this node is ready, as the others' do: before, settleDown
// will come back to the session.
func (m *machine) takeTurn(id string, e *entry, rank int, now time.Time) {
	if !m.ready {
		return
	}
	delay := rankDelay
	if m.fleet.isNew(e.owner, now) {
		delay = settle // it may be settling still
	}
	m.wake(id, e, now.Add(time.Duration(rank)*delay), byFallback)
}

// onOutcomes takes in the answers to claims that were sent at sent.
func (m *machine) onOutcomes(outcomes []lease.Outcome, sent, now time.Time) {
	m.noteServer(outcomes, sent, now)
	room := false
	for _, o := range outcomes {
		a, asked := m.asking[o.Session]
		if !asked {
			continue // answers come once
		}
		delete(m.asking, o.Session)
		e, ok := m.entries[o.Session]
		room = room || !o.Granted
		unknown := lease.Unknown(o.Err)
		if ok && !unknown {
			e.doubtUntil = time.Time{}
		}
		switch {
		case o.Granted && o.Err == nil:
			m.onGranted(o, e, a, sent, now)
		case !ok:
		case unknown:
			m.onUnanswered(o, e, a, now)
		case o.Err != nil:
			m.onForeignLease(o.Session, e, o.Err, now)
		case a.freed:
			m.tryFreed(o.Session, e, now)
		default:
			m.onHeld(o, e, a, now)
		}
	}
	if len(m.asking) == 0 {
		m.asking = make(map[string]*ask) // after a start it had room for all sessions
	}
	m.endPauses(outcomes)
	if room {
		m.considerRoom(now)
	}
}

// considerRoom looks at what this node had no room for before.
func (m *machine) considerRoom(now time.Time) {
	if m.set.MaxSessions > 0 && !m.draining {
		m.considerMine(now)
	}
}

func (m *machine) onForeignLease(id string, e *entry, err error, now time.Time) {
	e.since = now // nobody can have it
	if !e.foreign {
		e.foreign = true
		m.log(eventlog.KeyForeign{Key: m.set.Keys.Lease(id), Reason: err.Error()})
	}
}

// onHeld books that another has the lease, and tries again at its deadline.
func (m *machine) onHeld(o lease.Outcome, e *entry, a *ask, now time.Time) {
	m.noteHolder(o.Session, e, o.Holder, o.Remaining, now)
	m.log(eventlog.LeaseAcquireFailed{Session: o.Session, Trigger: string(a.why), Holder: o.Holder})
	if e.mine {
		m.wake(o.Session, e, m.nextTry(e, now), byTimer)
	}
}

// nextTry is when a session that another holds is tried again: at the lease's
// deadline, or soon if its release would not be heard.
func (m *machine) nextTry(e *entry, now time.Time) time.Time {
	at := e.heldUntil.Add(touchAfter)
	if soon := now.Add(deafPace); m.deaf && m.fleet.lives(e.holder) && soon.Before(at) {
		return soon
	}
	return at
}

// noteHolder books who has a lease, and warns once of one without expiry.
func (m *machine) noteHolder(id string, e *entry, holder string, remaining time.Duration, now time.Time) {
	news := remaining == lease.NoExpiry && e.unbounded != holder
	e.foreign = false
	m.followed(e, holder, now)
	m.drift(e, holder)
	e.heldBy(holder, remaining, m.ttl(e), now)
	if news {
		m.log(eventlog.LeaseAcquireFailed{Session: id, Holder: holder, Err: fmt.Errorf(
			"the lease of %q has no expiry; unless it is renewed it is taken over in %s", holder, abandonedAfter(m.ttl(e)))})
	}
}

// onGranted makes the leaseholder of a session, or gives the grant back if it is
// not wanted any more, or not to be used.
func (m *machine) onGranted(o lease.Outcome, e *entry, a *ask, sent, now time.Time) {
	grant := m.grant(o.Session, o.Token)
	if e == nil || m.draining || !e.session.Pollable() || m.isBurnt(grant, now) {
		m.handBack(grant, m.removed(o.Session))
		return
	}
	first, heldOff := max(o.Wait, time.Duration(len(m.asking))*claimTime), time.Duration(0)
	// One that is ours already may have been fresh when a claim got it that had no answer.
	unsure := o.Fresh || o.Already && o.Server == "" || !sent.After(m.forgotAt)
	if unsure && m.forgotten(e, sent, now) {
		heldOff = m.ttl(e) // a poll of who had it may still be in flight
		e.keptUntil = later(e.keptUntil, now.Add(min(heldOff, m.hold(e))))
	}
	aloneFrom := now.Add(m.ttl(e))
	if o.Fresh && m.isNew(e, now) || e.stillOurs(now) {
		aloneFrom = now // else the counter is that of a holder before, known here or not
	}
	m.noteTakeover(o, e, a, now)
	excused := e.orphan
	m.followed(e, m.set.Instance, now)
	m.drift(e, m.set.Instance)
	e.free()
	e.own(now)
	e.freedAt = time.Time{}
	m.makeChild(e, a, grant, leaseholder.Config{First: first, HeldOff: heldOff}, sent).aloneFrom = aloneFrom
	if a.why == byFallback && !e.mine && !excused && now.Sub(e.ownedAt) > settle && m.fleet.takes(e.owner) &&
		!m.othersBarred(e, now) {
		m.letPass(e, o.Failing, now)
	}
	m.noteSurplus(o.Session, e, now)
}

// letPass notes that the owner did not take a session: it has no room. Where polls fail
// and the document wants another to try then, it may only stand back.
func (m *machine) letPass(e *entry, failing bool, now time.Time) {
	if failing && e.session.OnFailure == session.Release {
		e.keptUntil = now.Add(m.set.Reconcile)
		return
	}
	m.fleet.decline(e.owner, now, m.set.Reconcile, keepMost*m.set.Reconcile)
}

// forgotten reports whether a session, claimed at sent and granted by a server that has
// no counter of it or is another than was known then, is one that another had before
// Redis forgot it, and that this node has not held off since.
func (m *machine) forgotten(e *entry, sent, now time.Time) bool {
	if m.isNew(e, now) || e.stillOurs(now) || m.rewritten(e, now) {
		return false
	}
	heldOff := m.forgotAt.After(e.ledAt) && !sent.Before(m.holdEnds(e))
	return !heldOff
}

// rewritten reports whether a session's document was written, and its lease given up, just
// now: it may have had no document for a moment, for which its holder had the state deleted.
// Then nothing was lost.
func (m *machine) rewritten(e *entry, now time.Time) bool {
	at := e.givenUpAt
	return now.Before(at.Add(handover)) && now.Before(e.touchedAt.Add(handover)) && m.forgotAt.Before(at)
}

// isNew reports whether nobody has had a session yet. Nodes do not look at all leases,
// but what was there to poll for a TTL had an owner, and what was there before Redis
// forgot may have had one.
func (m *machine) isNew(e *entry, now time.Time) bool {
	return e.ledAt.IsZero() && now.Before(e.since.Add(m.ttl(e))) && !m.forgotAt.After(e.since)
}

// makeChild makes a leaseholder for the TTL that Redis was asked for. Where the
// document names another by now, the leaseholder hears of it like of any edit.
func (m *machine) makeChild(e *entry, a *ask, grant lease.Grant, cfg leaseholder.Config, sent time.Time) *child {
	margin := renewer.Margin(a.ttl, m.set.TTL, m.set.Margin)
	m.lastID++
	c := &child{id: m.lastID, session: grant.Session, token: grant.Token, ttl: a.ttl}
	m.children[c.id], m.held[grant.Session] = c, c
	cfg.Term = lease.NewTerm(grant, sent, m.set.Stagger.TTL(grant.Session, a.ttl), margin)
	cfg.TTL, cfg.Session = a.ttl, e.session
	m.out.spawns = append(m.out.spawns, spawn{id: c.id, cfg: cfg})
	if m.ttl(e) != a.ttl {
		m.update(c, e)
	}
	return c
}

// update tells a leaseholder of a changed document.
func (m *machine) update(c *child, e *entry) {
	c.ttl = m.ttl(e)
	m.out.tells = append(m.out.tells, tell{id: c.id, message: &leaseholder.Update{Session: e.session, TTL: c.ttl}})
}

func (m *machine) grant(id string, token lease.Token) lease.Grant {
	return lease.Grant{Session: id, Holder: m.set.Instance, Token: token}
}

// handBack gives a grant back that has no leaseholder. Until that is answered the
// session is not claimed: a claim could find the grant still there, and a release
// that is repeated would end it under the new leaseholder.
func (m *machine) handBack(grant lease.Grant, forget bool) {
	m.out.back = append(m.out.back, lease.Release{Grant: grant, Forget: forget})
	m.handing[grant.Session]++
}

// noteTakeover logs an acquisition. A lease that ran out by its deadline alone ran out
// of its holder.
func (m *machine) noteTakeover(o lease.Outcome, e *entry, a *ask, now time.Time) {
	takeover := time.Duration(-1)
	switch {
	case !e.freedAt.IsZero():
		takeover = now.Sub(e.freedAt)
	case e.holder != "" && !now.Before(e.heldUntil):
		takeover = now.Sub(e.heldUntil)
		if e.unbounded == "" {
			e.ranOutOf = e.holder
		}
	}
	m.log(eventlog.LeaseAcquired{
		Session: o.Session, Version: int64(o.Token), Trigger: string(a.why),
		Previous: e.holder, Takeover: takeover,
	})
	if a.why == byScan {
		m.log(eventlog.ReconcileRepaired{Kind: "lease", Count: 1})
	}
}

// followed books that a lease has a holder. A node whose lease ran out although its
// heartbeat lives, and that another followed, is suspect: one that works would have
// claimed it again before all others.
func (m *machine) followed(e *entry, holder string, now time.Time) {
	was := e.ranOutOf
	e.ranOutOf, e.orphan = "", false
	delete(m.left, e.session.ID)
	if was != "" && was != holder && m.fleet.suspect(was) {
		m.out.check = append(m.out.check, was)
		m.changedAt, m.stale = now, true
	}
}

// onBack follows the answer to a release without a leaseholder.
func (m *machine) onBack(grant lease.Grant, err error, now time.Time) {
	id := grant.Session
	switch {
	case !lease.Unknown(err):
		delete(m.left, id)
	case grant.Token != 0:
		m.left[id] = grant.Token
		m.burn(id, grant.Token, now)
	}
	m.handing[id]--
	if m.handing[id] > 0 {
		return
	}
	delete(m.handing, id)
	if e, ok := m.entries[id]; ok {
		m.consider(id, e, byEvent, now)
	}
}

// onStatuses takes in a look at leases.
func (m *machine) onStatuses(statuses []lease.Status, now time.Time) {
	m.looked = true // without an answer too: the next scan looks again
	for _, s := range statuses {
		if e, ok := m.entries[s.Session]; ok {
			m.onStatus(s, e, now)
		}
	}
}

func (m *machine) onStatus(s lease.Status, e *entry, now time.Time) {
	if m.held[s.Session] != nil || m.asking[s.Session] != nil {
		return
	}
	switch {
	case errors.Is(s.Err, lease.ErrForeign):
		m.onForeignLease(s.Session, e, s.Err, now)
	case s.Err != nil:
		// The next look may have an answer.
	case s.Holder == m.set.Instance:
		// A claim without an answer took it, or a leaseholder lost trust in it. Or Redis
		// went back to a lease that was given up since, and may have forgotten who had it
		// then, as it may have before that claim.
		e.free()
		if e.stillOurs(now) && !e.doubtful(now) {
			e.own(now)
		}
		e.doubtUntil = now.Add(max(s.Remaining, m.ttl(e)))
		m.consider(s.Session, e, byScan, now)
	case s.Holder != "":
		m.noteHolder(s.Session, e, s.Holder, s.Remaining, now)
		switch {
		case e.mine:
			m.wake(s.Session, e, m.nextTry(e, now), byTimer)
		case e.abandoned(m.ttl(e), now) != "":
			m.takeTurn(s.Session, e, m.rank(e), now) // as good as free
		}
	case e.mine:
		m.consider(s.Session, e, byScan, now)
	default:
		// Free at a scan: the nodes before may have no room, so all take turns.
		m.takeTurn(s.Session, e, m.rank(e), now)
	}
}
