package emulator

import (
	"fmt"
	"reflect"
	"sync"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"
)

const (
	// grace is how long a command gets to take effect after the hook saw it.
	grace = time.Millisecond
	// doubt is how long a difference must last before it is believed.
	doubt = 10 * time.Millisecond

	defaultSweep = 250 * time.Millisecond
)

// Options change what Start does. The zero value is fine.
type Options struct {
	// Flags are the notify-keyspace-events flags at the start; like a real server's
	// they are empty by default.
	Flags string
	// Next, if set, is called for each command before the emulator looks at it. If
	// it returns true the command is done and was none for the emulator.
	Next server.Hook
	// Last, if set, is called after the emulator looked at a command. If it returns
	// true the command is done.
	Last server.Hook
	// Publish sends a message; unless it is set, as the miniredis does.
	Publish func(channel, message string) int
	// Sweep is the pace of comparing all keys, which finds what was changed by
	// direct calls: 250 ms.
	Sweep time.Duration
	// Tick, if set, is the step in which the server's clock advances. An exact clock
	// makes miniredis look at all its keys whenever a command reads one; with steps
	// it does so once a step. A key may run out by so much sooner or later.
	Tick time.Duration
	// Lazy lets the server's clock stand until a key runs out, which costs least, and
	// has commands see the exact time all the same. Scripts must be carried out by
	// Last, command by command and without miniredis' own lock.
	Lazy bool
}

// Emulator publishes the keyspace events of one miniredis. Its methods may be
// called from any goroutine.
type Emulator struct {
	m       *miniredis.Miniredis
	srv     *server.Server
	options Options

	dbFields sync.Map // by type

	mu      sync.Mutex // guards the fields below
	life    life
	fate    Fate
	pending []op
	seen    int       // commands that the hook let pass
	ticked  time.Time // the server's clock, where it does not follow ours
	told    time.Time // by the last TIME
	due     time.Time // no key runs out before, where the clock is lazy

	wake chan struct{}      // an operation is pending
	sync chan chan struct{} // requests of Sync and Restart
	stop chan struct{}
	once sync.Once
	done chan struct{}

	// Owned by the goroutine.
	picture  *picture
	doubtful map[id]time.Time // when to look again
	dbs      map[int]struct{} // databases that were used
	base     int              // the server's count of commands when the hook was set
}

// Start makes m announce changes until Close. It starts m without a listener if it
// does not run yet, and lets its TTLs follow the clock. Keys that exist already
// are not announced. Only one emulator may work on one miniredis.
func Start(m *miniredis.Miniredis, o Options) (*Emulator, error) {
	if o.Sweep <= 0 {
		o.Sweep = defaultSweep
	}
	if o.Lazy {
		o.Tick = 0
	}
	if o.Publish == nil {
		o.Publish = m.Publish
	}
	if m.Server() == nil {
		conn, err := m.Dial()
		if err != nil {
			return nil, fmt.Errorf("start miniredis: %w", err)
		}
		_ = conn.Close()
	}
	m.ClockTTL(true)
	e := &Emulator{
		m: m, srv: m.Server(), options: o, life: newLife(o.Flags),
		wake: make(chan struct{}, 1), sync: make(chan chan struct{}),
		stop: make(chan struct{}), done: make(chan struct{}),
		picture: newPicture(), doubtful: map[id]time.Time{}, dbs: map[int]struct{}{0: {}},
	}
	e.base = e.srv.TotalCommands()
	if o.Tick > 0 || o.Lazy {
		e.setClock(time.Now())
	}
	e.catchUp()
	e.picture.out = nil // what was there before is no news
	e.srv.SetPreHook(e.hook)
	go e.run()
	return e, nil
}

// Close ends the emulation and returns when nothing of it runs any more. Close it
// before the miniredis. It may be called again.
func (e *Emulator) Close() {
	e.once.Do(func() {
		close(e.stop)
		<-e.done
		if e.options.Tick > 0 || e.options.Lazy {
			e.m.SetTime(time.Time{}) // the clock of the machine
		}
		e.srv.SetPreHook(e.options.Next)
	})
}

// Sync announces all changes made so far, also those by direct calls, before it
// returns.
func (e *Emulator) Sync() {
	request := make(chan struct{})
	select {
	case e.sync <- request:
		<-request
	case <-e.done:
	}
}

// hook runs on the client's goroutine, before the command, and inside of scripts
// with miniredis' own lock held: it must not touch the data.
func (e *Emulator) hook(c *server.Peer, cmd string, args ...string) bool {
	if e.options.Next != nil && e.options.Next(c, cmd, args...) {
		return true
	}
	if e.answer(c, cmd, args) {
		return true
	}
	if e.options.Lazy && e.keepTime(c, cmd, args) {
		return true
	}
	if e.options.Last != nil && e.options.Last(c, cmd, args...) {
		return true
	}
	ops := opsOf(cmd, args)
	known := e.srv.IsRegisteredCommand(cmd)
	db, now := e.selectedDB(c), time.Now()
	e.mu.Lock()
	if known {
		e.seen++
	}
	if e.options.Tick > 0 {
		now = e.ticked
	}
	for _, o := range ops {
		o.db, o.at = db, now
		e.pending = append(e.pending, o)
	}
	e.mu.Unlock()
	if len(ops) > 0 {
		select {
		case e.wake <- struct{}{}:
		default:
		}
	}
	return false
}

// selectedDB reads the connection's database out of miniredis' private context,
// which has no other door. Where it is not found, the database is 0.
func (e *Emulator) selectedDB(c *server.Peer) int {
	context := reflect.ValueOf(c.Ctx)
	if context.Kind() != reflect.Pointer || context.IsNil() {
		return 0
	}
	index := e.dbField(context.Elem().Type())
	if index < 0 {
		return 0
	}
	return int(context.Elem().Field(index).Int())
}

// dbField says where a type has the database, and remembers it, as looking for it
// takes time.
func (e *Emulator) dbField(t reflect.Type) int {
	if index, ok := e.dbFields.Load(t); ok {
		return index.(int)
	}
	index := -1
	if t.Kind() == reflect.Struct {
		if f, ok := t.FieldByName("selectedDB"); ok && f.Type.Kind() == reflect.Int {
			index = f.Index[0]
		}
	}
	e.dbFields.Store(t, index)
	return index
}
