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

// Find finds the node that a person means: by its whole instance ID, by its name, or else
// by the beginning of an ID. That has the whole name: who means node-1, which may have
// gone, doesn't mean node-10. Of one name there may be several nodes; it returns the IDs
// that fit, in order.
func (n Nodes) Find(name string) []string {
	if _, ok := n[name]; ok {
		return []string{name}
	}
	named := n.having(func(of, _ string) bool { return of == name })
	if len(named) > 0 {
		return named
	}
	return n.having(func(of, id string) bool { return len(name) > len(of) && strings.HasPrefix(id, name) })
}

// having returns the IDs of the instances that fit, by their name and ID, in order.
func (n Nodes) having(fit func(name, id string) bool) []string {
	var fits []string
	for id := range n {
		if name, ok := nameOf(id); ok && fit(name, id) {
			fits = append(fits, id)
		}
	}
	slices.Sort(fits)
	return fits
}

// nameOf is an instance ID without the time and the number behind the name.
func nameOf(id string) (string, bool) {
	if !lease.InstanceForm(id) {
		return "", false
	}
	boot := id[:strings.LastIndexByte(id, '-')]
	return boot[:strings.LastIndexByte(boot, '-')], true
}
