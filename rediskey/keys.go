package rediskey

import "strings"

// The parts between the fleet's prefix and what the key is about.
const (
	leasePart  = "lease:"
	nodePart   = "node:"
	statePart  = "state:"
	cordonPart = "cordon:"
	cardPart   = "info:"
	lossName   = "loss"
)

// Keys builds and parses the names of the fleet's keys. It is a value: copy it
// freely. Use one that [Keys.Validate] accepts.
type Keys struct {
	// Prefix starts the keys that the fleet owns.
	Prefix string
	// SessionPrefix starts the keys of the session documents, which the fleet's
	// user owns.
	SessionPrefix string
}

// Default returns the keys of a fleet whose settings name no prefix.
func Default() Keys {
	return Keys{Prefix: "poll:", SessionPrefix: "session:"}
}

// Lease returns the key that holds the session's lease.
func (k Keys) Lease(id string) string {
	return k.Prefix + leasePart + id
}

// Node returns the key of the instance's heartbeat.
func (k Keys) Node(instance string) string {
	return k.Prefix + nodePart + instance
}

// Cordon returns the key of what an operator wants of the instance: that it takes
// nothing, or gives up what it has.
func (k Keys) Cordon(instance string) string {
	return k.Prefix + cordonPart + instance
}

// Card returns the key of what the instance says of itself.
func (k Keys) Card(instance string) string {
	return k.Prefix + cardPart + instance
}

// Loss returns the key that tells nodes which start of a loss of data that others saw.
func (k Keys) Loss() string {
	return k.Prefix + lossName
}

// Session returns the key of the session's document.
func (k Keys) Session(id string) string {
	return k.SessionPrefix + id
}

// State returns the key of the session's state: token, rhythm and last result.
// It lies in the same cluster slot as the session's lease key.
func (k Keys) State(id string) string {
	return k.Prefix + statePart + "{" + slotTag(k.Lease(id)) + "}" + id
}

// Results returns the key of the stream of results of a fleet whose settings name no
// other. Under SessionPrefix it could be a document's, so see what it parses to.
func (k Keys) Results() string {
	return k.Prefix + "results"
}

// Kind says what a key is.
type Kind int

// The kinds of keys. A key that the fleet does not know is Foreign.
const (
	Foreign Kind = iota
	Lease
	State
	Node
	Session
	Cordon
	Card
	Loss
)

// String returns the kind in lower case.
func (k Kind) String() string {
	switch k {
	case Lease:
		return "lease"
	case State:
		return "state"
	case Node:
		return "node"
	case Session:
		return "session"
	case Cordon:
		return "cordon"
	case Card:
		return "card"
	case Loss:
		return "loss"
	case Foreign:
	}

	return "foreign"
}

// Parse says what the key is, and the session ID or instance ID that it is about
// ("" for Foreign). The ID is the whole rest after the prefix and may be empty or
// invalid: a heartbeat with an empty name is a Node with "".
//
// Where SessionPrefix is the start of Prefix, the longer one wins: all that is
// under Prefix is the fleet's or foreign, never a document. A session whose ID
// reaches into the fleet's prefix can't be used then.
func (k Keys) Parse(key string) (Kind, string) {
	rest, ours := strings.CutPrefix(key, k.Prefix)
	if ours {
		if kind, id := k.parseOwn(key, rest); kind != Foreign {
			return kind, id
		}
	}
	id, found := strings.CutPrefix(key, k.SessionPrefix)
	if !found || ours && len(k.SessionPrefix) < len(k.Prefix) {
		return Foreign, ""
	}

	return Session, id
}

// parseOwn parses a key of the fleet by its rest after Prefix.
func (k Keys) parseOwn(key, rest string) (Kind, string) {
	if rest == lossName {
		return Loss, ""
	}
	for _, plain := range []struct {
		part string
		kind Kind
	}{{leasePart, Lease}, {nodePart, Node}, {cordonPart, Cordon}, {cardPart, Card}} {
		if id, found := strings.CutPrefix(rest, plain.part); found {
			return plain.kind, id
		}
	}
	tagged, found := strings.CutPrefix(rest, statePart+"{")
	if !found {
		return Foreign, ""
	}
	// A tag never contains the brace that ends it, so the first one does.
	_, id, found := strings.Cut(tagged, "}")
	if !found || k.State(id) != key {
		return Foreign, ""
	}

	return State, id
}
