package redistest

import (
	"bufio"
	"io"
	"maps"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"
)

// Snapshot is the data of database 0 at a moment: what a replica has that hears
// nothing more of its master.
type Snapshot struct {
	at   time.Time
	keys []entry
}

type entry struct {
	key, kind, text string
	ttl             time.Duration // zero: none
	list            []string      // of lists and sets
	hash            map[string]string
	scores          map[string]float64
	stream          []miniredis.StreamEntry
}

// Snapshot copies the data, between two commands.
func (m *Mini) Snapshot() *Snapshot {
	m.working.Lock()
	defer m.working.Unlock()
	return m.snapshot()
}

func (m *Mini) snapshot() *Snapshot {
	m.advance()
	s := &Snapshot{at: time.Now()}
	db := m.DB(0)
	for _, key := range db.Keys() {
		e := entry{key: key, kind: db.Type(key), ttl: db.TTL(key)}
		switch e.kind {
		case "string":
			e.text, _ = db.Get(key)
		case "list":
			e.list, _ = db.List(key)
		case "set":
			e.list, _ = db.Members(key)
		case "zset":
			e.scores, _ = db.SortedSet(key)
			e.scores = maps.Clone(e.scores)
		case "stream":
			e.stream, _ = db.Stream(key)
		case "hash":
			e.hash = map[string]string{}
			fields, _ := db.HKeys(key)
			for _, field := range fields {
				e.hash[field] = db.HGet(key, field)
			}
		}
		s.keys = append(s.keys, e)
	}
	return s
}

// OnReplace has f called, before any command, when another server has taken this
// one's place. f may read the data.
func (m *Mini) OnReplace(f func()) {
	m.working.Lock()
	defer m.working.Unlock()
	m.replaced = f
}

// OnTimes has f called before TTLs are copied or written: it brings the server's
// clock, if that stands, to the present.
func (m *Mini) OnTimes(f func()) {
	m.working.Lock()
	defer m.working.Unlock()
	m.advance = f
}

// Replace puts another server in this one's place, with the data of a snapshot, or
// none: scripts are gone, and all connections closed. TTLs have gone on since.
func (m *Mini) Replace(s *Snapshot) {
	m.replace(func() *Snapshot { return s })
}

// Reload restarts the server with its data.
func (m *Mini) Reload() { m.replace(m.snapshot) }

func (m *Mini) replace(data func() *Snapshot) {
	m.working.Lock()
	s := data()
	m.srv.Dispatch(server.NewPeer(bufio.NewWriter(io.Discard)), []string{"SCRIPT", "FLUSH"})
	m.FlushAll()
	if s != nil {
		m.restore(s)
	}
	if m.replaced != nil {
		m.replaced()
	}
	m.working.Unlock()
	m.DropAll()
}

// restore writes a snapshot into the empty server.
func (m *Mini) restore(s *Snapshot) {
	m.advance()
	db := m.DB(0)
	gone := time.Since(s.at)
	for _, e := range s.keys {
		if e.ttl > 0 && e.ttl <= gone {
			continue
		}
		switch e.kind {
		case "string":
			_ = db.Set(e.key, e.text)
		case "list":
			_, _ = db.Push(e.key, e.list...)
		case "set":
			_, _ = db.SetAdd(e.key, e.list...)
		case "zset":
			for member, score := range e.scores {
				_, _ = db.ZAdd(e.key, score, member)
			}
		case "stream":
			for _, x := range e.stream {
				_, _ = db.XAdd(e.key, x.ID, x.Values)
			}
		case "hash":
			for field, value := range e.hash {
				db.HSet(e.key, field, value)
			}
		}
		if e.ttl > 0 {
			db.SetTTL(e.key, e.ttl-gone)
		}
	}
}
