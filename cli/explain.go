package cli

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"leasehold/cli/output"
	"leasehold/config"
	"leasehold/fleetview"
	"leasehold/lease"
	"leasehold/session"
)

// sessionDetail is all that is known of one session.
type sessionDetail struct {
	sessionRow

	// PreferredID is who should have it by the plan; null: no node.
	PreferredID     *string `json:"preferred_holder_id"`
	PreferredReason string  `json:"preferred_reason"`
	// Ignored are the fields of the document that mean nothing to nodes.
	Ignored []string `json:"ignored_fields,omitempty"`
}

func (d Deps) getSession() *cobra.Command {
	return d.onFleet(&cobra.Command{
		Use:   "get ID",
		Short: "Show a session: its lease, its polls, its document without secrets",
		Long: `Show all that is known of a session: who has it and who should, its lease, its
polls, and its document without secrets. Of fields that mean nothing to nodes it shows
the names.`,
		Args: cobra.ExactArgs(1),
	}, func(ctx context.Context, f *fleet, args []string) error { return f.getSession(ctx, args) })
}

func (f *fleet) getSession(ctx context.Context, args []string) error {
	got, err := f.explained(ctx, args[0])
	if err != nil {
		return err
	}
	row := sessionDetail{
		sessionRow: newSessionRow(got.session, got.nodes, got.now), PreferredReason: got.Reason,
		Ignored: ignored(got.session.Raw),
	}
	if got.Preferred != "" {
		row.PreferredID = &got.Preferred
	}
	// What can't be read is not shown; the state has said why.
	row.Document, _ = session.Shown(got.session.Raw)
	plain := sessionKind()
	kind := output.Kind[sessionDetail]{Name: func(r sessionDetail) string { return r.SessionID }}
	for _, c := range plain.Columns {
		made := output.Column[sessionDetail]{Title: c.Title, Text: func(r sessionDetail) string { return c.Text(r.sessionRow) }}
		if c.Color != nil {
			made.Color = func(r sessionDetail) output.Color { return c.Color(r.sessionRow) }
		}
		kind.Columns = append(kind.Columns, made)
	}
	return output.One(f.Stdout, f.out, kind, row, row.fields()...)
}

// fields are what lists have no room for.
func (r sessionDetail) fields() []output.Field {
	fields := []output.Field{
		{Title: "SHOULD HAVE", Text: text(r.PreferredID)},
		{Title: "BECAUSE", Text: r.PreferredReason},
	}
	if last := r.LastRun; last != nil {
		fields = append(
			fields,
			output.Field{Title: "LAST START", Text: moment(&last.StartedAt)},
			output.Field{Title: "LAST TOOK", Text: duration(ms(last.DurationMS)) + ", " + number(last.Bytes) + " bytes"},
			output.Field{Title: "LAST ERROR", Text: last.Error},
		)
	}
	fields = append(fields, ignoredField(r.Ignored)...)
	if r.Document != nil {
		fields = append(fields, output.Field{Title: "DOCUMENT", Text: compact(decoded(r.Document)), Plain: true})
	}
	return fields
}

// ignoredField is shown where there are such fields.
func ignoredField(names []string) []output.Field {
	if len(names) == 0 {
		return nil
	}
	return []output.Field{{Title: "IGNORED", Text: strings.Join(names, ", "), Color: output.Warning}}
}

// explained is a session and what the plan says of it.
type explained struct {
	fleetview.Explanation

	session fleetview.Session
	nodes   fleetview.Nodes
	now     time.Time
}

// explained reads the session, and all others for the plan.
func (f *fleet) explained(ctx context.Context, id string) (explained, error) {
	if _, err := f.one(ctx, id); err != nil { // or a slip would cost a look at all
		return explained{}, err
	}
	nodes, draft, err := f.draft(ctx)
	if err != nil {
		return explained{}, err
	}
	clock, err := f.clock(ctx)
	if err != nil {
		return explained{}, err
	}
	one, err := f.one(ctx, id)
	if err != nil {
		return explained{}, err
	}
	about := []fleetview.Session{one}
	if err := f.reader.Stopping(ctx, nodes, about); err != nil {
		return explained{}, err
	}
	one = about[0]
	now := clock()
	return explained{Explanation: draft.Plan().Explain(one, nodes, now), session: one, nodes: nodes, now: now}, nil
}

// draft reads what a plan is made of.
func (f *fleet) draft(ctx context.Context) (fleetview.Nodes, *fleetview.Draft, error) {
	return f.draftWith(ctx, func([]fleetview.Session) {})
}

// draftWith shows all sessions to who wants to see them too.
func (f *fleet) draftWith(ctx context.Context, see func([]fleetview.Session)) (fleetview.Nodes, *fleetview.Draft, error) {
	nodes, err := f.nodes(ctx)
	if err != nil {
		return nil, nil, err
	}
	cards, err := f.cards(ctx, nodes.Names())
	if err != nil {
		return nil, nil, err
	}
	draft, err := f.drafted(ctx, nodes, cards, see)
	return nodes, draft, err
}

// drafted reads all sessions, for a plan of these nodes that knows the most that each takes,
// as far as it has published that.
func (f *fleet) drafted(
	ctx context.Context, nodes fleetview.Nodes, cards map[string]lease.Card, see func([]fleetview.Session),
) (*fleetview.Draft, error) {
	most := make(map[string]int)
	for id, card := range cards {
		most[id] = card.MaxSessions
	}
	draft := fleetview.NewDraft(nodes, most)
	err := f.readAll(ctx, nodes, func(some []fleetview.Session) error {
		draft.Add(some)
		see(some)
		return nil
	})
	return draft, err
}

// explanation is what explain prints.
type explanation struct {
	SessionID       string          `json:"session_id"`
	State           fleetview.State `json:"state"`
	HolderID        *string         `json:"holder_id"`
	PreferredID     *string         `json:"preferred_holder_id"`
	PreferredReason string          `json:"preferred_reason"`
	Obstacles       []string        `json:"obstacles"`
	Ranking         []rankedNode    `json:"ranking"`
	// Ignored are the fields of the document that mean nothing to nodes.
	Ignored []string `json:"ignored_fields,omitempty"`
}

type rankedNode struct {
	Rank       int    `json:"rank"`
	InstanceID string `json:"instance_id"`
	// Weight is a string: it has 64 bits, and JSON numbers have 53 in many languages.
	Weight    string `json:"weight"`
	Leases    int    `json:"leases"`
	Share     int    `json:"share"`
	Holds     bool   `json:"holds"`
	Preferred bool   `json:"preferred"`
	// Cordon is what an operator wants of it: nothing, cordoned or drained.
	Cordon lease.Cordon `json:"cordon,omitempty"`
}

func (d Deps) explainCommand() *cobra.Command {
	return d.onFleet(&cobra.Command{
		Use:   "explain ID",
		Short: "Say who has a session, who should, why, and what stands in the way",
		Long: `Say who has a session, who should have it by the plan that the nodes make, and
what stands in the way. The ranking lists the nodes as the session prefers them, each
with the leases that it has and its share: what nodes have they keep up to their share;
the rest goes to the first in the ranking that has room. -o wide adds the weights that
the ranking is made of.`,
		Args: cobra.ExactArgs(1),
	}, func(ctx context.Context, f *fleet, args []string) error { return f.explain(ctx, args) })
}

func (f *fleet) explain(ctx context.Context, args []string) error {
	got, err := f.explained(ctx, args[0])
	if err != nil {
		return err
	}
	e := explanation{
		SessionID: got.session.ID, State: got.nodes.State(got.session), HolderID: got.session.View().HolderID,
		PreferredReason: got.Reason, Obstacles: append([]string{}, got.Obstacles...), Ranking: []rankedNode{},
		Ignored: ignored(got.session.Raw),
	}
	if got.Preferred != "" {
		e.PreferredID = &got.Preferred
	}
	for _, c := range got.Candidates {
		e.Ranking = append(e.Ranking, rankedNode{
			Rank: c.Rank, InstanceID: c.Instance, Weight: strconv.FormatUint(c.Weight, 10), Leases: c.Has, Share: c.Share.Share,
			Holds: c.Instance == got.session.Lease.Holder, Preferred: c.Instance == got.Preferred, Cordon: c.Cordon,
		})
	}
	return output.Describe(f.Stdout, f.out, e, e.SessionID, e.fields(f.out.Format == output.Wide))
}

// fields are the explanation for people; the weights are for who reckons them again.
func (e explanation) fields(weights bool) []output.Field {
	fields := []output.Field{
		{Title: "SESSION", Text: e.SessionID},
		{Title: "STATE", Text: string(e.State), Color: stateColor(e.State)},
		{Title: "HOLDER", Text: text(e.HolderID)},
		{Title: "SHOULD HAVE", Text: text(e.PreferredID)},
		{Title: "BECAUSE", Text: e.PreferredReason},
	}
	for _, o := range e.Obstacles {
		fields = append(fields, output.Field{Title: "IN THE WAY", Text: o, Color: output.Warning})
	}
	fields = append(fields, ignoredField(e.Ignored)...)
	if e.State == fleetview.Paused {
		fields = append(fields, output.Field{Title: "TO RESUME", Text: "leasehold sessions resume " + config.Quoted(e.SessionID)})
	}
	for _, n := range e.Ranking {
		notes := []string{fmt.Sprintf("%s: %d of %d sessions", n.InstanceID, n.Leases, n.Share)}
		if weights {
			notes = append(notes, "weight "+n.Weight)
		}
		if n.Holds {
			notes = append(notes, "holds it")
		}
		if n.Preferred {
			notes = append(notes, "should")
		}
		if n.Cordon != lease.Open {
			notes = append(notes, string(n.Cordon))
		}
		fields = append(fields, output.Field{Title: "RANK " + number(n.Rank), Text: strings.Join(notes, ", ")})
	}
	return fields
}
