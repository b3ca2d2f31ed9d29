package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"leasehold/cli/output"
	"leasehold/fleetview"
	"leasehold/session"
)

func (d Deps) sessionsCommand() *cobra.Command {
	return group("sessions", "List, show and edit sessions",
		d.listSessions(), d.getSession(), d.addSessions(), d.removeSessions(),
		d.pausing("pause", "Pause sessions", "paused", true), d.pausing("resume", "Resume sessions", "resumed", false),
		d.runSession(), d.sessionResults())
}

// sessionRow is a session as the commands show it: what the API shows, and its state.
type sessionRow struct {
	SessionID string          `json:"session_id"`
	State     fleetview.State `json:"state"`
	fleetview.View

	// LateMS is how long the session is overdue, where that is too long.
	LateMS int64             `json:"late_ms,omitempty"`
	Labels map[string]string `json:"labels,omitempty"`
}

func newSessionRow(s fleetview.Session, nodes fleetview.Nodes, now time.Time) sessionRow {
	return sessionRow{
		SessionID: s.ID, State: nodes.State(s), View: s.View(), Labels: s.Spec.Labels,
		LateMS: nodes.Late(s, now).Milliseconds(),
	}
}

func sessionKind() output.Kind[sessionRow] {
	return output.Kind[sessionRow]{
		Name: func(r sessionRow) string { return r.SessionID },
		Columns: []output.Column[sessionRow]{
			{Title: "SESSION", Text: func(r sessionRow) string { return r.SessionID }},
			{Title: "KIND", Text: func(r sessionRow) string { return string(r.Kind) }, Wide: true},
			{
				Title: "STATE",
				Text:  func(r sessionRow) string { return string(r.State) },
				Color: func(r sessionRow) output.Color { return stateColor(r.State) },
			},
			{Title: "HOLDER", Text: func(r sessionRow) string { return text(r.HolderID) }},
			{
				Title: "VERSION", Wide: true,
				Text:    func(r sessionRow) string { return number(r.Version) },
				Compare: comparing(func(r sessionRow) int64 { return r.Version }),
			},
			{
				Title:   "TTL",
				Text:    func(r sessionRow) string { return millis(r.TTL) },
				Compare: comparing(func(r sessionRow) int64 { return span(r.TTL) }),
			},
			{Title: "SINCE", Text: func(r sessionRow) string { return moment(r.HeldSince) }, Wide: true},
			{Title: "NEXT", Text: func(r sessionRow) string { return moment(r.NextRun) }},
			{
				Title:   "LATE",
				Text:    func(r sessionRow) string { return late(r.LateMS) },
				Compare: comparing(func(r sessionRow) int64 { return r.LateMS }),
				Color:   func(sessionRow) output.Color { return output.Bad },
			},
			{
				Title:   "FAILURES",
				Text:    func(r sessionRow) string { return number(r.Failures) },
				Compare: comparing(func(r sessionRow) int { return r.Failures }),
			},
			{Title: "LAST", Text: func(r sessionRow) string { return lastRun(r.LastRun) }},
			{Title: "PROBLEM", Text: sessionRow.problem, Wide: true},
		},
	}
}

// problem is why nobody can use the session, or why its polls fail.
func (r sessionRow) problem() string {
	if r.Problem == "" && r.State == fleetview.Failing {
		return r.LastRun.Failure()
	}
	return r.Problem
}

func late(ms int64) string {
	if ms == 0 {
		return ""
	}
	return duration(time.Duration(ms) * time.Millisecond)
}

// lastRun is the outcome of the last poll in a word or two.
func lastRun(r *fleetview.Run) string {
	switch {
	case r == nil:
		return ""
	case r.Status != 0:
		return fmt.Sprintf("%s (%d)", r.Class, r.Status)
	default:
		return r.Class
	}
}

// filter says which sessions are wanted.
type filter struct {
	owner  string
	states []string
	labels []string
	kind   string
	late   bool
}

func (w *filter) flags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&w.owner, "owner", "", "only those of this node: "+nodeArgument+"; where no node that is alive is meant, of holders that begin like this")
	flags.StringSliceVar(&w.states, "state", nil, "only those in one of these states: "+stateNames())
	flags.StringArrayVarP(&w.labels, "label", "l", nil, "only those with this label: KEY=VALUE, or KEY for any value; all of several must fit")
	flags.StringVar(&w.kind, "kind", "", "only those of this kind: http, log or external")
	flags.BoolVar(&w.late, "late", false, "only those that are overdue by more than two of their intervals")
	_ = cmd.RegisterFlagCompletionFunc("state", cobra.FixedCompletions(strings.Split(stateNames(), ", "), cobra.ShellCompDirectiveNoFileComp))
}

func stateNames() string {
	var names []string
	for _, s := range fleetview.States() {
		names = append(names, string(s))
	}
	return strings.Join(names, ", ")
}

// check returns what is wrong with the filter.
func (w *filter) check() error {
	for _, s := range w.states {
		if !slices.Contains(fleetview.States(), fleetview.State(s)) {
			return usage(fmt.Errorf("--state=%q: must be one of %s", s, stateNames()))
		}
	}
	switch session.Kind(w.kind) {
	case "", session.HTTP, session.Log, session.External:
		return nil
	}
	return usage(fmt.Errorf("--kind=%q: must be http, log or external", w.kind))
}

func (w *filter) wants(s fleetview.Session, state fleetview.State) bool {
	if len(w.states) > 0 && !slices.Contains(w.states, string(state)) ||
		w.kind != "" && s.Spec.Kind != session.Kind(w.kind) {
		return false
	}
	for _, l := range w.labels {
		key, value, exact := strings.Cut(l, "=")
		has, found := s.Spec.Labels[key]
		if !found || exact && has != value {
			return false
		}
	}
	return true
}

func (d Deps) listSessions() *cobra.Command {
	var want filter
	cmd := d.listing(&cobra.Command{
		Use:   "ls",
		Short: "List sessions",
		Long: `List all sessions, or those that all the filters want. States:

  ok        leased by a node that is alive or stopping, the last poll succeeded or
            is to come
  failing   leased by a node that is alive or stopping, the last poll failed
  unleased  to be polled, and nobody has the lease
  orphaned  the lease is that of a node that is gone: it has no heartbeat
  api       leased by a worker, over the lease API or a library
  external  for workers alone, and none has the lease
  paused    not polled
  invalid   the document, or a key of the session, can't be used

Lines and names (-o jsonl, -o name) are printed as they are read, in no order; the
rest is sorted. IDs with control characters are escaped but for JSON and YAML.`,
		Example: "  leasehold sessions ls --state unleased,failing\n  leasehold sessions ls --owner node-b -l team=core -o name",
		Args:    noID,
	}, func(ctx context.Context, f *fleet, _ []string) error { return f.listSessions(ctx, &want) })
	want.flags(cmd)
	return cmd
}

func (f *fleet) listSessions(ctx context.Context, want *filter) error {
	if err := want.check(); err != nil {
		return err
	}
	list, err := output.NewList(f.Stdout, f.out, sessionKind())
	if err != nil {
		return usage(err)
	}
	nodes, err := f.nodes(ctx)
	if err != nil {
		return err
	}
	clock, err := f.clock(ctx)
	if err != nil {
		return err
	}
	owner, err := f.owner(ctx, nodes, want.owner)
	if err != nil {
		return err
	}
	err = f.readAll(ctx, nodes, func(some []fleetview.Session) error {
		now := clock()
		for _, s := range some {
			if !owner.has(s.Lease.Holder) || !want.wants(s, nodes.State(s)) || want.late && nodes.Late(s, now) == 0 {
				continue
			}
			if err := list.Add(newSessionRow(s, nodes, now)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	if owner.unknown() {
		say(f.Stderr, "--owner %q: no node that is alive is called so, and no lease has such a holder", owner.given)
	}
	return list.End()
}

// clock returns the clock of the Redis server, as it was read once.
func (f *fleet) clock(ctx context.Context) (func() time.Time, error) {
	asked := time.Now()
	now, err := f.store.Now(ctx)
	if err != nil {
		return nil, err
	}
	return func() time.Time { return now.Add(time.Since(asked)) }, nil
}
