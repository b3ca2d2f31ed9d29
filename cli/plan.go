package cli

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"leasehold/cli/output"
	"leasehold/fleetview"
)

// shareRow is what a node has, and will have.
type shareRow struct {
	InstanceID string `json:"instance_id"`
	Leases     int    `json:"leases"`
	Share      int    `json:"share"`
	// Gains and Losses are the sessions that come and go.
	Gains  int `json:"gains"`
	Losses int `json:"losses"`
}

func shareKind() output.Kind[shareRow] {
	count := func(title string, of func(shareRow) int) output.Column[shareRow] {
		return output.Column[shareRow]{
			Title: title, Text: func(r shareRow) string { return number(of(r)) }, Compare: comparing(of),
		}
	}
	return output.Kind[shareRow]{
		Name: func(r shareRow) string { return r.InstanceID },
		Columns: []output.Column[shareRow]{
			{Title: "NODE", Text: func(r shareRow) string { return r.InstanceID }},
			count("LEASES", func(r shareRow) int { return r.Leases }),
			count("SHARE", func(r shareRow) int { return r.Share }),
			count("GAINS", func(r shareRow) int { return r.Gains }),
			count("LOSSES", func(r shareRow) int { return r.Losses }),
		},
	}
}

// moveRow is a session that changes hands. From is null where no node has it, To where
// none is left.
type moveRow struct {
	SessionID string  `json:"session_id"`
	From      *string `json:"from"`
	To        *string `json:"to"`
}

func moveKind() output.Kind[moveRow] {
	return output.Kind[moveRow]{
		Name: func(r moveRow) string { return r.SessionID },
		Columns: []output.Column[moveRow]{
			{Title: "SESSION", Text: func(r moveRow) string { return r.SessionID }},
			{Title: "FROM", Text: func(r moveRow) string { return text(r.From) }},
			{Title: "TO", Text: func(r moveRow) string { return text(r.To) }},
		},
	}
}

func (d Deps) planCommand() *cobra.Command {
	var without []string
	var moves bool
	cmd := d.listing(&cobra.Command{
		Use:   "plan [--without NODE]...",
		Short: "Say what each node should have, and what would move without some",
		Long: `Say how many sessions each node has and should have, by the plan that the nodes
make, and how many it would get and give up. --without leaves nodes out, as if they
were stopped: the answer is what the others would have then. --moves lists the
sessions that would change hands instead. Nothing is changed.`,
		Args: NoArgs,
	}, func(ctx context.Context, f *fleet, _ []string) error { return f.plan(ctx, without, moves) })
	cmd.Flags().StringArrayVar(&without, "without", nil, "node to leave out: "+nodeArgument+"; may be given again")
	cmd.Flags().BoolVar(&moves, "moves", false, "list the sessions that change hands")
	return cmd
}

func (f *fleet) plan(ctx context.Context, without []string, moves bool) error {
	err := shareKind().Check(f.out)
	if moves {
		err = moveKind().Check(f.out)
	}
	if err != nil {
		return usage(err)
	}
	nodes, draft, err := f.draft(ctx)
	if err != nil {
		return err
	}
	var gone []string
	for _, name := range without {
		id, err := f.which(ctx, nodes, name)
		if err != nil {
			return err
		}
		gone = append(gone, id)
	}
	plan := draft.Without(gone...)
	changes := plan.Moves(draft)
	if moves {
		return printAll(f, moveKind(), moveRows(changes))
	}
	return printAll(f, shareKind(), shareRows(draft.Plan().Shares(), plan.Shares(), changes))
}

func moveRows(changes []fleetview.Move) []moveRow {
	optional := func(name string) *string {
		if name == "" {
			return nil
		}
		return &name
	}
	rows := make([]moveRow, len(changes))
	for i, m := range changes {
		rows[i] = moveRow{SessionID: m.Session, From: optional(m.From), To: optional(m.To)}
	}
	return rows
}

// shareRows has a row for each node, also for those that are left out.
func shareRows(now, then []fleetview.Share, changes []fleetview.Move) []shareRow {
	gains, losses, share := map[string]int{}, map[string]int{}, map[string]int{}
	for _, m := range changes {
		gains[m.To]++
		losses[m.From]++
	}
	for _, s := range then {
		share[s.Instance] = s.Share
	}
	rows := make([]shareRow, len(now))
	for i, s := range now {
		rows[i] = shareRow{
			InstanceID: s.Instance, Leases: s.Has, Share: share[s.Instance], Gains: gains[s.Instance], Losses: losses[s.Instance],
		}
	}
	return rows
}

// printAll prints a list that is there.
func printAll[T any](f *fleet, kind output.Kind[T], rows []T) error {
	list, err := output.NewList(f.Stdout, f.out, kind)
	if err != nil {
		return usage(err)
	}
	return errors.Join(list.Add(rows...), list.End())
}
