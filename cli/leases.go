package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"leasehold/cli/output"
	"leasehold/fleetview"
	"leasehold/lease"
	"leasehold/rediskey"
)

func (d Deps) leasesCommand() *cobra.Command {
	return group("leases", "List and show leases, and release one for its holder",
		d.listLeases(), d.getLease(), d.releaseLease())
}

// leaseRow is a lease as the commands show it, under the API's names.
type leaseRow struct {
	SessionID string `json:"session_id"`
	HolderID  string `json:"holder_id"`
	Version   int64  `json:"version"`
	// HeldSince is null where that is not known, ExpiresAt and TTL where the lease has
	// no expiry.
	HeldSince *fleetview.Stamp `json:"held_since"`
	ExpiresAt *fleetview.Stamp `json:"expires_at"`
	TTL       *int64           `json:"ttl_ms"`
}

func newLeaseRow(in lease.Inspection, sent time.Time) leaseRow {
	v := fleetview.Session{Lease: in, Sent: sent}.View()
	return leaseRow{
		SessionID: in.Session, HolderID: in.Holder, Version: v.Version,
		HeldSince: v.HeldSince, ExpiresAt: v.ExpiresAt, TTL: v.TTL,
	}
}

func leaseKind() output.Kind[leaseRow] {
	return output.Kind[leaseRow]{
		Name: func(r leaseRow) string { return r.SessionID },
		Columns: []output.Column[leaseRow]{
			{Title: "SESSION", Text: func(r leaseRow) string { return r.SessionID }},
			{Title: "HOLDER", Text: func(r leaseRow) string { return r.HolderID }},
			{
				Title:   "VERSION",
				Text:    func(r leaseRow) string { return number(r.Version) },
				Compare: comparing(func(r leaseRow) int64 { return r.Version }),
			},
			{
				Title:   "TTL",
				Text:    func(r leaseRow) string { return millis(r.TTL) },
				Compare: comparing(func(r leaseRow) int64 { return span(r.TTL) }),
			},
			{Title: "SINCE", Text: func(r leaseRow) string { return moment(r.HeldSince) }},
			{Title: "EXPIRES", Text: func(r leaseRow) string { return moment(r.ExpiresAt) }, Wide: true},
		},
	}
}

func (d Deps) listLeases() *cobra.Command {
	return d.listing(&cobra.Command{
		Use:   "ls",
		Short: "List all leases, also those of sessions without a document",
		Args:  NoArgs,
	}, func(ctx context.Context, f *fleet, _ []string) error { return f.listLeases(ctx) })
}

func (f *fleet) listLeases(ctx context.Context) error {
	list, err := output.NewList(f.Stdout, f.out, leaseKind())
	if err != nil {
		return usage(err)
	}
	seen := make(map[string]bool)
	err = f.store.Leased(ctx, func(ids []string) error {
		var fresh []string
		for _, id := range ids {
			if !seen[id] {
				seen[id] = true
				fresh = append(fresh, id)
			}
		}
		sent := time.Now()
		for _, in := range f.store.Inspect(ctx, fresh) {
			switch {
			case errors.Is(in.Err, lease.ErrForeign):
				say(f.Stderr, "%v", in.Err)
			case in.Err != nil:
				return in.Err
			case in.Holder == "": // ended since
			default:
				if err := list.Add(newLeaseRow(in, sent)); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return list.End()
}

func (d Deps) getLease() *cobra.Command {
	return d.onFleet(&cobra.Command{
		Use:   "get ID",
		Short: "Show the lease of a session",
		Args:  cobra.ExactArgs(1),
	}, func(ctx context.Context, f *fleet, args []string) error {
		in, sent, err := f.inspect(ctx, args[0])
		if err != nil {
			return err
		}
		return output.One(f.Stdout, f.out, leaseKind(), newLeaseRow(in, sent))
	})
}

// inspect reads a lease that somebody has.
func (f *fleet) inspect(ctx context.Context, id string) (lease.Inspection, time.Time, error) {
	sent := time.Now()
	in := f.store.Inspect(ctx, []string{id})[0]
	switch {
	case in.Err != nil:
		return in, sent, in.Err
	case in.Holder == "":
		return in, sent, fmt.Errorf("nobody has the lease of session %s", rediskey.Display(id))
	}
	return in, sent, nil
}

func (d Deps) releaseLease() *cobra.Command {
	force := false
	cmd := d.editing(&cobra.Command{
		Use:   "release ID --force",
		Short: "End a lease that somebody has",
		Long: `End a lease in its holder's place. That is safe, and rarely of use: the holder's next
check in Redis refuses it, it stops the poll that it may have in flight when it hears
of that, at its next renewal, and until then, or until that poll can be running no
more, nobody begins another one. A node that is alive and should have the session
takes it back, with a new version.

A holder can't be asked whether it minds, so the command wants --force.`,
		Args: cobra.ExactArgs(1),
	}, func(ctx context.Context, f *fleet, args []string) error {
		return f.releaseLease(ctx, args[0])
	})
	cmd.Flags().BoolVar(&force, "force", false, "end it although it is another's")
	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if !force {
			return usage(errors.New("whoever has the lease is not asked: say --force to end it all the same"))
		}
		return run(cmd, args)
	}
	return cmd
}

func (f *fleet) releaseLease(ctx context.Context, id string) error {
	in, _, err := f.inspect(ctx, id)
	if err != nil {
		return err
	}
	grant := lease.Grant{Session: id, Holder: in.Holder, Token: in.Token}
	err = f.store.Release(ctx, []lease.Release{{Grant: grant, Forced: true}})[0]
	if errors.Is(err, lease.ErrLost) {
		return fmt.Errorf("the lease of session %s changed hands just now: nothing was released", rediskey.Display(id))
	}
	if err == nil {
		fmt.Fprintf(f.Stdout, "%s released, of %s with version %d\n", rediskey.Display(id), rediskey.Display(in.Holder), in.Token)
	}
	return err
}
