package membership

import (
	"time"

	"leasehold/actors/leaseholder"
	"leasehold/lease"
)

// burnt is a token whose release had no answer. It may still be carried out, and would end
// the lease, with the mark of a poll in flight, under whoever goes on with that token.
type burnt struct {
	token lease.Token
	until time.Time
}

func (m *machine) burn(id string, token lease.Token, now time.Time) {
	m.burnt[id] = burnt{token: token, until: now.Add(leaseholder.UnheardFor)}
}

// isBurnt reports whether a grant must not be used.
func (m *machine) isBurnt(g lease.Grant, now time.Time) bool {
	b, ok := m.burnt[g.Session]
	return ok && b.token == g.Token && now.Before(b.until)
}

func (m *machine) forgetBurnt(now time.Time) {
	for id, b := range m.burnt {
		if !now.Before(b.until) {
			delete(m.burnt, id)
		}
	}
}
