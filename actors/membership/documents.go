package membership

import (
	"time"

	"leasehold/actors/leaseholder"
	"leasehold/eventlog"
	"leasehold/lease"
	"leasehold/session"
)

// document is one stored document after decoding.
type document struct {
	id      string
	absent  bool
	session session.Session
	fault   *fault // set when the document can't be used
}

// fault is why a document can't be used.
type fault struct {
	fingerprint uint64
	reason      string
	changed     time.Time
}

// onDocuments takes in documents that were read at read. It reports how many were
// news.
func (m *machine) onDocuments(docs []document, read, now time.Time) int {
	news := 0
	for _, d := range docs {
		if m.newer(d.id, read) {
			continue // a later reading was here first
		}
		if m.onDocument(d, now) {
			news++
		}
	}
	return news
}

// newer reports whether a session was read as different after read.
func (m *machine) newer(id string, read time.Time) bool {
	if e, ok := m.entries[id]; ok {
		return e.changed.After(read)
	}
	return m.invalid[id].changed.After(read)
}

func (m *machine) onDocument(d document, now time.Time) bool {
	switch {
	case d.absent:
		return m.onAbsent(d.id)
	case d.fault != nil:
		return m.onInvalid(d, now)
	default:
		delete(m.invalid, d.id)
		return m.onValid(d.session, now)
	}
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
	} else if e.mine || e.owner == "" {
		// Nobody may hold it: then its state goes by this.
		m.out.back = append(m.out.back, lease.Release{
			Grant: lease.Grant{Session: id, Holder: m.set.Instance}, Forget: true,
		})
		m.handing++
	}
	return true
}

func (m *machine) drop(id string) {
	delete(m.entries, id)
	delete(m.surplus, id)
	m.stale = true
}

// onInvalid reports a document that can't be used, once, and stops its session.
func (m *machine) onInvalid(d document, now time.Time) bool {
	if old, ok := m.invalid[d.id]; ok && old.fingerprint == d.fault.fingerprint {
		return false
	}
	d.fault.changed = now
	m.invalid[d.id] = *d.fault
	m.log(eventlog.SessionInvalid{Key: m.set.Keys.Session(d.id), Session: d.id, Reason: d.fault.reason})
	if _, ok := m.entries[d.id]; ok {
		m.drop(d.id)
		if c, held := m.held[d.id]; held {
			m.release(c, leaseholder.Paused)
		}
	}
	return true
}

func (m *machine) onValid(s session.Session, now time.Time) bool {
	e, ok := m.entries[s.ID]
	switch {
	case !ok:
		m.entries[s.ID] = newEntry(s, now)
		m.stale = true
		if m.scanned { // the first scan's would say nothing new
			m.log(eventlog.SessionAdded{Session: s.ID})
		}
		return true
	case e.session.Fingerprint == s.Fingerprint:
		return false
	}
	was := e.session
	e.session, e.changed = s, now
	m.log(eventlog.SessionChanged{Session: s.ID})
	if was.Pollable() != s.Pollable() {
		m.stale = true
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
		c.ttl = m.ttl(e)
		m.out.tells = append(m.out.tells, tell{id: c.id, message: &leaseholder.Update{Session: e.session, TTL: c.ttl}})
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
	seen := make(map[string]struct{}, len(docs))
	for _, d := range docs {
		seen[d.id] = struct{}{}
	}
	for id, e := range m.entries {
		if _, ok := seen[id]; !ok && e.changed.Before(read) {
			m.out.fetch = append(m.out.fetch, id)
		}
	}
	for id, f := range m.invalid {
		if _, ok := seen[id]; !ok && f.changed.Before(read) {
			m.out.fetch = append(m.out.fetch, id)
		}
	}
	if first {
		m.scanned, m.stale = true, true
		return
	}
	if news > 0 {
		m.log(eventlog.ReconcileRepaired{Kind: "session", Count: news})
	}
	m.lookAtAll()
}

// lookAtAll has every lease looked at that this node does not hold.
func (m *machine) lookAtAll() {
	for id, e := range m.entries {
		if _, held := m.held[id]; !held && !e.claiming && e.session.Pollable() {
			m.out.look = append(m.out.look, id)
		}
	}
}

// lookAtMine has the leases looked at that this node should hold and doesn't.
func (m *machine) lookAtMine() {
	for id, e := range m.entries {
		if _, held := m.held[id]; e.mine && !held && !e.claiming && e.session.Pollable() {
			m.out.look = append(m.out.look, id)
		}
	}
}
