package node

import (
	"sync"
	"time"

	"leasehold/eventlog"
)

// observer logs what happens to the event subscription.
type observer struct{ log *eventlog.Log }

func (o observer) Subscribed(flags string, channels []string) {
	o.log.Emit(eventlog.EventsSubscribed{Flags: flags, Channels: channels})
}

func (o observer) Lost(reason string, err error) {
	o.log.Emit(eventlog.EventsLost{Reason: reason, Err: err})
}

func (o observer) Disabled(reason string) {
	o.log.Emit(eventlog.EventsDisabled{Reason: reason})
}

func (o observer) Warned(reason string) {
	o.log.Emit(eventlog.SettingsWarning{Reason: reason})
}

// foreignPause is how long a foreign key is not reported again, foreignMost how
// many are remembered.
const (
	foreignPause = time.Minute
	foreignMost  = 1000
)

// foreign logs keys under the fleet's prefixes that are not the fleet's, each once
// in a while, as every scan meets them again.
type foreign struct {
	log *eventlog.Log

	mu   sync.Mutex
	seen map[string]time.Time
}

func newForeign(log *eventlog.Log) *foreign {
	return &foreign{log: log, seen: make(map[string]time.Time)}
}

func (f *foreign) note(key, reason string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := time.Now()
	if at, ok := f.seen[key]; ok && now.Sub(at) < foreignPause {
		return
	}
	if len(f.seen) >= foreignMost {
		clear(f.seen)
	}
	f.seen[key] = now
	f.log.Emit(eventlog.KeyForeign{Key: key, Reason: reason})
}
