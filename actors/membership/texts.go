package membership

import "leasehold/session"

// texts remembers the documents that the scan before found, by their hashes: what has
// not changed since need not be decoded again. Its user is the scan in flight.
type texts struct {
	round int
	known map[string]text
}

type text struct {
	fingerprint uint64
	round       int // of the scan that found it last
}

func newTexts() *texts { return &texts{known: make(map[string]text)} }

// same notes a document that a scan found, and reports its hash where it is what the
// scan before found.
func (t *texts) same(d session.Document) (fingerprint uint64, ok bool) {
	if d.Err != nil || d.Raw == nil {
		return 0, false
	}
	fingerprint = session.Fingerprint(d.Raw)
	before, ok := t.known[d.ID]
	t.known[d.ID] = text{fingerprint: fingerprint, round: t.round}
	return fingerprint, ok && before.fingerprint == fingerprint
}

// found returns how many documents the scan before found.
func (t *texts) found() int { return len(t.known) }

// end follows a scan. What it did not find is forgotten; one that failed may not have
// told what it found, so all is.
func (t *texts) end(err error) {
	if err != nil {
		clear(t.known)
	}
	for id, known := range t.known {
		if known.round != t.round {
			delete(t.known, id)
		}
	}
	t.round++
}
