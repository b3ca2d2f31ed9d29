package fleetview

import (
	"maps"
	"slices"
	"strings"

	"leasehold/lease"
)

// Nodes are those that are alive.
type Nodes map[string]lease.Member

// NodesOf returns the members by their instance IDs.
func NodesOf(members []lease.Member) Nodes {
	n := make(Nodes, len(members))
	for _, m := range members {
		n[m.Instance] = m
	}
	return n
}

// Names returns the instance IDs, in order.
func (n Nodes) Names() []string { return slices.Sorted(maps.Keys(n)) }

// Named finds the node with an instance ID, or else all that have a name: of one name
// there may be several, and one after the other. It returns the IDs that fit, in order.
func (n Nodes) Named(name string) []string {
	if _, ok := n[name]; ok {
		return []string{name}
	}
	var fits []string
	for id := range n {
		start, ok := strings.CutPrefix(id, name+"-")
		if ok && lease.InstanceForm(id) && strings.Count(start, "-") == 1 {
			fits = append(fits, id)
		}
	}
	slices.Sort(fits)
	return fits
}

// Match finds the node that a person means who looks only: by its whole instance ID, by
// its name, or else by the beginning of an ID. It returns the IDs that fit, in order.
// An empty name, such as that of a variable that is not set, is nobody's.
func (n Nodes) Match(name string) []string {
	if name == "" {
		return nil
	}
	if fits := n.Named(name); len(fits) > 0 {
		return fits
	}
	var fits []string
	for id := range n {
		if strings.HasPrefix(id, name) {
			fits = append(fits, id)
		}
	}
	slices.Sort(fits)
	return fits
}
