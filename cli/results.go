package cli

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"leasehold/cli/output"
	"leasehold/fleetview"
	"leasehold/rediskey"
	"leasehold/redisstore"
	"leasehold/results"
)

func resultKind() output.Kind[results.Event] {
	return output.Kind[results.Event]{
		Name:    func(e results.Event) string { return e.ID },
		Compare: func(a, b results.Event) int { return b.Time.Compare(a.Time) },
		Columns: []output.Column[results.Event]{
			{Title: "TIME", Text: func(e results.Event) string { return at(e.Time) }},
			{
				Title: "OK",
				Text:  func(e results.Event) string { return strconv.FormatBool(e.Data.OK) },
				Color: func(e results.Event) output.Color { return bad(!e.Data.OK, output.Good) },
			},
			{Title: "CLASS", Text: func(e results.Event) string { return e.Data.Class }},
			{Title: "STATUS", Text: answered, Compare: comparing(func(e results.Event) int { return e.Data.Status })},
			{Title: "TOOK", Text: func(e results.Event) string { return duration(ms(e.Data.DurationMS)) }, Compare: comparing(func(e results.Event) int64 { return e.Data.DurationMS })},
			{Title: "DELAY", Text: func(e results.Event) string { return duration(ms(e.Data.DelayMS)) }, Compare: comparing(func(e results.Event) int64 { return e.Data.DelayMS })},
			{Title: "HOLDER", Text: func(e results.Event) string { return e.Data.Holder }},
			{Title: "VERSION", Text: func(e results.Event) string { return e.Token }, Wide: true},
			{Title: "SEQUENCE", Text: func(e results.Event) string { return e.Sequence }, Wide: true},
			{Title: "ERROR", Text: func(e results.Event) string { return e.Data.Error }},
		},
	}
}

func at(t time.Time) string {
	stamp := fleetview.Stamp(t)
	return moment(&stamp)
}

// history says how far back to look.
type history struct{ limit, within int }

func (d Deps) sessionResults() *cobra.Command {
	var h history
	cmd := d.listing(&cobra.Command{
		Use:   "results ID",
		Short: "Show the latest results of a session, from the stream of results",
		Long: `Show the latest results of a session, the newest first, from the stream that holds
those of all sessions (LEASEHOLD_RESULT_STREAM). JSON is the event as consumers of the
stream get it. --within bounds the search: older results are not found.`,
		Args: cobra.ExactArgs(1),
	}, func(ctx context.Context, f *fleet, args []string) error { return f.results(ctx, h, args[0]) })
	cmd.Flags().IntVar(&h.limit, "limit", 10, "most results")
	cmd.Flags().IntVar(&h.within, "within", 100_000, "how many results of all sessions to look at")
	return cmd
}

func (f *fleet) results(ctx context.Context, h history, id string) error {
	if h.limit < 1 || h.within < 1 {
		return usage(errors.New("--limit and --within must be at least 1"))
	}
	if !f.store.HasResults() {
		return errors.New("there is no stream of results: LEASEHOLD_RESULT_STREAM is empty")
	}
	list, err := output.NewList(f.Stdout, f.out, resultKind())
	if err != nil {
		return usage(err)
	}
	found := 0
	err = f.backwards(ctx, h.within, func(e redisstore.ResultEntry) (bool, error) {
		event, ok := resultOf(e)
		if !ok || e.Session != id {
			return true, nil
		}
		found++
		return found < h.limit, list.Add(event)
	})
	switch {
	case err != nil:
		return err
	case found > 0:
		return list.End()
	}
	if _, err := f.one(ctx, id); err != nil {
		return err
	}
	say(f.Stderr, "session %s has no result among the latest %d", rediskey.Display(id), h.within)
	return list.End()
}

// resultOf reads an entry; others may have written to the stream, what is no event.
func resultOf(e redisstore.ResultEntry) (event results.Event, ok bool) {
	err := json.Unmarshal([]byte(e.Event), &event)
	return event, err == nil
}

// backwardsStep is how many results are read at once.
const backwardsStep = 1000

// backwards calls each with up to within results, the newest first, until it has
// enough.
func (f *fleet) backwards(ctx context.Context, within int, each func(redisstore.ResultEntry) (more bool, err error)) error {
	for before := ""; within > 0; {
		count := min(within, backwardsStep)
		entries, err := f.store.ResultsBefore(ctx, before, count)
		if err != nil {
			return err
		}
		for _, e := range entries {
			if more, err := each(e); err != nil || !more {
				return err
			}
			before = e.Position
		}
		if len(entries) < count {
			return nil
		}
		within -= count
	}
	return nil
}

// answered is the status of an answer; empty where there was none.
func answered(e results.Event) string {
	if e.Data.Status == 0 {
		return ""
	}
	return number(e.Data.Status)
}
