package cli

import (
	"context"
	"strings"

	"leasehold/fleetview"
)

// owner is whose sessions are wanted: a node's, or those of a holder that is none.
type owner struct {
	given string
	// node is the one that is alive and meant; empty: none is.
	node string
	// met says that somebody's lease fitted.
	met bool
}

// owner finds out who is meant. That no node is, is no error: workers have leases too,
// and nodes that are gone.
func (f *fleet) owner(ctx context.Context, nodes fleetview.Nodes, given string) (*owner, error) {
	o := &owner{given: given}
	if len(nodes.Find(given)) == 0 {
		return o, nil
	}
	var err error
	o.node, err = f.which(ctx, nodes, given)
	return o, err
}

// has reports whether the holder of a lease is the one that is wanted.
func (o *owner) has(holder string) bool {
	fits := holder == o.node || holder == o.given
	if o.node == "" {
		fits = strings.HasPrefix(holder, o.given)
	}
	o.met = o.met || fits
	return fits
}

// unknown reports whether nobody is called so: then an empty list may be due to a slip.
func (o *owner) unknown() bool { return o.given != "" && o.node == "" && !o.met }
