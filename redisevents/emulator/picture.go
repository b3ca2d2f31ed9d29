package emulator

import (
	"container/heap"
	"time"
)

// noise is how far two readings of one deadline may differ.
const noise = time.Millisecond

// id is one key of one database.
type id struct {
	db  int
	key string
}

// announcement is one event to publish.
type announcement struct {
	id
	name string
}

// picture is what the emulator believes about the keys. It is no copy of the
// data: only which keys exist, and when they run out. Not safe for concurrent use.
type picture struct {
	keys map[id]time.Time // zero: no deadline
	due  deadlines
	out  []announcement // waiting to be published
}

func newPicture() *picture { return &picture{keys: map[id]time.Time{}} }

func (p *picture) announce(k id, name string) {
	p.out = append(p.out, announcement{id: k, name: name})
}

// exists reports whether the key is there at the time; one that ran out before is
// announced first, as a real server does when a command meets it.
func (p *picture) exists(k id, at time.Time) bool {
	deadline, ok := p.keys[k]
	if ok && !deadline.IsZero() && !at.Before(deadline) {
		p.drop(k, "expired")
		return false
	}
	return ok
}

func (p *picture) drop(k id, name string) {
	delete(p.keys, k)
	p.announce(k, name)
}

// put notes that the key exists; its deadline is learned by comparing.
func (p *picture) put(k id, name string, timed bool) {
	if _, ok := p.keys[k]; !ok {
		p.keys[k] = time.Time{}
	}
	p.announce(k, name)
	if timed {
		p.announce(k, "expire")
	}
}

func (c condition) met(exists bool) bool {
	return c == always || (c == ifPresent) == exists
}

// play lets one operation take effect and returns the keys that it may have
// changed.
func (p *picture) play(o op) []id {
	k, other := id{o.db, o.key}, id{o.db, o.other}
	switch o.kind {
	case write:
		if o.on.met(p.exists(k, o.at)) {
			p.put(k, o.name, o.timed)
		}
	case remove:
		if p.exists(k, o.at) {
			p.drop(k, o.name)
		}
	case alter:
		if p.exists(k, o.at) {
			p.announce(k, o.name)
		}
	case move:
		if p.exists(k, o.at) && o.on.met(p.exists(other, o.at)) {
			p.drop(k, "rename_from")
			p.put(other, "rename_to", false)
		}
		return []id{k, other}
	case clone:
		if p.exists(k, o.at) && o.on.met(p.exists(other, o.at)) {
			p.put(other, "copy_to", false)
		}
		return []id{other}
	case flushDB:
		return p.forget(func(k id) bool { return k.db == o.db })
	case flushAll:
		return p.forget(func(id) bool { return true })
	case unsure:
		return nil
	}
	return []id{k}
}

// forget drops the keys that match silently, and returns them.
func (p *picture) forget(match func(id) bool) []id {
	var gone []id
	for k := range p.keys {
		if match(k) {
			gone = append(gone, k)
			delete(p.keys, k)
		}
	}
	return gone
}

// truth is what the data says about a key.
type truth struct {
	exists   bool
	deadline time.Time // zero: none
}

// agrees takes the deadline over and reports whether the picture was right about
// the key's existence.
func (p *picture) agrees(k id, t truth) bool {
	_, believed := p.keys[k]
	if believed != t.exists {
		return false
	}
	if believed {
		p.schedule(k, t.deadline)
	}
	return true
}

// correct takes the truth over and announces the difference.
func (p *picture) correct(k id, t truth, now time.Time) {
	if p.agrees(k, t) {
		return
	}
	if t.exists {
		p.put(k, "set", false)
		p.schedule(k, t.deadline)
		return
	}
	if p.exists(k, now) {
		p.drop(k, "del")
	}
}

// schedule notes a deadline. One that differs by less than the noise of reading
// it is the same.
func (p *picture) schedule(k id, deadline time.Time) {
	known := p.keys[k]
	if known.IsZero() == deadline.IsZero() && deadline.Sub(known).Abs() < noise {
		return
	}
	p.keys[k] = deadline
	if !deadline.IsZero() {
		heap.Push(&p.due, due{at: deadline, id: k})
	}
}

// ranOut returns the keys whose deadline has come. Each of them must be dropped or
// get a deadline anew.
func (p *picture) ranOut(now time.Time) []id {
	var ids []id
	// A read of the clock may show a deadline early: see noise.
	for len(p.due) > 0 && !now.Before(p.due[0].at) {
		d := heap.Pop(&p.due).(due)
		if p.keys[d.id].Equal(d.at) {
			ids = append(ids, d.id)
		}
	}
	return ids
}

// next is the earliest deadline.
func (p *picture) next() (time.Time, bool) {
	for len(p.due) > 0 && !p.keys[p.due[0].id].Equal(p.due[0].at) {
		heap.Pop(&p.due)
	}
	if len(p.due) == 0 {
		return time.Time{}, false
	}
	return p.due[0].at, true
}

// renew gives a key another deadline after its former one was taken by ranOut.
func (p *picture) renew(k id, deadline time.Time) {
	p.keys[k] = time.Time{}
	p.schedule(k, deadline)
}

type due struct {
	at time.Time
	id id
}

// deadlines is a heap, earliest first. Entries whose key has another deadline by
// now are left in and skipped.
type deadlines []due

func (d *deadlines) Len() int           { return len(*d) }
func (d *deadlines) Less(i, j int) bool { return (*d)[i].at.Before((*d)[j].at) }
func (d *deadlines) Swap(i, j int)      { (*d)[i], (*d)[j] = (*d)[j], (*d)[i] }

// Push is for package heap.
func (d *deadlines) Push(x any) { *d = append(*d, x.(due)) }

// Pop is for package heap.
func (d *deadlines) Pop() any {
	old := *d
	last := old[len(old)-1]
	*d = old[:len(old)-1]
	return last
}
