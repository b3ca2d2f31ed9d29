package tree

import (
	"runtime"
	"sync" //nolint:depguard // a mailbox is what stands between goroutines

	"github.com/asynkron/protoactor-go/actor"
)

// turns is how many messages an actor handles before it lets others have the processor.
const turns = 300

// mailbox is an unbounded [actor.Mailbox] that takes next to no memory while it is empty:
// most actors of a node have nothing to do most of the time. The library's own keeps room
// for ten messages, and for as many as there ever were. Batches are not taken apart.
type mailbox struct {
	mu        sync.Mutex
	invoker   actor.MessageInvoker // nil until the actor is ready
	running   bool                 // a goroutine handles messages
	suspended bool                 // after a failure: only the library's own messages
	system    line                 // the library's own, which go first
	user      line
}

func newMailbox() actor.Mailbox { return &mailbox{} }

// PostUserMessage implements actor.Mailbox.
func (m *mailbox) PostUserMessage(message any) { m.post(&m.user, message) }

// PostSystemMessage implements actor.Mailbox.
func (m *mailbox) PostSystemMessage(message any) { m.post(&m.system, message) }

func (m *mailbox) post(to *line, message any) {
	m.mu.Lock()
	to.push(message)
	begin := m.begin()
	m.mu.Unlock()
	if begin {
		go m.work()
	}
}

// begin reports whether a goroutine has to be started. It needs the lock.
func (m *mailbox) begin() bool {
	if m.running || m.invoker == nil || m.system.empty() && (m.suspended || m.user.empty()) {
		return false
	}
	m.running = true
	return true
}

// RegisterHandlers implements actor.Mailbox. Each waking is a goroutine, whatever
// dispatcher there is. What somebody sent to the name before waits for this.
func (m *mailbox) RegisterHandlers(invoker actor.MessageInvoker, _ actor.Dispatcher) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.invoker = invoker
}

// Start implements actor.Mailbox.
func (*mailbox) Start() {}

// UserMessageCount implements actor.Mailbox.
func (m *mailbox) UserMessageCount() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.user.len()
}

// work handles messages until there is none left.
func (m *mailbox) work() {
	for done := false; !done; {
		done = m.handle()
	}
}

// handle hands messages to the actor. It reports false after one over which the actor
// failed: the supervisor has heard of it, and may have left word.
func (m *mailbox) handle() (done bool) {
	var message any
	defer func() {
		if r := recover(); r != nil {
			m.invoker.EscalateFailure(r, message)
		}
	}()
	for turn := 1; ; turn++ {
		if turn%turns == 0 {
			runtime.Gosched()
		}
		next, system, ok := m.next()
		if !ok {
			return true
		}
		message = next
		if system {
			m.invoker.InvokeSystemMessage(message)
		} else {
			m.invoker.InvokeUserMessage(message)
		}
	}
}

// next takes what comes next. If that is nothing, the goroutine has to end.
func (m *mailbox) next() (message any, system, ok bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for !m.system.empty() {
		switch next := m.system.pop().(type) {
		case *actor.SuspendMailbox:
			m.suspended = true
		case *actor.ResumeMailbox:
			m.suspended = false
		default:
			return next, true, true
		}
	}
	if m.suspended || m.user.empty() {
		m.running = false
		return nil, false, false
	}
	return m.user.pop(), false, true
}

// line is a queue. One message in it needs no memory of its own.
type line struct {
	first any   // nil: it is empty
	rest  []any // behind first
}

func (l *line) empty() bool { return l.first == nil }

func (l *line) len() int {
	if l.empty() {
		return 0
	}
	return 1 + len(l.rest)
}

func (l *line) push(message any) {
	switch {
	case message == nil: // none
	case l.empty():
		l.first = message
	default:
		l.rest = append(l.rest, message)
	}
}

func (l *line) pop() any {
	message := l.first
	if len(l.rest) == 0 {
		l.first, l.rest = nil, nil
		return message
	}
	l.first, l.rest[0], l.rest = l.rest[0], nil, l.rest[1:]
	return message
}
