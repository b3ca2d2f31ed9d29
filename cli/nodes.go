package cli

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"leasehold/cli/output"
	"leasehold/fleetview"
	"leasehold/lease"
)

func (d Deps) nodesCommand() *cobra.Command {
	return group("nodes", "List, show and cordon nodes",
		d.listNodes(), d.getNode(), d.cordonNodes(), d.uncordonNodes(), d.drainNodes())
}

// nodeRow is a node as the commands show it: what the API shows, and what it has.
type nodeRow struct {
	InstanceID string `json:"instance_id"`
	// ExpiresAt is when its heartbeat ends without another.
	ExpiresAt *fleetview.Stamp `json:"expires_at"`
	TTL       *int64           `json:"ttl_ms"`
	// Leases is how many sessions it has, Share how many it should have.
	Leases int `json:"leases"`
	Share  int `json:"share"`
	// Cordon is what an operator wants of it: nothing, cordoned or drained.
	Cordon lease.Cordon `json:"cordon,omitempty"`
}

func nodeKind() output.Kind[nodeRow] {
	return output.Kind[nodeRow]{
		Name: func(r nodeRow) string { return r.InstanceID },
		Columns: []output.Column[nodeRow]{
			{Title: "NODE", Text: func(r nodeRow) string { return r.InstanceID }},
			{
				Title:   "LEASES",
				Text:    func(r nodeRow) string { return number(r.Leases) },
				Compare: comparing(func(r nodeRow) int { return r.Leases }),
			},
			{
				Title:   "SHARE",
				Text:    func(r nodeRow) string { return number(r.Share) },
				Compare: comparing(func(r nodeRow) int { return r.Share }),
			},
			{
				Title:   "TTL",
				Text:    func(r nodeRow) string { return millis(r.TTL) },
				Compare: comparing(func(r nodeRow) int64 { return span(r.TTL) }),
			},
			{
				Title: "CORDON",
				Text:  func(r nodeRow) string { return string(r.Cordon) },
				Color: func(nodeRow) output.Color { return output.Warning },
			},
			{Title: "EXPIRES", Text: func(r nodeRow) string { return moment(r.ExpiresAt) }, Wide: true},
		},
	}
}

func (d Deps) listNodes() *cobra.Command {
	return d.listing(&cobra.Command{
		Use:   "ls",
		Short: "List the nodes that are alive",
		Long: `List the nodes that have a heartbeat: how many sessions each has, and how many it
should have by the plan that the nodes make. Nodes may differ from that for a moment
after a change.`,
		Args: NoArgs,
	}, func(ctx context.Context, f *fleet, _ []string) error {
		list, err := output.NewList(f.Stdout, f.out, nodeKind())
		if err != nil {
			return usage(err)
		}
		rows, _, err := f.nodeRows(ctx)
		if err != nil {
			return err
		}
		if err := list.Add(rows...); err != nil {
			return err
		}
		return list.End()
	})
}

func (d Deps) getNode() *cobra.Command {
	return d.onFleet(&cobra.Command{
		Use:   "get NODE",
		Short: "Show a node that is alive",
		Long: `Show a node that is alive, by its instance ID, its name or the beginning of either. Its sessions
are listed by 'leasehold sessions ls --owner NODE'.`,
		Args: cobra.ExactArgs(1),
	}, func(ctx context.Context, f *fleet, args []string) error {
		rows, nodes, err := f.nodeRows(ctx)
		if err != nil {
			return err
		}
		name, err := node(nodes, args[0])
		if err != nil {
			return err
		}
		for _, r := range rows {
			if r.InstanceID == name {
				return output.One(f.Stdout, f.out, nodeKind(), r)
			}
		}
		return nil
	})
}

// nodeRows reads all nodes, in the order of their names.
func (f *fleet) nodeRows(ctx context.Context) ([]nodeRow, fleetview.Nodes, error) {
	sent := time.Now()
	nodes, draft, err := f.draft(ctx)
	if err != nil {
		return nil, nil, err
	}
	var rows []nodeRow
	for _, s := range draft.Plan().Shares() {
		left := nodes[s.Instance].Remaining
		rows = append(rows, nodeRow{
			InstanceID: s.Instance, ExpiresAt: fleetview.After(sent, left), TTL: new(left.Milliseconds()),
			Leases: s.Has, Share: s.Share, Cordon: nodes[s.Instance].Cordon,
		})
	}
	return rows, nodes, nil
}
