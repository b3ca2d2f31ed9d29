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

	// What it says of itself; where it has said nothing, the times and numbers are null.
	Version   string           `json:"version,omitempty"`
	StartedAt *fleetview.Stamp `json:"started_at"`
	HTTPAddr  string           `json:"http_addr,omitempty"`
	// MaxSessions is the most that it takes; 0: no limit.
	MaxSessions *int `json:"max_sessions"`

	// age is how long ago it was started, for people.
	age string
}

// with adds what the node says of itself.
func (r nodeRow) with(c lease.Card, now time.Time) nodeRow {
	r.Version, r.HTTPAddr, r.MaxSessions = c.Version, c.HTTPAddr, &c.MaxSessions
	if !c.Started.IsZero() {
		r.StartedAt, r.age = fleetview.After(c.Started, 0), ago(now, c.Started)
	}
	return r
}

// began orders by when nodes were started, those that do not say it first.
func (r nodeRow) began() int64 {
	if r.StartedAt == nil {
		return 0
	}
	return time.Time(*r.StartedAt).UnixMilli()
}

// limit is the most that the node takes, where it has one.
func (r nodeRow) limit() int {
	if r.MaxSessions == nil {
		return 0
	}
	return *r.MaxSessions
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
			{Title: "VERSION", Text: func(r nodeRow) string { return r.Version }, Wide: true},
			{Title: "STARTED", Text: func(r nodeRow) string { return r.age }, Compare: comparing(nodeRow.began), Wide: true},
			{Title: "HTTP", Text: func(r nodeRow) string { return r.HTTPAddr }, Wide: true},
			{
				Title: "MAX", Wide: true,
				Text: func(r nodeRow) string {
					if r.limit() == 0 {
						return ""
					}
					return number(r.limit())
				},
				Compare: comparing(nodeRow.limit),
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
after a change. -o wide adds what each says of itself: its version, when it was started,
where its HTTP server listens and the most sessions that it takes.`,
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
		Long: `Show a node that is alive. Its sessions are listed by 'leasehold sessions ls --owner NODE'.
` + nodeLong,
		Args: cobra.ExactArgs(1),
	}, func(ctx context.Context, f *fleet, args []string) error {
		rows, nodes, err := f.nodeRows(ctx)
		if err != nil {
			return err
		}
		id, err := f.which(ctx, nodes, args[0])
		if err != nil {
			return err
		}
		for _, r := range rows {
			if r.InstanceID == id {
				return output.One(f.Stdout, f.out, nodeKind(), r)
			}
		}
		return nil
	})
}

// nodeRows reads all nodes, in the order of their names.
func (f *fleet) nodeRows(ctx context.Context) ([]nodeRow, fleetview.Nodes, error) {
	sent := time.Now()
	nodes, err := f.nodes(ctx)
	if err != nil {
		return nil, nil, err
	}
	cards, err := f.cards(ctx, nodes.Names())
	if err != nil {
		return nil, nil, err
	}
	draft, err := f.drafted(ctx, nodes, cards, func([]fleetview.Session) {})
	if err != nil {
		return nil, nil, err
	}
	now := time.Now()
	var rows []nodeRow
	for _, s := range draft.Plan().Shares() {
		left := nodes[s.Instance].Remaining
		row := nodeRow{
			InstanceID: s.Instance, ExpiresAt: fleetview.After(sent, left), TTL: new(left.Milliseconds()),
			Leases: s.Has, Share: s.Share, Cordon: nodes[s.Instance].Cordon,
		}
		if card, said := cards[s.Instance]; said {
			row = row.with(card, now)
		}
		rows = append(rows, row)
	}
	return rows, nodes, nil
}
