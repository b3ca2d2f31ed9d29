package node

import (
	"context"
	"slices"
	"testing"
	"time"

	"leasehold/internal/redistest"
	"leasehold/lease"
	"leasehold/planner"
	"leasehold/rediskey"
	"leasehold/redisstore"
	"leasehold/session"
)

// planOf gives sessions to nodes, by their names; "" is nobody.
func planOf(owners ...string) *plan {
	nodes := []string{"a", "b"}
	p := &plan{}
	for _, n := range nodes {
		p.view.Nodes = append(p.view.Nodes, planner.NewName(n))
	}
	for i, owner := range owners {
		p.view.Sessions = append(p.view.Sessions, planner.NewName(string(rune('0'+i))))
		at := slices.Index(nodes, owner)
		if at < 0 {
			at = int(planner.None)
		}
		p.owners = append(p.owners, int32(at))
	}
	return p
}

func TestSessionsOfOthersAreLookedAtInTurn(t *testing.T) {
	o := overdue{found: make(map[string]bool)}
	p := planOf("a", "b", "", "b", "a")
	for range 2 {
		if got := o.pick(p, "a"); !slices.Equal(got, []string{"1", "3"}) {
			t.Errorf("picked %q", got)
		}
	}
	many := &plan{view: planner.View{Nodes: []planner.Name{planner.NewName("b")}}}
	for range slice + 3 {
		many.view.Sessions = append(many.view.Sessions, planner.NewName("s"))
		many.owners = append(many.owners, 0)
	}
	o = overdue{}
	for _, want := range []int{slice, 3, slice} {
		if got := o.pick(many, "a"); len(got) != want {
			t.Errorf("picked %d, want %d", len(got), want)
		}
	}
}

func TestWhatIsNoMoreOfOthersIsForgottenWhenTheTurnBeginsAnew(t *testing.T) {
	o := overdue{found: map[string]bool{"0": true, "1": true, "2": true, "3": true, "gone": true}}
	o.pick(planOf("a", "b", "", "b"), "a")
	if len(o.found) != 2 || !o.found["1"] || !o.found["3"] {
		t.Errorf("found are %v", o.found)
	}
	o = overdue{next: 1, found: map[string]bool{"0": true}}
	o.pick(planOf("a", "b"), "a")
	if len(o.found) != 1 {
		t.Errorf("in the middle of a turn %v", o.found)
	}
}

// A session is overdue when two slots and a poll of the last have passed by the clock of
// Redis, and no more when it is not to be polled, has gone, or is up to a worker; what can
// not be read stays.
func TestASessionIsOverdueAfterTwoSlotsAndAPoll(t *testing.T) {
	mini := redistest.NewMini()
	t.Cleanup(mini.Close)
	client := mini.Client()
	t.Cleanup(func() { _ = client.Close() })
	keys := rediskey.Default()
	n := &Node{
		cfg:   Config{Client: client, Defaults: session.Defaults{}},
		store: redisstore.New(client, keys, redisstore.Options{Timeout: time.Second}),
	}
	const nodeB = "b-1764288000123456789-0badcafe"
	began := time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
	put := func(doc string) {
		if err := client.Set(t.Context(), keys.Session("s"), doc, 0).Err(); err != nil {
			t.Fatal(err)
		}
	}
	mini.SetTime(began)
	put(`{"kind":"log","interval":"10s","timeout":"5s"}`)
	if got := n.store.Acquire(t.Context(), nodeB, []lease.Claim{{Session: "s", TTL: time.Hour}}); !got[0].Granted {
		t.Fatal(got)
	}
	o := overdue{found: make(map[string]bool)}
	look := func(after time.Duration, want bool, what string) {
		t.Helper()
		mini.SetTime(began.Add(after))
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
		defer cancel()
		o.look(ctx, n, []string{"s"})
		if o.found["s"] != want || len(o.found) > 1 {
			t.Errorf("%s: found %v", what, o.found)
		}
	}
	hold := func(holder string) {
		if err := client.Set(t.Context(), keys.Lease("s"), holder, time.Hour).Err(); err != nil {
			t.Fatal(err)
		}
	}
	const bound = 25 * time.Second
	look(bound, false, "its last poll may be in flight")
	look(bound+time.Second, true, "two slots and a poll have passed")
	mini.SetError("LOADING")
	look(bound+time.Second, true, "Redis does not answer")
	mini.SetError("")
	for _, worker := range []string{"w1", nodeB + lease.ByHand} {
		hold(worker)
		look(bound+time.Second, false, "it is up to "+worker)
		hold(nodeB)
		look(bound+time.Second, true, "a node has it again")
	}
	put(`{"kind":"log","interval":"10s","timeout":"5s","paused":true}`)
	look(bound+time.Second, false, "it is paused")
	put(`{"kind":"log","interval":"10s","timeout":"5s"}`)
	look(bound+time.Second, true, "it goes on")
	put(`{"kind":7}`)
	look(bound+time.Second, false, "its document can't be used")
	put(`{"kind":"log","interval":"20s","timeout":"5s"}`)
	look(bound+time.Second, false, "its interval is longer")
	look(2*bound, true, "that has passed twice too")
	client.Del(t.Context(), keys.Session("s"))
	look(2*bound, false, "it is gone")
}
