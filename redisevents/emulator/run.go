package emulator

import (
	"cmp"
	"maps"
	"slices"
	"time"
)

// run is the emulator's goroutine.
func (e *Emulator) run() {
	defer close(e.done)
	timer := time.NewTimer(e.options.Sweep)
	defer timer.Stop()
	soon := false // a step is due within grace
	sweepAt := time.Now().Add(e.options.Sweep)
	for {
		var synced chan struct{}
		select {
		case <-e.stop:
			return
		case <-e.wake:
			if !soon { // else steady traffic would put it off for ever
				soon = true
				timer.Reset(grace)
			}
			continue
		case synced = <-e.sync:
			e.catchUp()
		case <-timer.C:
		}
		now := time.Now()
		soon = false
		e.advance(now)
		e.step(now)
		if !now.Before(sweepAt) {
			e.rehook()
			e.sweep(now)
			sweepAt = now.Add(e.options.Sweep)
		}
		e.expect()
		e.publish()
		if synced != nil {
			close(synced)
		}
		timer.Reset(time.Until(e.nextStep(sweepAt)))
	}
}

// step plays what is pending and looks at the keys that are due.
func (e *Emulator) step(now time.Time) {
	for _, o := range e.takePending() {
		e.play(o, now)
	}
	for _, k := range sorted(e.doubtful) {
		if !now.Before(e.doubtful[k]) {
			delete(e.doubtful, k)
			e.picture.correct(k, e.truth(k), e.clock(now))
		}
	}
	for _, k := range e.picture.ranOut(e.clock(now)) {
		t := e.truth(k)
		if t.exists { // renewed meanwhile
			e.picture.renew(k, t.deadline)
			continue
		}
		e.picture.drop(k, "expired")
	}
}

func (e *Emulator) takePending() []op {
	e.mu.Lock()
	defer e.mu.Unlock()
	ops := e.pending
	e.pending = nil
	return ops
}

func (e *Emulator) play(o op, now time.Time) {
	e.dbs[o.db] = struct{}{}
	if o.kind == unsure {
		e.doubtAll(now)
		return
	}
	for _, k := range e.picture.play(o) {
		if !e.picture.agrees(k, e.truth(k)) {
			e.doubtful[k] = now.Add(doubt)
		}
	}
}

// doubtAll looks at every key again, once the command behind it took effect.
func (e *Emulator) doubtAll(now time.Time) {
	e.each(func(k id) { e.doubtful[k] = now.Add(doubt) })
}

// sweep finds what no hook saw. A difference that is new waits for a second look,
// since a command may be about to take effect.
func (e *Emulator) sweep(now time.Time) {
	e.each(func(k id) {
		if _, waiting := e.doubtful[k]; !waiting && !e.picture.agrees(k, e.truth(k)) {
			e.doubtful[k] = now.Add(doubt)
		}
	})
}

// each visits all keys of the data and of the picture.
func (e *Emulator) each(visit func(id)) {
	for _, db := range slices.Sorted(maps.Keys(e.dbs)) {
		for _, key := range e.m.DB(db).Keys() {
			visit(id{db, key})
		}
	}
	for _, k := range sorted(e.picture.keys) {
		visit(k)
	}
}

// sorted lists the keys in an order that does not change from run to run.
func sorted(keys map[id]time.Time) []id {
	return slices.SortedFunc(maps.Keys(keys), func(a, b id) int {
		return cmp.Or(cmp.Compare(a.db, b.db), cmp.Compare(a.key, b.key))
	})
}

// catchUp believes the data at once.
func (e *Emulator) catchUp() {
	now := time.Now()
	e.step(now)
	clear(e.doubtful)
	e.each(func(k id) { e.picture.correct(k, e.truth(k), e.clock(now)) })
}

// truth reads the data.
func (e *Emulator) truth(k id) truth {
	db := e.m.DB(k.db)
	if !db.Exists(k.key) {
		return truth{}
	}
	t := truth{exists: true}
	if ttl := db.TTL(k.key); ttl > 0 {
		t.deadline = e.origin(time.Now()).Add(ttl)
	}
	return t
}

// rehook puts the hook back where SetError took it away: then the server ran more
// commands than the hook saw.
func (e *Emulator) rehook() {
	total := e.srv.TotalCommands()
	e.mu.Lock()
	lost := total-e.base > e.seen
	if lost {
		e.base, e.seen = total, 0
	}
	e.mu.Unlock()
	if lost {
		e.srv.SetPreHook(e.hook)
	}
}

// publish sends what the flags cover. It waits for subscribers, as miniredis does.
func (e *Emulator) publish() {
	out := e.picture.out
	e.picture.out = nil
	life := e.present()
	for _, a := range out {
		for _, message := range life.channels(a) {
			e.send(message[0], message[1])
		}
	}
}

// nextStep is when there is something to do again.
func (e *Emulator) nextStep(sweepAt time.Time) time.Time {
	next := sweepAt
	if e.options.Tick > 0 {
		next = e.clock(next).Add(e.options.Tick) // no deadline comes before
	} else if at, ok := e.picture.next(); ok && at.Before(next) {
		next = at
	}
	for _, at := range e.doubtful {
		if at.Before(next) {
			next = at
		}
	}
	return next
}
