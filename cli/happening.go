package cli

import (
	"encoding/json"
	"fmt"
	"strings"

	"leasehold/fleetview"
	"leasehold/lease"
	"leasehold/redisevents"
	"leasehold/rediskey"
	"leasehold/results"
)

// The types of happenings.
const (
	happenedTaken   = "lease.taken"
	happenedFreed   = "lease.freed"
	happenedExpired = "lease.expired"
	happenedSeen    = "node.seen"
	happenedGone    = "node.gone"
	happenedCordon  = "node.cordon"
	happenedChange  = "session.changed"
	happenedGap     = "gap"
	happenedPoll    = "poll"
)

func happeningTypes() []string {
	return []string{
		happenedTaken, happenedFreed, happenedExpired, happenedSeen, happenedGone, happenedCordon, happenedChange,
		happenedGap, happenedPoll,
	}
}

// happening is a line of events.
type happening struct {
	// Time is when it was heard of, by this machine's clock; of a poll, when it ended,
	// by that of the Redis server.
	Time       fleetview.Stamp `json:"time"`
	Type       string          `json:"type"`
	SessionID  string          `json:"session_id,omitempty"`
	InstanceID string          `json:"instance_id,omitempty"`
	// HolderID and Version are those of the lease when it was looked at.
	HolderID string        `json:"holder_id,omitempty"`
	Version  int64         `json:"version,omitempty"`
	Cause    string        `json:"cause,omitempty"`
	Result   *results.Data `json:"result,omitempty"`
}

// happeningOf translates an event, and keeps nodes up to date by it: a heartbeat is
// news only of a node that was not there.
func happeningOf(e redisevents.Event, nodes fleetview.Nodes) (happening, bool) {
	switch e := e.(type) {
	case redisevents.LeaseTaken:
		return happening{Type: happenedTaken, SessionID: e.Session}, true
	case redisevents.LeaseFreed:
		if e.Cause == redisevents.Expired {
			return happening{Type: happenedExpired, SessionID: e.Session}, true
		}
		return happening{Type: happenedFreed, SessionID: e.Session, Cause: string(e.Cause)}, true
	case redisevents.NodeSeen:
		_, known := nodes[e.Instance]
		nodes[e.Instance] = lease.Member{Instance: e.Instance}
		return happening{Type: happenedSeen, InstanceID: e.Instance}, !known
	case redisevents.NodeGone:
		delete(nodes, e.Instance)
		return happening{Type: happenedGone, InstanceID: e.Instance, Cause: string(e.Cause)}, true
	case redisevents.NodeMarked:
		return happening{Type: happenedCordon, InstanceID: e.Instance}, true
	case redisevents.SessionTouched:
		return happening{Type: happenedChange, SessionID: e.ID}, true
	case redisevents.Gap:
		return happening{Type: happenedGap, Cause: e.Reason}, true
	}
	return happening{}, false
}

// happeningOfPoll reads a result; others may have written to the stream, what is none.
func happeningOfPoll(text string) (happening, bool) {
	var e results.Event
	if json.Unmarshal([]byte(text), &e) != nil || e.Type != results.Type {
		return happening{}, false
	}
	e.Data.Body, e.Data.BodyBase64 = "", nil // who wants answers reads the stream
	return happening{
		Time: fleetview.Stamp(e.Time), Type: happenedPoll, SessionID: e.Data.Session, HolderID: e.Data.Holder, Result: &e.Data,
	}, true
}

// text is the line for people.
func (h happening) text() string {
	parts := []string{moment(&h.Time), fmt.Sprintf("%-15s", h.Type)}
	add := func(format string, args ...any) { parts = append(parts, fmt.Sprintf(format, args...)) }
	if h.SessionID != "" {
		add("%s", rediskey.Display(h.SessionID))
	}
	if h.InstanceID != "" {
		add("%s", rediskey.Display(h.InstanceID))
	}
	if h.HolderID != "" {
		add("by %s", rediskey.Display(h.HolderID))
	}
	if h.Version != 0 {
		add("version %d", h.Version)
	}
	if h.Cause != "" {
		add("(%s)", rediskey.Display(h.Cause))
	}
	if r := h.Result; r != nil {
		add("%s", r.Class)
		if r.Status != 0 {
			add("(%d)", r.Status)
		}
		add("in %s", duration(ms(r.DurationMS)))
		if r.Error != "" {
			add(": %s", rediskey.Display(r.Error))
		}
	}
	return strings.Join(parts, " ")
}
