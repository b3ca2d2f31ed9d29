package planner_test

import (
	"cmp"
	"fmt"
	"math/bits"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"leasehold/planner"
)

// loads counts the sessions of each node.
func loads(owners []int32, nodes int) []int {
	count := make([]int, nodes)
	for _, owner := range owners {
		count[owner]++
	}

	return count
}

// distinct draws different names.
func distinct(label string, least, most int) *rapid.Generator[[]planner.Name] {
	return rapid.Custom(func(t *rapid.T) []planner.Name {
		ids := rapid.SliceOfNDistinct(rapid.String(), least, most, rapid.ID[string]).Draw(t, label)
		list := make([]planner.Name, len(ids))
		for i, id := range ids {
			list[i] = planner.NewName(id)
		}

		return list
	})
}

// textbook is deferred acceptance as Gale and Shapley wrote it down: the free
// sessions propose down their lists, a full node keeps the heaviest. The quotas
// are those that the division under test came to.
func textbook(nodes, sessions []planner.Name, quotas []int) []int32 {
	owners := make([]int32, len(sessions))
	asked := make([]int, len(sessions))
	held := make([][]int, len(nodes))
	var free []int
	for s := range sessions {
		free = append(free, s)
	}
	for len(free) > 0 {
		s := free[0]
		free = free[1:]
		node := planner.Rank(sessions[s], nodes)[asked[s]]
		asked[s]++
		held[node] = append(held[node], s)
		slices.SortFunc(held[node], func(a, b int) int {
			return cmp.Or(
				cmp.Compare(planner.Weight(nodes[node], sessions[b]), planner.Weight(nodes[node], sessions[a])),
				cmp.Compare(sessions[a].String(), sessions[b].String()),
			)
		})
		if len(held[node]) > quotas[node] {
			free = append(free, held[node][quotas[node]])
			held[node] = held[node][:quotas[node]]
		}
	}
	for node, list := range held {
		for _, s := range list {
			owners[s] = int32(node)
		}
	}

	return owners
}

func TestSharesAreExact(t *testing.T) {
	for nodes := 1; nodes <= 12; nodes++ {
		for sessions := range 41 {
			owners := planner.Assign(planner.View{Nodes: names("node-%d", nodes), Sessions: names("s%d", sessions)})
			for node, load := range loads(owners, nodes) {
				if load != sessions/nodes && load != (sessions+nodes-1)/nodes {
					t.Fatalf("%d sessions, %d nodes: node %d has %d", sessions, nodes, node, load)
				}
			}
		}
	}
}

func TestNamesThatDifferAtTheEndAlone(t *testing.T) {
	for _, c := range []struct {
		nodes    []string
		sessions int
	}{
		{[]string{"node-1", "node-2", "node-3"}, 30},
		{[]string{"node-1", "node-2", "node-3", "node-4", "node-5"}, 100},
		{[]string{"node-1", "node-2", "node-3", "node-4", "node-5"}, 300},
		{[]string{"a", "b", "c"}, 30},
		{[]string{"a", "b", "c"}, 300},
	} {
		var nodes []planner.Name
		for _, id := range c.nodes {
			nodes = append(nodes, planner.NewName(id))
		}
		for node, load := range loads(planner.Assign(planner.View{Nodes: nodes, Sessions: names("s%d", c.sessions)}), len(nodes)) {
			if load != c.sessions/len(nodes) {
				t.Errorf("%d sessions on %v: %s has %d", c.sessions, c.nodes, c.nodes[node], load)
			}
		}
	}
}

// Without quotas the first choices must spread evenly too, or the quotas would
// move nearly everything.
func TestFirstChoicesSpread(t *testing.T) {
	const sessions, nodes = 10_000, 10
	var first [nodes]int
	for _, session := range names("s%d", sessions) {
		first[planner.Rank(session, names("node-%d", nodes))[0]]++
	}
	for node, n := range first {
		// Chance gives 1,000 with a standard deviation of 30: this is four.
		if n < 880 || n > 1120 {
			t.Errorf("node %d is the first choice of %d of %d sessions", node, n, sessions)
		}
	}
}

func TestAssignIsDeferredAcceptance(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		nodes, sessions := distinct("nodes", 1, 8).Draw(t, "nodes"), distinct("sessions", 0, 40).Draw(t, "sessions")
		owners := planner.Assign(planner.View{Nodes: nodes, Sessions: sessions})
		if want := textbook(nodes, sessions, loads(owners, len(nodes))); !slices.Equal(owners, want) {
			t.Fatalf("got %v, want %v", owners, want)
		}
	})
}

func TestNoSessionAndNodePreferEachOther(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		nodes, sessions := distinct("nodes", 1, 12).Draw(t, "nodes"), distinct("sessions", 0, 100).Draw(t, "sessions")
		owners := planner.Assign(planner.View{Nodes: nodes, Sessions: sessions})
		lightest := make([]uint64, len(nodes))
		for s, owner := range owners {
			if weight := planner.Weight(nodes[owner], sessions[s]); lightest[owner] == 0 || weight < lightest[owner] {
				lightest[owner] = weight
			}
		}
		for s, owner := range owners {
			for n := range nodes {
				weight := planner.Weight(nodes[n], sessions[s])
				if lightest[n] != 0 && weight > lightest[n] && weight > planner.Weight(nodes[owner], sessions[s]) {
					t.Fatalf("session %d and node %d both want each other", s, n)
				}
			}
		}
	})
}

func TestOrderDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		nodes, sessions, present := fleet(t)
		want, holder := make(map[string]string), make(map[string]string)
		for s, owner := range planner.Assign(planner.View{Nodes: nodes, Sessions: sessions, Present: present}) {
			want[sessions[s].String()] = nodes[owner].String()
			if present[s] != planner.None {
				holder[sessions[s].String()] = nodes[present[s]].String()
			}
		}
		nodes = rapid.Permutation(nodes).Draw(t, "other order of nodes")
		sessions = rapid.Permutation(sessions).Draw(t, "other order of sessions")
		for s := range sessions {
			name := holder[sessions[s].String()]
			present[s] = int32(slices.IndexFunc(nodes, func(n planner.Name) bool { return n.String() == name }))
			if _, ok := holder[sessions[s].String()]; !ok {
				present[s] = planner.None
			}
		}
		for s, owner := range planner.Assign(planner.View{Nodes: nodes, Sessions: sessions, Present: present}) {
			if got := nodes[owner].String(); got != want[sessions[s].String()] {
				t.Fatalf("session %q goes to %q or %q, by the order", sessions[s], got, want[sessions[s].String()])
			}
		}
	})
}

func TestRankIsByFallingWeight(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		nodes, session := distinct("nodes", 0, 12).Draw(t, "nodes"), planner.NewName(rapid.String().Draw(t, "session"))
		rank := planner.Rank(session, nodes)
		for i := 1; i < len(rank); i++ {
			if planner.Weight(nodes[rank[i-1]], session) < planner.Weight(nodes[rank[i]], session) {
				t.Fatalf("rank %v rises at %d", rank, i)
			}
		}
		slices.Sort(rank)
		for i := range nodes {
			if len(rank) != len(nodes) || rank[i] != i {
				t.Fatalf("rank %v is no order of %d nodes", rank, len(nodes))
			}
		}
	})
}

func TestNothingToAssign(t *testing.T) {
	if owners := planner.Assign(planner.View{Sessions: names("s%d", 3)}); !slices.Equal(owners, []int32{-1, -1, -1}) {
		t.Errorf("without nodes: %v", owners)
	}
	if owners := planner.Assign(planner.View{Nodes: names("n%d", 3)}); len(owners) != 0 {
		t.Errorf("without sessions: %v", owners)
	}
	if rank := planner.Rank(planner.NewName("s"), nil); len(rank) != 0 {
		t.Errorf("rank of no nodes: %v", rank)
	}
}

// fleet draws nodes, sessions, and who has them: some are nobody's.
func fleet(t *rapid.T) (nodes, sessions []planner.Name, present []int32) {
	nodes, sessions = distinct("nodes", 1, 8).Draw(t, "nodes"), distinct("sessions", 0, 60).Draw(t, "sessions")
	present = make([]int32, len(sessions))
	for i := range present {
		present[i] = rapid.Int32Range(planner.None, int32(len(nodes)-1)).Draw(t, "present")
	}

	return nodes, sessions, present
}

// fewest is the least number of sessions that must leave their nodes so that each
// has a fair share, by trying every choice of who gets one more.
func fewest(held []int, sessions int) int {
	share, more := sessions/len(held), sessions%len(held)
	least := sessions
	for choice := range 1 << len(held) {
		if bits.OnesCount(uint(choice)) != more {
			continue
		}
		moves := 0
		for node, has := range held {
			moves += max(0, has-share-choice>>node&1)
		}
		least = min(least, moves)
	}

	return least
}

func TestNobodyGivesUpMoreThanTheSharesForce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		nodes, sessions, present := fleet(t)
		held := make([]int, len(nodes))
		for _, node := range present {
			if node != planner.None {
				held[node]++
			}
		}
		owners := planner.Assign(planner.View{Nodes: nodes, Sessions: sessions, Present: present})
		for node, load := range loads(owners, len(nodes)) {
			if load != len(sessions)/len(nodes) && load != (len(sessions)+len(nodes)-1)/len(nodes) {
				t.Fatalf("node %d has %d of %d", node, load, len(sessions))
			}
		}
		moved := 0
		for i, node := range present {
			if node != planner.None && owners[i] != node {
				moved++
			}
		}
		if least := fewest(held, len(sessions)); moved != least {
			t.Fatalf("%d moved, %d must", moved, least)
		}
		if again := planner.Assign(planner.View{Nodes: nodes, Sessions: sessions, Present: owners}); !slices.Equal(again, owners) {
			t.Fatalf("a balanced fleet was changed from %v to %v", owners, again)
		}
	})
}

func TestALimitedNodeLeavesTheRestToTheOthers(t *testing.T) {
	for _, c := range []struct {
		sessions int
		most     map[int]int
		want     []int // sorted
	}{
		{12, map[int]int{3: 1}, []int{1, 3, 4, 4}},
		{12, map[int]int{3: 0}, []int{0, 4, 4, 4}},
		{12, map[int]int{2: 1, 3: 2}, []int{1, 2, 4, 5}},
		{12, map[int]int{3: 3}, []int{3, 3, 3, 3}},
		{13, map[int]int{3: 3}, []int{3, 3, 3, 4}},
		{12, map[int]int{3: 100}, []int{3, 3, 3, 3}},
		{12, map[int]int{0: 3, 1: 3, 2: 3, 3: 3}, []int{3, 3, 3, 3}},
		{12, map[int]int{0: 1, 1: 1, 2: 1, 3: 1}, []int{3, 3, 3, 3}}, // there is no other way
		{0, map[int]int{3: 0}, []int{0, 0, 0, 0}},
	} {
		owners := planner.Assign(planner.View{Nodes: names("n%d", 4), Sessions: names("s%d", c.sessions), Most: c.most})
		got := loads(owners, 4)
		for node, most := range c.most {
			if got[node] > most && c.want[0] != 3 {
				t.Errorf("%d sessions, limits %v: %v", c.sessions, c.most, got)
			}
		}
		slices.Sort(got)
		if !slices.Equal(got, c.want) {
			t.Errorf("%d sessions, limits %v: %v, want %v", c.sessions, c.most, got, c.want)
		}
	}
}

func TestWhatIsFreeGoesWhereThereIsRoomByWeight(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		nodes, sessions, present := fleet(t)
		owners := planner.Assign(planner.View{Nodes: nodes, Sessions: sessions, Present: present})
		lightest := map[int32]uint64{} // of what a node did not have before
		for i, node := range owners {
			if weight := planner.Weight(nodes[node], sessions[i]); present[i] != node {
				if least, ok := lightest[node]; !ok || weight < least {
					lightest[node] = weight
				}
			}
		}
		for i, owner := range owners {
			if present[i] == owner {
				continue
			}
			for node, least := range lightest {
				weight := planner.Weight(nodes[node], sessions[i])
				if weight > least && weight > planner.Weight(nodes[owner], sessions[i]) {
					t.Fatalf("session %d and node %d both want each other", i, node)
				}
			}
		}
	})
}

func TestANodeGivesUpTheLightest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		nodes, sessions, present := fleet(t)
		owners := planner.Assign(planner.View{Nodes: nodes, Sessions: sessions, Present: present})
		for i, node := range present {
			if node == planner.None || owners[i] == node {
				continue
			}
			for j, other := range present {
				if other == node && owners[j] == node && planner.Weight(nodes[node], sessions[j]) < planner.Weight(nodes[node], sessions[i]) {
					t.Fatalf("node %d gave %d up and kept the lighter %d", node, i, j)
				}
			}
		}
	})
}

func ExampleAssign() {
	nodes := []planner.Name{planner.NewName("a"), planner.NewName("b")}
	sessions := []planner.Name{
		planner.NewName("s1"), planner.NewName("s2"), planner.NewName("s3"), planner.NewName("s4"),
	}
	count := make(map[string]int)
	for _, owner := range planner.Assign(planner.View{Nodes: nodes, Sessions: sessions}) {
		count[nodes[owner].String()]++
	}
	fmt.Println(count)
	// Output: map[a:2 b:2]
}
