package keeper

import (
	"errors"
	"time"

	"leasehold/actors/leaseholder"
	"leasehold/actors/tenure"
	"leasehold/eventlog"
	"leasehold/lease"
	"leasehold/redisevents"
)

// phase is where in its life an entry is.
type phase int

const (
	asking  phase = iota // the claim is on its way
	opening              // granted; the tenure begins
	held
	leaving // the leaseholder was told to give it back
	handing // a release without a leaseholder is on its way
)

// entry is one session that somebody asked for.
type entry struct {
	phase  phase
	id     uint64 // of the leaseholder
	token  lease.Token
	tenure *tenure.Tenure

	takers []*Take
	givers []*GiveBack

	ended *leaseholder.Ended
}

// machine decides what a keeper claims and gives back. It knows no actor and no I/O:
// every method leaves its wishes in out.
type machine struct {
	holder      string
	ttl, margin time.Duration

	entries  map[string]*entry
	sessions map[uint64]string // of the leaseholders
	lastID   uint64
	draining bool

	told     bool      // whether Redis lost data before this keeper could see it
	forgotAt time.Time // when Redis may have forgotten leases
	server   string    // its present life, as far as it tells
	lost     memory    // what this keeper lost: for a margin nobody can have had it since
	burnt    memory    // tokens whose release had no answer
	others   memory    // who had what this keeper was refused
	barred   memory    // what Redis was found to have forgotten

	out orders
}

// orders is what the machine wants done.
type orders struct {
	claims []lease.Claim
	spawns []spawn
	tells  []tell
	back   []lease.Release
	renew  bool // everything, at once
	tell   bool // those that start of a loss of data
	logs   []eventlog.Event
}

type spawn struct {
	id  uint64
	cfg leaseholder.Config
}

type tell struct {
	id      uint64
	message leaseholder.Message
}

func newMachine(cfg Config) *machine {
	return &machine{
		holder: cfg.Holder, ttl: cfg.TTL, margin: cfg.Margin,
		entries: make(map[string]*entry), sessions: make(map[uint64]string),
		lost: newMemory(), burnt: newMemory(), others: newMemory(), barred: newMemory(),
	}
}

func (m *machine) take() orders {
	out := m.out
	m.out = orders{}
	return out
}

func (m *machine) tell(e *entry, message leaseholder.Message) {
	m.out.tells = append(m.out.tells, tell{id: e.id, message: message})
}

func (m *machine) onRequest(request Request, now time.Time) {
	switch r := request.(type) {
	case *Take:
		m.onTake(r, now)
	case *GiveBack:
		m.onGiveBack(r)
	}
}

func (m *machine) onTake(t *Take, now time.Time) {
	e, ok := m.entries[t.Session]
	switch {
	case m.draining:
		t.Answer(Taken{Err: ErrDraining})
	case ok:
		m.join(e, t)
	case m.heldOff(t.Session, now):
		t.Answer(Taken{Err: ErrHeldOff})
	default:
		m.entries[t.Session] = &entry{takers: []*Take{t}}
		m.out.claims = append(m.out.claims, lease.Claim{
			Session: t.Session, TTL: m.ttl, Abandoned: m.abandoned(t.Session, now), Alone: true,
		})
	}
}

// join answers who asks for a session that there is an entry for.
func (m *machine) join(e *entry, t *Take) {
	switch e.phase {
	case asking, opening:
		e.takers = append(e.takers, t)
	case held:
		switch {
		case e.tenure.Usable():
			t.Answer(Taken{Granted: true})
		case e.tenure.Context().Err() == nil:
			m.tell(e, &leaseholder.Verify{})
			t.Answer(Taken{Err: ErrUncertain})
		default: // lost, and what worked under it is ending
			t.Answer(Taken{})
		}
	case leaving, handing:
		t.Answer(Taken{})
	}
}

func (m *machine) onGiveBack(g *GiveBack) {
	e, ok := m.entries[g.Session]
	if !ok {
		g.Answer(nil)
		return
	}
	e.givers = append(e.givers, g)
	m.leave(e, leaseholder.Asked)
}

// leave has a leaseholder give its lease back. What is still asked for is handed back
// when it is granted.
func (m *machine) leave(e *entry, reason leaseholder.Reason) {
	if e.phase == opening || e.phase == held {
		e.phase = leaving
		m.tell(e, &leaseholder.Release{Reason: reason})
	}
}

// onOutcomes takes in the answers to claims that were sent at sent.
func (m *machine) onOutcomes(outcomes []lease.Outcome, sent, now time.Time) {
	m.noteServer(outcomes, sent, now)
	for _, o := range outcomes {
		e := m.entries[o.Session]
		switch {
		case errors.Is(o.Err, ErrHeldOff): // it was never sent
			m.finish(o.Session, e, o.Err, nil)
		case o.Err != nil:
			m.out.logs = append(m.out.logs, eventlog.LeaseAcquireFailed{Session: o.Session, Trigger: string(leaseholder.Asked), Err: o.Err})
			m.finish(o.Session, e, o.Err, o.Err)
		case !o.Granted:
			m.noteOther(o, now)
			m.out.logs = append(m.out.logs, eventlog.LeaseAcquireFailed{Session: o.Session, Trigger: string(leaseholder.Asked), Holder: o.Holder})
			m.finish(o.Session, e, nil, nil)
		default:
			m.onGranted(o, e, sent, now)
		}
	}
}

func (m *machine) onGranted(o lease.Outcome, e *entry, sent, now time.Time) {
	e.token = o.Token
	if m.draining || len(e.givers) > 0 || m.burnt.get(o.Session, now).token == o.Token {
		m.handBack(o.Session, e, nil)
		return
	}
	if m.early(o.Session, sent, now) {
		m.putOff(o, e)
		return
	}
	// One that is ours already may have been fresh when a claim got it that had no answer.
	unsure := o.Fresh || o.Already && o.Server == ""
	if unsure && m.forgotten(o.Session, sent, now) {
		m.others.forget(o.Session)
		m.barred.keep(o.Session, mark{until: now.Add(m.ttl)}, now)
		m.putOff(o, e)
		return
	}
	m.lost.forget(o.Session)
	m.burnt.forget(o.Session)
	m.others.forget(o.Session)
	m.lastID++
	e.phase, e.id = opening, m.lastID
	m.sessions[e.id] = o.Session
	m.out.spawns = append(m.out.spawns, spawn{id: e.id, cfg: leaseholder.Config{
		Term: lease.NewTerm(m.grant(o.Session, e), sent, m.ttl, m.margin), TTL: m.ttl,
	}})
	m.out.logs = append(m.out.logs, eventlog.LeaseAcquired{
		Session: o.Session, Version: int64(o.Token), Trigger: string(leaseholder.Asked), Takeover: -1,
	})
}

// putOff hands a grant back that another may not know yet to have lost. Without its
// counter the session goes on telling that it was forgotten.
func (m *machine) putOff(o lease.Outcome, e *entry) {
	m.handBack(o.Session, e, ErrHeldOff)
	m.out.back[len(m.out.back)-1].Forget = o.Fresh
}

// leaseholder is the number of the one that has a grant; zero, which is no number, if
// none has it any more.
func (m *machine) leaseholder(g lease.Grant) uint64 {
	if e, ok := m.entries[g.Session]; ok && e.token == g.Token {
		return e.id
	}
	return 0
}

// onOpened answers who asked for a lease that can be seen to be ours now.
func (m *machine) onOpened(id uint64, t *tenure.Tenure) {
	e, ok := m.entries[m.sessions[id]]
	if !ok {
		return
	}
	e.tenure = t
	if e.phase != opening {
		m.refuse(e, nil)
		return
	}
	e.phase = held
	wanted := false
	for _, taker := range e.takers {
		wanted = taker.Answer(Taken{Granted: true}) || wanted
	}
	e.takers = nil
	if !wanted {
		m.leave(e, leaseholder.Asked)
	}
}

// refuse answers who asked for a lease that is not to be had.
func (m *machine) refuse(e *entry, err error) {
	if m.draining && err == nil {
		err = ErrDraining
	}
	for _, t := range e.takers {
		t.Answer(Taken{Err: err})
	}
	e.takers = nil
}

// handBack gives a grant back that has no leaseholder, and answers who asked for it.
func (m *machine) handBack(session string, e *entry, err error) {
	m.refuse(e, err)
	e.phase = handing
	m.out.back = append(m.out.back, lease.Release{Grant: m.grant(session, e)})
}

func (m *machine) grant(session string, e *entry) lease.Grant {
	return lease.Grant{Session: session, Holder: m.holder, Token: e.token}
}

// onBack follows the answer to a release without a leaseholder.
func (m *machine) onBack(session string, err error, now time.Time) {
	e, ok := m.entries[session]
	if !ok {
		return
	}
	if !lease.Unknown(err) {
		err = nil
	}
	m.burn(session, e, err, now)
	m.finish(session, e, nil, err)
}

func (m *machine) onEnded(id uint64, r *leaseholder.Ended) {
	if e, ok := m.entries[m.sessions[id]]; ok {
		e.ended = r
	}
}

// onTerminated follows the end of a leaseholder: only now may there be another.
func (m *machine) onTerminated(id uint64, now time.Time) {
	session := m.sessions[id]
	e, ok := m.entries[session]
	if !ok {
		return
	}
	delete(m.sessions, id)
	if e.ended == nil { // it failed, and nobody gave its lease back
		m.handBack(session, e, ErrFailed)
		return
	}
	if !e.ended.Released && !e.ended.Taken {
		m.lost.keep(session, mark{until: e.trustEnded(now).Add(m.margin)}, now)
	}
	m.burn(session, e, e.ended.Err, now)
	m.finish(session, e, nil, e.ended.Err)
}

// trustEnded is when the trust in a lost lease ended. Work that ends late may put off the
// news for long, and another may have had the lease since.
func (e *entry) trustEnded(now time.Time) time.Time {
	end := e.ended.Trusted
	if end.After(now) {
		end = now
	}
	if e.tenure == nil {
		return end
	}
	if at := e.tenure.Cell().Ended(); !at.IsZero() && at.Before(end) {
		return at // it was refused before its deadline
	}
	return end
}

// burn remembers a token whose release had no answer.
func (m *machine) burn(session string, e *entry, err error, now time.Time) {
	if err != nil {
		m.burnt.keep(session, mark{token: e.token, until: now.Add(leaseholder.UnheardFor)}, now)
	}
}

// finish ends an entry: a new request begins anew.
func (m *machine) finish(session string, e *entry, take, back error) {
	delete(m.entries, session)
	m.refuse(e, take)
	for _, g := range e.givers {
		g.Answer(back)
	}
}

// heldOff reports whether a session must not be claimed yet, since Redis may have
// forgotten who has it.
func (m *machine) heldOff(session string, now time.Time) bool {
	return m.barred.has(session, now) || m.early(session, now, now)
}

// early reports whether a claim that was sent at sent came before whoever else may have
// the session has noticed that Redis forgot: also one that was sent before the news.
func (m *machine) early(session string, sent, now time.Time) bool {
	return !m.forgotAt.IsZero() && sent.Before(m.forgotAt.Add(m.ttl)) && !m.lost.has(session, now)
}

// noteServer follows the name of the server that answered claims: events tell of another
// server only once they are back, and nothing else stands between its grants and their
// use. The first that is heard of is no news. Neither is the name in an error, which a
// server may send that was demoted, nor that in an answer to what was sent before the news.
func (m *machine) noteServer(outcomes []lease.Outcome, sent, now time.Time) {
	for _, o := range outcomes {
		if o.Err != nil || o.Server == "" || o.Server == m.server || !sent.After(m.forgotAt) {
			continue
		}
		if m.server != "" {
			m.onServerChanged(now)
		}
		m.server = o.Server
	}
}

// onServerChanged follows the news that Redis may have forgotten leases.
func (m *machine) onServerChanged(now time.Time) {
	m.out.renew, m.out.tell = true, true
	m.forgot("Redis was restarted or replaced", now, now)
}

// asksLoss reports whether to ask, before a claim, if Redis lost data before this keeper
// could see it.
func (m *machine) asksLoss() bool { return !m.told && m.forgotAt.IsZero() }

// onLoss takes in the answer: others saw a loss so long ago, if noted.
func (m *machine) onLoss(ago time.Duration, noted bool, now time.Time) {
	m.told = true
	if noted && m.forgotAt.IsZero() {
		m.forgot("others saw that Redis may have lost data", now.Add(-ago), now)
	}
}

// forgot has all that others may have had at a moment wait for a TTL.
func (m *machine) forgot(reason string, at, now time.Time) {
	m.forgotAt = at
	m.out.logs = append(m.out.logs, eventlog.ClaimsHeldOff{Reason: reason, Duration: at.Add(m.ttl).Sub(now)})
}

// onGap has everything looked at. Events may begin later than claims: then their server is
// news that only the next answer can tell.
func (m *machine) onGap(g redisevents.Gap, now time.Time) {
	m.out.renew = true
	if g.Server != "" && (g.Restarted || m.server == "") {
		m.server = g.Server
	}
	if g.Restarted {
		m.onServerChanged(now)
	}
}

// forgotten reports whether a session that may have no counter, claimed at sent, is one that
// another had a while ago: a claim can be quicker than the news that Redis forgot.
func (m *machine) forgotten(session string, sent, now time.Time) bool {
	other := m.others.get(session, now)
	heldOff := m.forgotAt.After(other.since) && !sent.Before(m.forgotAt.Add(m.ttl))
	return other.holder != "" && !heldOff
}

// noteOther remembers who has a session, and since when he has it without expiry. One
// whose poll may be in flight has it no more.
func (m *machine) noteOther(o lease.Outcome, now time.Time) {
	m.lost.forget(o.Session)
	if o.Holder == "" {
		return
	}
	k := mark{holder: o.Holder, since: now, until: now.Add(othersFor * m.ttl)}
	if o.Remaining == lease.NoExpiry {
		k.endless = now
		if old := m.others.get(o.Session, now); old.holder == o.Holder && !old.endless.IsZero() {
			k.endless = old.endless
		}
	}
	m.others.keep(o.Session, k, now)
}

// abandoned returns a holder whose lease without expiry may be taken over: a live
// one's renewal would have restored the expiry.
func (m *machine) abandoned(session string, now time.Time) string {
	k := m.others.get(session, now)
	if k.endless.IsZero() || now.Before(k.endless.Add(m.ttl+m.ttl/2)) {
		return ""
	}
	return k.holder
}

// onEvent answers a hint: each leads to a renewal, which tells the truth.
func (m *machine) onEvent(event redisevents.Event, now time.Time) {
	switch v := event.(type) {
	case redisevents.LeaseFreed:
		if e, ok := m.entries[v.Session]; ok && e.phase == held {
			m.tell(e, &leaseholder.Verify{})
		}
	case redisevents.Gap:
		m.onGap(v, now)
	case redisevents.LeaseTaken, redisevents.NodeSeen, redisevents.NodeGone,
		redisevents.NodeMarked, redisevents.SessionTouched:
	}
}

func (m *machine) onDrain() {
	m.draining = true
	for _, e := range m.entries {
		m.leave(e, leaseholder.Shutdown)
	}
}

// onFailure answers everybody who waits.
func (m *machine) onFailure() {
	for session, e := range m.entries {
		m.finish(session, e, ErrFailed, ErrFailed)
	}
}

// leases counts what is held.
func (m *machine) leases() int { return len(m.sessions) }

// drained reports whether nothing is held and nothing under way.
func (m *machine) drained() bool { return m.draining && len(m.entries) == 0 }
