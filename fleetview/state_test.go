package fleetview_test

import (
	"testing"
	"time"

	"leasehold/fleetview"
	"leasehold/lease"
	"leasehold/session"
)

// ofA returns a session of a node that is alive, with a change.
func ofA(change func(*fleetview.Session)) fleetview.Session {
	s := fleetview.Session{
		ID: "web", Spec: session.Session{ID: "web", Kind: session.HTTP, Interval: 10 * time.Second, Timeout: 5 * time.Second},
		Lease: lease.Inspection{Record: lease.Record{Session: "web", Holder: nodeA}},
	}
	change(&s)
	return s
}

// Each state is told from those that are next to it, and the first reason counts.
func TestTheStateOfASession(t *testing.T) {
	t.Parallel()
	nodes := fleetview.NodesOf([]lease.Member{{Instance: nodeA}})
	states := make(map[fleetview.State]bool)
	for what, c := range map[string]struct {
		change func(*fleetview.Session)
		want   fleetview.State
	}{
		"held by a node that lives":                {func(*fleetview.Session) {}, fleetview.OK},
		"its last poll failed":                     {func(s *fleetview.Session) { s.Lease.Failures = 1 }, fleetview.Failing},
		"nobody has it":                            {func(s *fleetview.Session) { s.Lease.Holder = "" }, fleetview.Unleased},
		"nobody has it, and it failed":             {func(s *fleetview.Session) { s.Lease.Holder, s.Lease.Failures = "", 3 }, fleetview.Unleased},
		"held by a node that is gone":              {func(s *fleetview.Session) { s.Lease.Holder = nodeB }, fleetview.Orphaned},
		"held by a node that is gone, failing":     {func(s *fleetview.Session) { s.Lease.Holder, s.Lease.Failures = nodeB, 3 }, fleetview.Orphaned},
		"held by a node that is stopping":          {func(s *fleetview.Session) { s.Lease.Holder, s.Stopping = nodeB, true }, fleetview.OK},
		"held by a node that is stopping, failing": {func(s *fleetview.Session) { s.Lease.Holder, s.Stopping, s.Lease.Failures = nodeB, true, 1 }, fleetview.Failing},
		"held by a worker":                         {func(s *fleetview.Session) { s.Lease.Holder = "w1" }, fleetview.API},
		"for workers, and none has it":             {func(s *fleetview.Session) { s.Spec.Kind, s.Lease.Holder = session.External, "" }, fleetview.External},
		"for workers, and one has it":              {func(s *fleetview.Session) { s.Spec.Kind, s.Lease.Holder = session.External, "w1" }, fleetview.API},
		"for workers, and held by a live node":     {func(s *fleetview.Session) { s.Spec.Kind = session.External }, fleetview.OK},
		"for workers, and one looks like a node":   {func(s *fleetview.Session) { s.Spec.Kind, s.Lease.Holder = session.External, nodeB }, fleetview.API},
		"held by a library, by hand":               {func(s *fleetview.Session) { s.Lease.Holder = nodeB + lease.ByHand }, fleetview.API},
		"paused, also while somebody has it":       {func(s *fleetview.Session) { s.Spec.Paused = true }, fleetview.Paused},
		"paused, and for workers":                  {func(s *fleetview.Session) { s.Spec.Paused, s.Spec.Kind, s.Lease.Holder = true, session.External, "" }, fleetview.Paused},
		"a document that can't be used":            {func(s *fleetview.Session) { s.Problem = "no" }, fleetview.Invalid},
		"paused, and with a key of wrong type":     {func(s *fleetview.Session) { s.Problem, s.Spec.Paused = "no", true }, fleetview.Invalid},
		"held by a worker that looks like none":    {func(s *fleetview.Session) { s.Lease.Holder = nodeA + "x" }, fleetview.API},
	} {
		if got := nodes.State(ofA(c.change)); got != c.want {
			t.Errorf("%s: %s, want %s", what, got, c.want)
		}
		states[c.want] = true
	}
	for _, s := range fleetview.States() {
		if !states[s] {
			t.Errorf("no session of this test is %s", s)
		}
	}
	if len(states) != len(fleetview.States()) {
		t.Errorf("%v are the states, and %v are listed", states, fleetview.States())
	}
}

// A session is late when it let more than two slots pass, and a poll of the last may
// still be in flight; but only if a node is to poll it.
func TestOnlyWhatNodesPollIsLate(t *testing.T) {
	t.Parallel()
	nodes := fleetview.NodesOf([]lease.Member{{Instance: nodeA}})
	due := time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
	const bound = 2*10*time.Second + 5*time.Second
	for what, c := range map[string]struct {
		change func(*fleetview.Session)
		late   bool
	}{
		"ok":                              {func(*fleetview.Session) {}, true},
		"failing":                         {func(s *fleetview.Session) { s.Lease.Failures = 1 }, true},
		"unleased":                        {func(s *fleetview.Session) { s.Lease.Holder = "" }, true},
		"orphaned":                        {func(s *fleetview.Session) { s.Lease.Holder = nodeB }, true},
		"api":                             {func(s *fleetview.Session) { s.Lease.Holder = "w1" }, false},
		"external":                        {func(s *fleetview.Session) { s.Spec.Kind, s.Lease.Holder = session.External, "" }, false},
		"by a node that does not poll it": {func(s *fleetview.Session) { s.Spec.Kind = session.External }, false},
		"paused":                          {func(s *fleetview.Session) { s.Spec.Paused = true }, false},
		"invalid":                         {func(s *fleetview.Session) { s.Problem = "no" }, false},
	} {
		s := ofA(func(s *fleetview.Session) { s.Lease.Next = due; c.change(s) })
		want := time.Duration(0)
		if c.late {
			want = bound + time.Millisecond
		}
		if got := nodes.Late(s, due.Add(bound+time.Millisecond)); got != want {
			t.Errorf("%s: late by %s, want %s", what, got, want)
		}
		if got := nodes.Late(s, due.Add(bound)); got != 0 {
			t.Errorf("%s: late by %s after two slots", what, got)
		}
	}
	// One that was never polled is due since it is leased.
	s := ofA(func(s *fleetview.Session) { s.Lease.Since = due })
	if got := nodes.Late(s, due.Add(time.Minute)); got != time.Minute {
		t.Errorf("leased for a minute and never polled, it is late by %s", got)
	}
	if got := nodes.Late(ofA(func(*fleetview.Session) {}), due); got != 0 {
		t.Errorf("never leased, it is late by %s", got)
	}
}
