package planner_test

import (
	"fmt"
	"testing"

	"leasehold/planner"
)

func names(format string, n int) []planner.Name {
	list := make([]planner.Name, n)
	for i := range list {
		list[i] = planner.NewName(fmt.Sprintf(format, i))
	}

	return list
}

func BenchmarkAssign(b *testing.B) {
	sessions := names("session-%d", 100_000)
	for _, n := range []int{1, 3, 10, 100, 1000} {
		nodes := names("node-%d", n)
		b.Run(fmt.Sprintf("nodes=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				planner.Assign(planner.View{Nodes: nodes, Sessions: sessions})
			}
		})
	}
}

func BenchmarkAssignAfterAJoin(b *testing.B) {
	sessions := names("session-%d", 100_000)
	for _, n := range []int{3, 10, 100} {
		nodes := names("node-%d", n+1)
		present := planner.Assign(planner.View{Nodes: nodes[:n], Sessions: sessions})
		b.Run(fmt.Sprintf("nodes=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				planner.Assign(planner.View{Nodes: nodes, Sessions: sessions, Present: present})
			}
		})
	}
}

func BenchmarkNewName(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		planner.NewName("node-1.example.com-1893456000000000000-0123abcd")
	}
}

func BenchmarkRank(b *testing.B) {
	session, nodes := planner.NewName("session-1"), names("node-%d", 100)
	b.ReportAllocs()
	for b.Loop() {
		planner.Rank(session, nodes)
	}
}
