package fleetview_test

import (
	"slices"
	"strings"
	"testing"

	"leasehold/fleetview"
	"leasehold/lease"
)

const (
	nodeA  = "a-1764288000123456789-0000000a"
	twinA  = "a-1764288000123456790-0000000b"
	nodeAB = "a-b-1764288000123456789-0000000c"
	nodeB  = "b-1764288000123456789-0000000d"
)

func alive(ids ...string) fleetview.Nodes {
	var members []lease.Member
	for _, id := range ids {
		members = append(members, lease.Member{Instance: id})
	}
	return fleetview.NodesOf(members)
}

func TestNodesAreFoundByNameAndByTheBeginningOfAnID(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		what         string
		nodes        fleetview.Nodes
		name         string
		named, match []string
	}{
		{"an ID", alive(nodeA, twinA), nodeA, []string{nodeA}, []string{nodeA}},
		{"a name", alive(nodeB, nodeAB), "a-b", []string{nodeAB}, []string{nodeAB}},
		{"a name that begins another", alive(nodeA, nodeAB), "a", []string{nodeA}, []string{nodeA}},
		{"a name of two", alive(twinA, nodeA, nodeB), "a", []string{nodeA, twinA}, []string{nodeA, twinA}},
		{"the beginning of an ID", alive(nodeA, nodeB), "b-17", nil, []string{nodeB}},
		{"the beginning of two", alive(nodeAB, nodeA), "a-", nil, []string{nodeA, nodeAB}},
		{"one that is not there", alive(nodeA), nodeB, nil, nil},
		{"no name at all", alive(nodeA), "", nil, nil},
		{"what is no instance", alive("a-1-x"), "a", nil, []string{"a-1-x"}},
	} {
		if got := c.nodes.Named(c.name); !slices.Equal(got, c.named) {
			t.Errorf("%s: named %v, want %v", c.what, got, c.named)
		}
		if got := c.nodes.Match(c.name); !slices.Equal(got, c.match) {
			t.Errorf("%s: match %v, want %v", c.what, got, c.match)
		}
	}
}

// Whatever a person calls a node: only nodes are found, each once, in order; one by its
// whole ID alone; and what changes something is never done by the beginning of an ID.
func FuzzNames(f *testing.F) {
	ids := []string{
		"a-1700000000000000000-0123abcd", "a-1700000000000000001-0123abcd", "a-b-1700000000000000000-0123abcd", "web", "a", "-1700000000000000000-0123abcd",
	}
	for _, name := range append([]string{"", "a-", "a-b", "w", "-", "a-1700000000000000000"}, ids...) {
		f.Add(name)
	}
	nodes := make(fleetview.Nodes)
	for _, id := range ids {
		nodes[id] = lease.Member{Instance: id}
	}
	f.Fuzz(func(t *testing.T, name string) {
		named, match := nodes.Named(name), nodes.Match(name)
		_, whole := nodes[name]
		for _, found := range [][]string{named, match} {
			if !slices.IsSorted(found) || len(slices.Compact(slices.Clone(found))) != len(found) || whole && !slices.Equal(found, []string{name}) {
				t.Errorf("%q finds %q", name, found)
			}
			for _, id := range found {
				if _, ok := nodes[id]; !ok || !strings.HasPrefix(id, name) {
					t.Errorf("%q finds %q", name, id)
				}
			}
		}
		for _, id := range named {
			if rest := strings.TrimPrefix(id, name); rest != "" && (strings.Count(rest, "-") != 2 || !lease.InstanceForm(id)) {
				t.Errorf("%q names %q", name, id)
			}
		}
		if len(named) > 0 && !slices.Equal(named, match) {
			t.Errorf("%q names %q and matches %q", name, named, match)
		}
	})
}
