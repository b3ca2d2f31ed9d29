package membership

import (
	"time"

	"leasehold/actors/leaseholder"
	"leasehold/eventlog"
	"leasehold/session"
)

// document is one stored document after decoding.
type document struct {
	id      string
	absent  bool
	session *session.Session
	fault   *fault // set when the document can't be used
	// unchanged is set for what the scan before found with this fingerprint already.
	unchanged   bool
	fingerprint uint64
}

// fault is why a document can't be used.
type fault struct {
	fingerprint uint64
	reason      string
	read        time.Time
	// told is the reason that was reported last, at toldAt.
	told   string
	toldAt time.Time
}

// How long a document that is written anew and still of no use is not reported again:
// for the same reason, and for another, which may differ by a number alone.
const (
	sameFaultPause  = time.Minute
	otherFaultPause = 10 * time.Second
)

// silent reports whether the fault of a document that was reported before need not be
// reported, or not yet: each reading, as by a scan, asks again.
func (f *fault) silent(old fault, now time.Time) bool {
	since := now.Sub(old.toldAt)
	if f.reason != old.told {
		return since < otherFaultPause
	}
	return f.fingerprint == old.fingerprint || since < sameFaultPause
}

// onDocuments takes in documents that were read at read. It reports how many were
// news.
func (m *machine) onDocuments(docs []document, read, now time.Time) int {
	news := 0
	for _, d := range docs {
		if m.newer(d.id, read) {
			continue // a later reading was here first
		}
		if m.onDocument(d, read, now) {
			news++
		}
	}
	return news
}

// newer reports whether a reading that was begun after read has been taken in.
func (m *machine) newer(id string, read time.Time) bool {
	if e, ok := m.entries[id]; ok {
		return e.read.After(read)
	}
	if f, ok := m.invalid[id]; ok {
		return f.read.After(read)
	}
	return m.gone[id].After(read)
}

func (m *machine) onDocument(d document, read, now time.Time) bool {
	if d.absent {
		m.gone[d.id] = read
		return m.onAbsent(d.id)
	}
	if d.unchanged {
		m.onUnchanged(d, read)
		return false
	}
	delete(m.gone, d.id)
	if d.fault != nil {
		return m.onInvalid(d, read, now)
	}
	delete(m.invalid, d.id)
	return m.onValid(d.session, read, now)
}

// onUnchanged books that a document is as it was. Where it is not known here as such,
// another reading came between the scans: it is read once more.
func (m *machine) onUnchanged(d document, read time.Time) {
	if e, ok := m.entries[d.id]; ok && e.session.Fingerprint == d.fingerprint {
		e.read = read
		return
	}
	if f, ok := m.invalid[d.id]; ok && f.fingerprint == d.fingerprint {
		f.read = read
		m.invalid[d.id] = f
		return
	}
	m.out.fetch = append(m.out.fetch, d.id)
}

// onAbsent forgets a session whose document has gone.
func (m *machine) onAbsent(id string) bool {
	_, bad := m.invalid[id]
	delete(m.invalid, id)
	e, ok := m.entries[id]
	if !ok {
		return bad
	}
	m.log(eventlog.SessionRemoved{Session: id})
	m.drop(id)
	if c, held := m.held[id]; held {
		m.release(c, leaseholder.Deleted)
	} else if left := m.left[id]; left != 0 || e.mine || e.owner == "" {
		// Nobody may hold it: then its state goes by this.
		m.handBack(m.grant(id, left), true)
	}
	return true
}

func (m *machine) drop(id string) {
	delete(m.entries, id)
	delete(m.surplus, id)
	m.stale = true
}

// onInvalid reports a document that can't be used, once, and stops its session. A
// program that writes it over and over says nothing new by that.
func (m *machine) onInvalid(d document, read, now time.Time) bool {
	f := d.fault
	f.read, f.told, f.toldAt = read, f.reason, now
	old, known := m.invalid[d.id]
	if known && f.silent(old, now) {
		f.told, f.toldAt = old.told, old.toldAt
	} else {
		m.log(eventlog.SessionInvalid{Key: m.set.Keys.Session(d.id), Session: d.id, Reason: f.reason})
	}
	m.invalid[d.id] = *f
	if known && old.fingerprint == f.fingerprint {
		return false
	}
	if _, ok := m.entries[d.id]; ok {
		m.drop(d.id)
		if c, held := m.held[d.id]; held {
			m.release(c, leaseholder.Paused)
		}
	}
	return true
}

func (m *machine) onValid(s *session.Session, read, now time.Time) bool {
	e, ok := m.entries[s.ID]
	switch {
	case !ok:
		m.entries[s.ID] = newEntry(s, read)
		m.stale = true
		if m.scanned { // the first scan's come at once, and would say nothing new
			m.arrivals.note(now)
			m.log(eventlog.SessionAdded{Session: s.ID})
		}
		return true
	case e.session.Fingerprint == s.Fingerprint:
		e.read = read
		return false
	}
	was := e.session
	e.session, e.read = s, read
	m.log(eventlog.SessionChanged{Session: s.ID})
	if was.Pollable() != s.Pollable() {
		m.stale = true
		if s.Pollable() && now.Sub(e.since) > outlived {
			e.ledAt = time.Time{}
		}
		e.since = now
	}
	m.adapt(e, now)
	return true
}

// adapt has a changed document take effect.
func (m *machine) adapt(e *entry, now time.Time) {
	id := e.session.ID
	c, held := m.held[id]
	switch {
	case held && !e.session.Pollable():
		m.release(c, leaseholder.Paused)
	case held:
		m.update(c, e)
	default:
		e.notBefore = time.Time{}
		m.consider(id, e, byEvent, now)
	}
}

// onScan takes in all documents, read between read and now. What is known and
// was not among them is read again by itself before it counts as removed.
func (m *machine) onScan(docs []document, read, now time.Time) {
	first := !m.scanned
	news := m.onDocuments(docs, read, now)
	for id, e := range m.entries {
		if e.read.Before(read) {
			m.out.fetch = append(m.out.fetch, id)
		}
	}
	for id, f := range m.invalid {
		if f.read.Before(read) {
			m.out.fetch = append(m.out.fetch, id)
		}
	}
	for id, at := range m.gone {
		if read.Sub(at) > callLimit { // no reading that old is on its way any more
			delete(m.gone, id)
		}
	}
	m.forgetBurnt(now)
	if first {
		m.scanned, m.stale = true, true
		m.lookFirst(now)
		return
	}
	if news > 0 {
		m.log(eventlog.ReconcileRepaired{Kind: "session", Count: news})
	}
	m.lookAtAll()
	m.giveBackLeft()
}

// onPart takes in what a scan found that failed in part. It says nothing of what it did not
// find. The leases are looked at as often as after whole scans, which are fewer.
func (m *machine) onPart(docs []document, read, now time.Time) {
	if !m.scanned {
		return
	}
	if news := m.onDocuments(docs, read, now); news > 0 {
		m.log(eventlog.ReconcileRepaired{Kind: "session", Count: news})
	}
	if !now.Before(m.partAt.Add(m.set.Reconcile)) {
		m.partAt = now
		m.lookAtAll()
	}
}

// lookAtAll has every lease looked at that this node does not hold.
func (m *machine) lookAtAll() { m.lookWhere(func(*entry) bool { return true }) }

// lookWhere has those leases looked at that this node neither holds nor asks for.
func (m *machine) lookWhere(chosen func(*entry) bool) {
	for id, e := range m.entries {
		if _, held := m.held[id]; !held && m.asking[id] == nil && e.session.Pollable() && chosen(e) {
			m.out.look = append(m.out.look, id)
		}
	}
}

// lookFirst has all leases looked at before a plan is made: it builds on who has
// what.
func (m *machine) lookFirst(now time.Time) {
	m.lookAtAll()
	m.looked, m.lookedAt = len(m.out.look) == 0, now
}

// lookAtUnknown has, at its time, the leases looked at of which nobody told who has them.
// Nodes that start together see each other and the documents at different moments, and
// take sessions in each other's place: plans that build on what should be would keep
// differing until the next scan.
func (m *machine) lookAtUnknown(now time.Time) {
	if !m.ready || m.lookAt.IsZero() || now.Before(m.lookAt) {
		return
	}
	m.lookAt = time.Time{}
	m.lookWhere(func(e *entry) bool { return e.holder == "" || !now.Before(e.heldUntil) })
}

// lookAtMine has the leases looked at that this node should hold and doesn't.
func (m *machine) lookAtMine() { m.lookWhere(func(e *entry) bool { return e.mine }) }
