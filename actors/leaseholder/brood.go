package leaseholder

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/asynkron/protoactor-go/actor"

	"leasehold/lease"
)

// Brood is the leaseholders of one parent, by the numbers that it gives them. It
// belongs to the parent's goroutine.
type Brood struct {
	pids map[uint64]*actor.PID
}

// NewBrood returns one without leaseholders.
func NewBrood() *Brood {
	return &Brood{pids: make(map[uint64]*actor.PID)}
}

// Spawn makes a leaseholder. Its name ends with id, which is not zero, and was never used
// before where id was not.
func (b *Brood) Spawn(c actor.Context, props *actor.Props, grant lease.Grant, id uint64) {
	pid, err := c.SpawnNamed(props, fmt.Sprintf("%s.%d.%d", grant.Session, grant.Token, id))
	if err != nil { // the name is new, so this is a fault of ours
		panic(err)
	}
	b.pids[id] = pid
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
func (b *Brood) ID(pid *actor.PID) uint64 {
	name := pid.GetId()
	id, err := strconv.ParseUint(name[strings.LastIndexByte(name, '.')+1:], 10, 64)
	if known, ok := b.pids[id]; err != nil || !ok || known.GetId() != name {
		return 0
	}
	return id
}

// Terminated forgets one. It reports false for a stranger.
func (b *Brood) Terminated(pid *actor.PID) (id uint64, ok bool) {
	id = b.ID(pid)
	delete(b.pids, id)
	return id, id != 0
}
