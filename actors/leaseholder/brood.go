package leaseholder

import (
	"fmt"

	"github.com/asynkron/protoactor-go/actor"

	"leasehold/lease"
)

// Brood is the leaseholders of one parent, by the numbers that it gives them. It
// belongs to the parent's goroutine.
type Brood struct {
	pids map[uint64]*actor.PID
	ids  map[string]uint64 // the reverse
}

// NewBrood returns one without leaseholders.
func NewBrood() *Brood {
	return &Brood{pids: make(map[uint64]*actor.PID), ids: make(map[string]uint64)}
}

// Spawn makes a leaseholder. Its name was never used before where id was not.
func (b *Brood) Spawn(c actor.Context, props *actor.Props, grant lease.Grant, id uint64) {
	pid, err := c.SpawnNamed(props, fmt.Sprintf("%s.%d.%d", grant.Session, grant.Token, id))
	if err != nil { // the name is new, so this is a fault of ours
		panic(err)
	}
	b.pids[id] = pid
	b.ids[pid.GetId()] = id
}

// Tell sends to one that has not terminated; to others there is nothing to say.
func (b *Brood) Tell(c actor.Context, id uint64, m Message) {
	if pid, ok := b.pids[id]; ok {
		c.Send(pid, m)
	}
}

// Abort tells all.
func (b *Brood) Abort(c actor.Context) {
	for _, pid := range b.pids {
		c.Send(pid, &Abort{})
	}
}

// ID returns the number of one; zero, which is no number, for a stranger.
func (b *Brood) ID(pid *actor.PID) uint64 { return b.ids[pid.GetId()] }

// Terminated forgets one. It reports false for a stranger.
func (b *Brood) Terminated(pid *actor.PID) (id uint64, ok bool) {
	id, ok = b.ids[pid.GetId()]
	delete(b.ids, pid.GetId())
	delete(b.pids, id)
	return id, ok
}
