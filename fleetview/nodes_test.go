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
	nodeB1 = "b1-1764288000123456789-0000000e"
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
		what  string
		nodes fleetview.Nodes
		name  string
		want  []string
	}{
		{"an ID", alive(nodeA, twinA), nodeA, []string{nodeA}},
		{"a name", alive(nodeB, nodeAB), "a-b", []string{nodeAB}},
		{"a name that begins another", alive(nodeA, nodeAB), "a", []string{nodeA}},
		{"a name of two", alive(twinA, nodeA, nodeB), "a", []string{nodeA, twinA}},
		{"the beginning of an ID", alive(nodeA, nodeB), "b-17", []string{nodeB}},
		{"a name and its dash", alive(nodeA, nodeB), "b-", []string{nodeB}},
		{"the beginning of two IDs", alive(twinA, nodeA, nodeB), "a-17642880", []string{nodeA, twinA}},
		{"a dash that is not the name's last", alive(nodeAB, nodeA), "a-", []string{nodeA}},
		{"the beginning of a name: the one that is meant may be gone", alive(nodeB1, nodeAB), "b", nil},
		{"the beginning of a name with dashes", alive(nodeAB), "a-", nil},
		{"one that is not there", alive(nodeA), nodeB, nil},
		{"no name at all", alive(nodeA), "", nil},
		{"what is no instance, by its name", alive("a-1-x"), "a", nil},
		{"what is no instance, by its ID", alive("a-1-x"), "a-1-x", []string{"a-1-x"}},
	} {
		if got := c.nodes.Find(c.name); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.what, got, c.want)
		}
	}
}

// Whatever a person calls a node: only nodes are found, each once, in order; one by its
// whole ID alone; and none by less than its whole name.
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
		found := nodes.Find(name)
		_, whole := nodes[name]
		if !slices.IsSorted(found) || len(slices.Compact(slices.Clone(found))) != len(found) || whole && !slices.Equal(found, []string{name}) {
			t.Errorf("%q finds %q", name, found)
		}
		for _, id := range found {
			if _, ok := nodes[id]; !ok || !strings.HasPrefix(id, name) {
				t.Errorf("%q finds %q", name, id)
			}
			if rest := strings.TrimPrefix(id, name); rest != "" && (strings.Count(rest, "-") > 2 || strings.Count(rest, "-") == 2 && rest[0] != '-' || !lease.InstanceForm(id)) {
				t.Errorf("%q finds %q", name, id)
			}
		}
	})
}
