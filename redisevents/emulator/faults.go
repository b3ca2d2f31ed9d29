package emulator

import "time"

// Fate decides what becomes of one announcement: it is published once after each of
// the delays returned. None loses it, a single zero is the usual.
type Fate func(channel, message string) []time.Duration

// Disturb has fate decide over all announcements from now on; nil ends it. Fate is
// called by one goroutine at a time.
func (e *Emulator) Disturb(fate Fate) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.fate = fate
}

// Forge announces what has not happened, as far as the flags cover it.
func (e *Emulator) Forge(db int, key, event string) {
	for _, message := range e.present().channels(announcement{id{db, key}, event}) {
		e.options.Publish(message[0], message[1])
	}
}

// Restart behaves as if the server had been started anew without persistence: no
// keys, no events about them, no flags, another run ID. Connections stay open; cut
// them where the test needs it.
func (e *Emulator) Restart() { e.Replace(0, e.m.FlushAll) }

// Replace behaves as if another server had taken this one's place, which has been up
// for a while already where a replica took over: without flags, and with other IDs.
// change gives it its data, and nothing is announced of what that changes.
func (e *Emulator) Replace(uptime time.Duration, change func()) {
	e.Sync()
	e.mu.Lock()
	e.life = newLife("")
	e.life.started = e.life.started.Add(-uptime)
	e.mu.Unlock()
	change()
	e.Sync()
}

// send publishes a message as its fate will have it.
func (e *Emulator) send(channel, message string) {
	e.mu.Lock()
	fate := e.fate
	e.mu.Unlock()
	if fate == nil {
		e.options.Publish(channel, message)
		return
	}
	for _, delay := range fate(channel, message) {
		if delay <= 0 {
			e.options.Publish(channel, message)
			continue
		}
		time.AfterFunc(delay, func() {
			select {
			case <-e.stop:
			default:
				e.options.Publish(channel, message)
			}
		})
	}
}
