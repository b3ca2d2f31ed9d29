package fleetview_test

import (
	"slices"
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
