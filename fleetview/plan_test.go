package fleetview_test

import (
	"strconv"
	"testing"

	"leasehold/fleetview"
	"leasehold/lease"
	"leasehold/session"
)

// held makes sessions that a node has.
func held(instance string, from, n int) []fleetview.Session {
	var all []fleetview.Session
	for i := range n {
		id := "s" + strconv.Itoa(from+i)
		all = append(all, fleetview.Session{
			ID: id, Spec: session.Session{ID: id, Kind: session.Log}, Lease: lease.Inspection{Record: lease.Record{Session: id, Holder: instance}},
		})
	}
	return all
}

func TestWhatADrainedNodeGivesUp(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		what             string
		cordons          map[string]lease.Cordon
		most             map[string]int
		a, b             int // what the nodes have
		leaving, staying int
	}{
		{"all, to one that is open", map[string]lease.Cordon{nodeA: lease.Drained, nodeB: lease.Open}, nil, 4, 1, 4, 0},
		{"nothing, when it has nothing", map[string]lease.Cordon{nodeA: lease.Drained, nodeB: lease.Open}, nil, 0, 4, 0, 0},
		{"nothing, when it is alone", map[string]lease.Cordon{nodeA: lease.Drained}, nil, 4, 0, 0, 4},
		{"nothing, to one that is cordoned", map[string]lease.Cordon{nodeA: lease.Drained, nodeB: lease.Cordoned}, nil, 4, 1, 0, 4},
		{"nothing, to one that is drained", map[string]lease.Cordon{nodeA: lease.Drained, nodeB: lease.Drained}, nil, 4, 0, 0, 4},
		{"nothing, to one that is full", map[string]lease.Cordon{nodeA: lease.Drained, nodeB: lease.Open}, map[string]int{nodeB: 2}, 4, 2, 0, 4},
		{"nothing, when it is not drained", map[string]lease.Cordon{nodeA: lease.Open, nodeB: lease.Open}, nil, 2, 2, 0, 2},
	} {
		var members []lease.Member
		for id, cordon := range c.cordons {
			members = append(members, lease.Member{Instance: id, Cordon: cordon})
		}
		draft := fleetview.NewDraft(fleetview.NodesOf(members), c.most)
		draft.Add(held(nodeA, 0, c.a))
		draft.Add(held(nodeB, c.a, c.b))
		if leaving, staying := draft.Plan().Held(nodeA); leaving != c.leaving || staying != c.staying {
			t.Errorf("%s: %d leave and %d stay, want %d and %d", c.what, leaving, staying, c.leaving, c.staying)
		}
	}
	if leaving, staying := fleetview.NewDraft(alive(nodeA), nil).Plan().Held(nodeB); leaving != 0 || staying != 0 {
		t.Errorf("a node that is gone: %d, %d", leaving, staying)
	}
}
