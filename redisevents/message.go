package redisevents

import (
	"strconv"
	"strings"

	"leasehold/rediskey"
)

// Channels of keyspace notifications are prefix + database + middle + key or event.
const (
	keyevent = "__keyevent@"
	keyspace = "__keyspace@"
	middle   = "__:"
)

// The names under which Redis announces that a key went.
const (
	nameExpired    = "expired"
	nameDel        = "del"
	nameEvicted    = "evicted"
	nameRenameFrom = "rename_from"
)

// nameSet is the name under which it announces that a string was written.
const nameSet = "set"

// parser turns messages into events. It keeps nothing and never fails: what it
// does not understand is no event.
type parser struct {
	keys    rediskey.Keys
	db      int
	takings bool
}

// parse returns the event of one message, or nil.
func (p parser) parse(channel, payload string) Event {
	if rest, ok := strings.CutPrefix(channel, keyevent); ok {
		name, ours := p.ours(rest)
		if !ours {
			return nil
		}
		return byEvent(p.event(payload, name))
	}
	if rest, ok := strings.CutPrefix(channel, keyspace); ok {
		key, ours := p.ours(rest)
		if !ours {
			return nil
		}
		return p.event(key, payload)
	}
	return nil
}

// ours splits "<db>__:<rest>" and reports whether the database is ours.
func (p parser) ours(s string) (rest string, ok bool) {
	number, rest, found := strings.Cut(s, middle)
	return rest, found && number == strconv.Itoa(p.db)
}

// event says what a named event of a key means to the fleet.
func (p parser) event(key, name string) Event {
	kind, id := p.keys.Parse(key)
	cause, gone := causeOf(name)
	switch kind {
	case rediskey.Lease:
		if gone {
			return LeaseFreed{Session: id, Cause: cause}
		}
		if p.takings && appears(name) {
			return LeaseTaken{Session: id}
		}
	case rediskey.Node:
		if gone {
			return NodeGone{Instance: id, Cause: cause}
		}
		if appears(name) {
			return NodeSeen{Instance: id}
		}
	case rediskey.Session:
		if changes(name) {
			return SessionTouched{ID: id}
		}
	case rediskey.Cordon:
		if changes(name) {
			return NodeMarked{Instance: id}
		}
	case rediskey.State, rediskey.Card, rediskey.Loss, rediskey.Foreign:
	}
	return nil
}

// byEvent drops what is heard by key too, so that it does not count twice. An
// expired heartbeat stays: where the flags cannot be set, "Ex" is what others most
// often have set, and it is the only word of a dead node then.
func byEvent(e Event) Event {
	switch e := e.(type) {
	case LeaseFreed, LeaseTaken:
		return e
	case NodeGone:
		if e.Cause == Expired {
			return e
		}
	case NodeSeen, NodeMarked, SessionTouched, Gap:
	}
	return nil
}

// changes reports whether the event means that the key's value is another. A TTL
// changes nothing until it runs out.
func changes(name string) bool { return name != "" && name != "expire" && name != "persist" }

// causeOf reports whether the event means that the key went, and how.
func causeOf(name string) (cause Cause, gone bool) {
	switch name {
	case nameExpired:
		return Expired, true
	case nameDel, nameRenameFrom:
		return Deleted, true
	case nameEvicted:
		return Evicted, true
	default:
		return "", false
	}
}

// appears reports whether the event means that the key was written.
func appears(name string) bool {
	switch name {
	case nameSet, "rename_to", "restore", "copy_to":
		return true
	default:
		return false
	}
}
