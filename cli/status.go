package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"leasehold/cli/output"
	"leasehold/fleetview"
	"leasehold/redisevents"
	"leasehold/redisinfo"
	"leasehold/redisstore"
)

// statusView is the fleet in a few lines.
type statusView struct {
	countView

	// Refused counts the results that nodes which live had refused, since the lease was no
	// longer theirs, from their start to a heartbeat ago; null: not known.
	Refused *uint64   `json:"refused_results"`
	Redis   redisView `json:"redis"`
	Events  eventView `json:"events"`
}

// countView are the counts of a fleet.
type countView struct {
	Healthy  bool     `json:"healthy"`
	Problems []string `json:"problems"`
	// Notes change nothing about Healthy.
	Notes []string `json:"notes"`

	Members  int                     `json:"members"`
	Cordoned int                     `json:"cordoned_members"`
	Sessions int                     `json:"sessions"`
	States   map[fleetview.State]int `json:"states"`
	Late     int                     `json:"late"`
	LateMS   int64                   `json:"late_ms"` // the worst
	Least    int                     `json:"least_leases"`
	Most     int                     `json:"most_leases"`
	Spread   int                     `json:"spread"`
	// WorstTTL is the least time that a lease has left; null: no lease runs out.
	WorstTTL     *int64 `json:"worst_ttl_ms"`
	WorstSession string `json:"worst_session_id,omitempty"`
}

// redisView is the server, as far as it tells.
type redisView struct {
	URL     string `json:"url"` // without secrets
	Version string `json:"version,omitempty"`
	Mode    string `json:"mode,omitempty"`
}

// eventView says whether the server announces what nodes want to hear.
type eventView struct {
	// Flags are null where the server does not tell.
	Flags   *string `json:"flags"`
	Missing string  `json:"missing,omitempty"`
	Problem string  `json:"problem,omitempty"`
}

func (d Deps) statusCommand() *cobra.Command {
	return d.onFleet(&cobra.Command{
		Use:   "status",
		Short: "Say in a few lines how the fleet is; exit 1 if it does not do its work",
		Long: `Say in a few lines how the fleet is.

The exit code is 0 when a node is alive, each session that nodes are to
poll has a lease of a node that is alive or stopping, or of a worker, none is barred by a key of
another type in its place, and none is overdue by more than two of its intervals.
It is 1 when that is not so, or Redis does not answer. Failing polls, documents that
can't be used, paused sessions, an uneven spread and missing event flags are shown,
and change nothing about the exit code.`,
		Args: NoArgs,
	}, func(ctx context.Context, f *fleet, args []string) error { return f.status(ctx, args) })
}

// summary counts all sessions.
func (f *fleet) summary(ctx context.Context) (*fleetview.Summary, error) {
	nodes, err := f.nodes(ctx)
	if err != nil {
		return nil, err
	}
	clock, err := f.clock(ctx)
	if err != nil {
		return nil, err
	}
	sum := fleetview.NewSummary(nodes, clock())
	err = f.readAll(ctx, nodes, func(some []fleetview.Session) error { sum.Add(some); return nil })
	return sum, err
}

func (f *fleet) status(ctx context.Context, _ []string) error {
	sum, err := f.summary(ctx)
	if err != nil {
		return err
	}
	v := f.statusView(ctx, sum)
	if err := output.Describe(f.Stdout, f.out, v, v.word(), v.fields()); err != nil {
		return err
	}
	if !v.Healthy {
		return &Failure{Code: exitFailure}
	}
	return nil
}

// statusView adds to the counts what the servers and the nodes tell.
func (f *fleet) statusView(ctx context.Context, sum *fleetview.Summary) statusView {
	return statusView{
		countView: newCountView(sum), Refused: f.refused(ctx), Redis: f.redisView(ctx), Events: f.eventView(ctx),
	}
}

// refused sums up what the nodes say of themselves.
func (f *fleet) refused(ctx context.Context) *uint64 {
	cards, err := f.store.LiveCards(ctx)
	if err != nil {
		return nil
	}
	n := new(uint64)
	for _, c := range cards {
		if c != nil {
			*n += c.Refused
		}
	}
	return n
}

func newCountView(sum *fleetview.Summary) countView {
	v := countView{
		Problems: append([]string{}, sum.Problems()...), Notes: append([]string{}, sum.Notes()...), Members: sum.Members, Cordoned: sum.Cordoned, Sessions: sum.Sessions,
		States: make(map[fleetview.State]int), Late: sum.Late, LateMS: sum.Latest.Milliseconds(),
		Least: sum.Least, Most: sum.Most, Spread: sum.Spread(), WorstSession: sum.Weakest,
	}
	for _, s := range fleetview.States() { // zeros too
		v.States[s] = sum.States[s]
	}
	if sum.Weakest != "" {
		v.WorstTTL = new(sum.Shortest.Milliseconds())
	}
	v.Healthy = len(v.Problems) == 0
	return v
}

// redisView asks the server for its version; it may refuse to tell.
func (f *fleet) redisView(ctx context.Context) redisView {
	v := redisView{URL: f.cfg.Shown()["LEASEHOLD_REDIS_URL"]}
	info, err := f.client.Info(ctx, "server").Result()
	if err == nil {
		v.Version, v.Mode = redisinfo.Field(info, "redis_version"), redisinfo.Field(info, "redis_mode")
	}
	return v
}

// eventView asks each server for its flags, since each announces its own keys alone, and
// tells of the first that lacks any.
func (f *fleet) eventView(ctx context.Context) eventView {
	servers, err := redisstore.Servers(ctx, f.client)
	if err != nil {
		return eventView{Problem: "not known: " + err.Error()}
	}
	var v eventView
	for _, s := range servers {
		where := ""
		if len(servers) > 1 {
			where = s.Options().Addr + ": "
		}
		have, missing, err := redisevents.Flags(ctx, s)
		switch {
		case err != nil:
			return eventView{Problem: where + "not known: " + err.Error()}
		case missing != "":
			return eventView{Flags: &have, Missing: missing, Problem: fmt.Sprintf("%sflags %q lack %q", where, have, missing)}
		}
		v.Flags = &have
	}
	return v
}

func (v statusView) word() string {
	if v.Healthy {
		return "healthy"
	}
	return "unhealthy"
}

func (v statusView) fields() []output.Field {
	count := func(s fleetview.State) output.Field {
		f := output.Field{Title: strings.ToUpper(string(s)), Text: number(v.States[s])}
		if v.States[s] > 0 {
			f.Color = stateColor(s)
		}
		return f
	}
	late, worst, events := number(v.Late), "", "flags "+text(v.Events.Flags)
	if v.Late > 0 {
		late += ", the worst by " + duration(ms(v.LateMS))
	}
	if v.WorstTTL != nil {
		worst = v.WorstSession + ", " + millis(v.WorstTTL) + " left"
	}
	refused := "not known"
	if v.Refused != nil {
		refused = fmt.Sprintf("%d results of leases that were lost", *v.Refused)
	}
	if v.Events.Problem != "" {
		events = v.Events.Problem
	}
	fields := []output.Field{
		{Title: "FLEET", Text: v.word(), Color: bad(!v.Healthy, output.Good)},
		{Title: "MEMBERS", Text: number(v.Members)},
		{Title: "SESSIONS", Text: number(v.Sessions)},
	}
	for _, s := range []fleetview.State{
		fleetview.OK, fleetview.Failing, fleetview.Unleased, fleetview.Orphaned, fleetview.Paused, fleetview.Invalid,
	} {
		fields = append(fields, count(s))
	}
	fields = append(
		fields,
		output.Field{Title: "WORKERS", Text: fmt.Sprintf("%d leased, %d free", v.States[fleetview.API], v.States[fleetview.External])},
		output.Field{Title: "LATE", Text: late, Color: bad(v.Late > 0, output.Plain)},
		output.Field{Title: "SPREAD", Text: v.spread()},
		output.Field{Title: "SHORTEST LEASE", Text: worst},
		output.Field{Title: "REFUSED", Text: refused},
		output.Field{Title: "REDIS", Text: strings.TrimSpace(v.Redis.Version+" "+v.Redis.Mode) + " at " + v.Redis.URL},
		output.Field{Title: "EVENTS", Text: events},
	)
	for _, p := range v.Problems {
		fields = append(fields, output.Field{Title: "PROBLEM", Text: p, Color: output.Bad})
	}
	for _, n := range v.Notes {
		fields = append(fields, output.Field{Title: "NOTE", Text: n, Color: output.Warning})
	}
	return fields
}

// spread is empty where no node takes any: what those have says nothing.
func (v statusView) spread() string {
	if v.Cordoned == v.Members {
		return ""
	}
	return fmt.Sprintf("%d (from %d to %d leases a node)", v.Spread, v.Least, v.Most)
}

// bad is the color of what is bad, else the other one.
func bad(is bool, other output.Color) output.Color {
	if is {
		return output.Bad
	}
	return other
}
