package keeper

import (
	"time"

	"leasehold/lease"
)

// mark is what is remembered of a session, until it is of no use any more.
type mark struct {
	token   lease.Token
	holder  string
	since   time.Time
	endless time.Time // since when the lease was seen without expiry; zero: it has one
	until   time.Time
}

// memory keeps marks. What is past is forgotten now and then.
type memory struct {
	marks map[string]mark
	limit int
}

// memoryLeast is how many marks are kept before the past is looked for.
const memoryLeast = 1000

func newMemory() memory { return memory{marks: make(map[string]mark), limit: memoryLeast} }

func (m *memory) keep(session string, k mark, now time.Time) {
	m.marks[session] = k
	if len(m.marks) < m.limit {
		return
	}
	for id, old := range m.marks {
		if !now.Before(old.until) {
			delete(m.marks, id)
		}
	}
	m.limit = max(memoryLeast, 2*len(m.marks))
}

// get returns what is remembered; the zero mark if nothing is.
func (m *memory) get(session string, now time.Time) mark {
	if k, ok := m.marks[session]; ok && now.Before(k.until) {
		return k
	}
	return mark{}
}

func (m *memory) has(session string, now time.Time) bool {
	return !m.get(session, now).until.IsZero()
}

func (m *memory) forget(session string) { delete(m.marks, session) }
