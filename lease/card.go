package lease

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"
)

// Card is what a node says of itself: for people, and for the others to compare.
type Card struct {
	Instance string    `json:"instance_id"`
	Version  string    `json:"version"`
	Started  time.Time `json:"started_at"`
	// HTTPAddr is where it listens; empty: nowhere.
	HTTPAddr string `json:"http_addr,omitempty"`
	// MaxSessions is the most that it takes; 0 means no limit.
	MaxSessions int `json:"max_sessions"`
	// Refused is how many of its results were refused, since it had lost the lease, as of
	// when the card was written.
	Refused uint64 `json:"refused_results"`
	// Leaving says that the node is stopping: it has no heartbeat any more, and still has
	// the leases of polls that are to end.
	Leaving bool `json:"leaving,omitempty"`
	// Shared holds the settings, by variable, that must be the same on all nodes.
	Shared map[string]string `json:"shared"`
}

// Difference is a setting that two nodes have otherwise.
type Difference struct {
	Setting, Mine string
	Other, Theirs string // the other node, and its value
}

// String says so to whoever runs the node.
func (d Difference) String() string {
	return fmt.Sprintf("%s is %s here and %s on %s: it must be the same on all nodes", d.Setting, d.Mine, d.Theirs, d.Other)
}

// Differences compares what two nodes must share, in the order of the settings' names.
// A setting that one of them does not know is left out.
func Differences(mine, other Card) []Difference {
	var all []Difference
	for _, setting := range slices.Sorted(maps.Keys(mine.Shared)) {
		theirs, known := other.Shared[setting]
		if known && theirs != mine.Shared[setting] {
			all = append(all, Difference{
				Setting: setting, Mine: mine.Shared[setting], Other: other.Instance, Theirs: theirs,
			})
		}
	}

	return all
}

// Registry keeps what the nodes say of themselves, and what operators want of them.
// All methods may be called from any goroutine.
type Registry interface {
	// Publish writes the card, which lives for ttl. It keeps the instance's cordon, if
	// there is one, as long as it is called.
	Publish(ctx context.Context, c Card, ttl time.Duration) error
	// Cards reads the cards of the instances named, in their order; nil for each that
	// has none.
	Cards(ctx context.Context, instances []string) ([]*Card, error)
	// Retire removes the card of a node that has stopped.
	Retire(ctx context.Context, instance string) error
	// SetCordon changes what is wanted of an instance. Nodes follow at once.
	SetCordon(ctx context.Context, instance string, c Cordon) error
}
