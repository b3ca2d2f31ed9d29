package planner_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
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
			owners := planner.Assign(names("node-%d", nodes), names("s%d", sessions))
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
		for node, load := range loads(planner.Assign(nodes, names("s%d", c.sessions)), len(nodes)) {
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
		owners := planner.Assign(nodes, sessions)
		if want := textbook(nodes, sessions, loads(owners, len(nodes))); !slices.Equal(owners, want) {
			t.Fatalf("got %v, want %v", owners, want)
		}
	})
}

func TestNoSessionAndNodePreferEachOther(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		nodes, sessions := distinct("nodes", 1, 12).Draw(t, "nodes"), distinct("sessions", 0, 100).Draw(t, "sessions")
		owners := planner.Assign(nodes, sessions)
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
		nodes, sessions := distinct("nodes", 1, 12).Draw(t, "nodes"), distinct("sessions", 0, 60).Draw(t, "sessions")
		owners := planner.Assign(nodes, sessions)
		want := make(map[string]string)
		for s, owner := range owners {
			want[sessions[s].String()] = nodes[owner].String()
		}
		nodes = rapid.Permutation(nodes).Draw(t, "other order of nodes")
		sessions = rapid.Permutation(sessions).Draw(t, "other order of sessions")
		for s, owner := range planner.Assign(nodes, sessions) {
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
	if owners := planner.Assign(nil, names("s%d", 3)); !slices.Equal(owners, []int32{-1, -1, -1}) {
		t.Errorf("without nodes: %v", owners)
	}
	if owners := planner.Assign(names("n%d", 3), nil); len(owners) != 0 {
		t.Errorf("without sessions: %v", owners)
	}
	if rank := planner.Rank(planner.NewName("s"), nil); len(rank) != 0 {
		t.Errorf("rank of no nodes: %v", rank)
	}
}

// A node that joins, read backward: one that leaves. Unavoidable is what the
// quotas alone force to move. Where a node has fewer than some tens of sessions, or
// fewer than there are nodes, chance moves more; that is not promised.
func TestAJoinMovesLittleMoreThanItMust(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		n := 2 + random.IntN(6)
		s := n * (30 + random.IntN(100))
		salt := random.Uint64()
		nodes, sessions := names(fmt.Sprintf("node-%x-%%d", salt), n+1), names(fmt.Sprintf("s-%x-%%d", salt), s)
		before, after := planner.Assign(nodes[:n], sessions), planner.Assign(nodes, sessions)
		moved, unavoidable := 0, 0
		for i := range before {
			if before[i] != after[i] {
				moved++
			}
		}
		old := loads(before, n+1)
		for node, load := range loads(after, n+1) {
			unavoidable += max(0, load-old[node])
		}
		if moved*10 > unavoidable*16 {
			t.Errorf("%d sessions, %d nodes and one more: %d moved, %d unavoidable", s, n, moved, unavoidable)
		}
	}
}

func ExampleAssign() {
	nodes := []planner.Name{planner.NewName("a"), planner.NewName("b")}
	sessions := []planner.Name{
		planner.NewName("s1"), planner.NewName("s2"), planner.NewName("s3"), planner.NewName("s4"),
	}
	count := make(map[string]int)
	for _, owner := range planner.Assign(nodes, sessions) {
		count[nodes[owner].String()]++
	}
	fmt.Println(count)
	// Output: map[a:2 b:2]
}
