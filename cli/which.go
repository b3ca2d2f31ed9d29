package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"leasehold/fleetview"
	"leasehold/lease"
	"leasehold/rediskey"
)

// nodeLong says in the help of commands what a NODE may be.
const nodeLong = `
A NODE is an instance ID, a name that only one node that is alive has, or the beginning
of an ID with the whole name in it, such as node-b-17. What is the beginning of a name
alone finds nothing: node-1, when it has gone, must not be taken for node-10.`

// nodeArgument is the same for a flag.
const nodeArgument = "an instance ID, a name, or the beginning of an ID with the whole name in it"

// which finds the node that is meant.
func (f *fleet) which(ctx context.Context, nodes fleetview.Nodes, name string) (string, error) {
	switch fits := nodes.Find(name); len(fits) {
	case 0:
		return "", noNode(nodes, name)
	case 1:
		return fits[0], nil
	default:
		cards, err := f.cards(ctx, fits)
		if err != nil {
			return "", err
		}
		return "", usage(ambiguous(name, fits, cards, time.Now()))
	}
}

// mostNodes is how many nodes an error lists.
const mostNodes = 10

// noNode says which nodes there are instead.
func noNode(nodes fleetview.Nodes, name string) error {
	if len(nodes) == 0 {
		return errors.New("no node is alive")
	}
	ids, more := nodes.Names(), ""
	if n := len(ids) - mostNodes; n > 0 {
		ids, more = ids[:mostNodes], fmt.Sprintf(" and %d more", n)
	}
	return fmt.Errorf("no node %q is alive: there are %s%s", name, rediskey.Display(strings.Join(ids, ", ")), more)
}

// ambiguous tells the candidates apart: an update has an old and a new one of a name.
func ambiguous(name string, fits []string, cards map[string]lease.Card, now time.Time) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%q may be any of %d nodes: say which, by its ID", name, len(fits))
	for _, id := range fits {
		var known []string
		card := cards[id]
		if !card.Started.IsZero() {
			known = append(known, "started "+ago(now, card.Started))
		}
		if card.Version != "" {
			known = append(known, "version "+rediskey.Display(card.Version))
		}
		b.WriteString("\n  " + rediskey.Display(id))
		if len(known) > 0 {
			b.WriteString("  " + strings.Join(known, ", "))
		}
	}
	return errors.New(b.String())
}
