package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"leasehold/fleetview"
	"leasehold/lease"
	"leasehold/rediskey"
)

// drainPause is the least time between two looks at what a node still has.
const drainPause = time.Second

// draining is how drain waits.
type draining struct {
	wait    bool
	timeout time.Duration
}

func (d Deps) drainNodes() *cobra.Command {
	var how draining
	cmd := d.cordoning(&cobra.Command{
		Use:   "drain NODE...",
		Short: "Have nodes give up their sessions, and wait for that",
		Long: `Have nodes give up what others can take, and take nothing more. Sessions leave one
by one, each after its poll, and only where another node has room: nothing stands
still. The command waits until none is left that another can take, and says how many
there are. Exit 1 when a node keeps what nobody else takes, or when the timeout passes
first: the nodes stay drained, and go on giving up what others come to take.

To stop a node it need not be drained: at its end it gives everything back.
` + cordonLong,
		Example: "  leasehold nodes drain node-b --timeout 5m",
	}, lease.Drained, func(ctx context.Context, f *fleet, ids, changed []string) error {
		if !how.wait {
			f.told(ids, changed, "is to be drained")
			return nil
		}
		return f.awaitDrain(ctx, ids, how.timeout)
	})
	cmd.Flags().BoolVar(&how.wait, "wait", true, "wait until the nodes have nothing that others can take")
	cmd.Flags().DurationVar(&how.timeout, "timeout", 0, "how long to wait at most; 0: as long as it takes")
	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if how.timeout < 0 {
			return usage(errors.New("--timeout must not be negative"))
		}
		return run(cmd, args)
	}
	return cmd
}

// awaitDrain looks again and again until the nodes are drained.
func (f *fleet) awaitDrain(ctx context.Context, ids []string, timeout time.Duration) error {
	var late <-chan time.Time
	if timeout > 0 {
		timer := time.NewTimer(timeout)
		defer timer.Stop()
		late = timer.C
	}
	told, lastSeen := "", make(map[string]time.Time)
	for {
		began := time.Now()
		left, err := f.leftovers(ctx, ids, lastSeen)
		if err != nil {
			return err
		}
		if !left.any() {
			return f.ended(left)
		}
		if now := left.String(); now != told {
			say(f.Stderr, "%s", now)
			told = now
		}
		// A large fleet is not looked at all the time.
		pause := time.NewTimer(max(drainPause, 2*time.Since(began)))
		select {
		case <-pause.C:
		case <-late:
			pause.Stop()
			return fmt.Errorf("not drained within %s: %s; the nodes stay drained, and go on", timeout, left)
		case <-ctx.Done():
			pause.Stop()
			return context.Cause(ctx)
		}
	}
}

// leftover is what a drained node still has: sessions that others can take, and such
// that nobody else takes.
type leftover struct {
	id               string
	leaving, staying int
	gone, stopping   bool
	// missing says that it has gone a moment ago. Where it was Redis that lost its data it
	// comes back, with sessions, and with no word left that it is to be drained.
	missing bool
}

type leftovers []leftover

func (all leftovers) any() bool {
	return slices.ContainsFunc(all, func(l leftover) bool { return l.leaving > 0 || l.missing })
}

// String says what is to go.
func (all leftovers) String() string {
	var parts []string
	for _, l := range all {
		switch {
		case l.leaving == 0 && l.missing:
			parts = append(parts, rediskey.Display(l.id)+" is gone, unless it comes back")
		case l.leaving == 0:
		case l.gone && !l.stopping:
			parts = append(parts, fmt.Sprintf("%s is gone, and %d of its leases run out", rediskey.Display(l.id), l.leaving))
		case l.stopping:
			parts = append(parts, fmt.Sprintf("%s is stopping, and has %d polls to wait for", rediskey.Display(l.id), l.leaving))
		default:
			parts = append(parts, fmt.Sprintf("%s has %d sessions to give up", rediskey.Display(l.id), l.leaving))
		}
	}
	return strings.Join(parts, "; ")
}

// leftovers looks at what the nodes have, and notes when each was seen last.
func (f *fleet) leftovers(ctx context.Context, ids []string, lastSeen map[string]time.Time) (leftovers, error) {
	held, stopping := make(map[string]int), make(map[string]bool)
	nodes, draft, err := f.draftWith(ctx, func(some []fleetview.Session) {
		for _, s := range some {
			held[s.Lease.Holder]++
			stopping[s.Lease.Holder] = s.Stopping
		}
	})
	if err != nil {
		return nil, err
	}
	plan, now := draft.Plan(), time.Now()
	var all leftovers
	for _, id := range ids {
		member, alive := nodes[id]
		l := leftover{id: id, gone: !alive, stopping: stopping[id], leaving: held[id]}
		if alive {
			if member.Cordon != lease.Drained {
				return nil, fmt.Errorf("%s is to be drained no more: somebody has changed that, or Redis lost its data", rediskey.Display(id))
			}
			l.leaving, l.staying = plan.Held(id)
		}
		switch seen, before := lastSeen[id]; {
		case alive || !before:
			lastSeen[id] = now
		case l.stopping:
			lastSeen[id] = time.Time{} // it is not to come back
		default:
			l.missing = now.Before(seen.Add(f.cfg.HeartbeatInterval + f.cfg.RedisTimeout))
		}
		all = append(all, l)
	}
	return all, nil
}

// ended says which nodes are drained. One that keeps sessions is not: whoever goes on to
// stop it would have them stand still.
func (f *fleet) ended(all leftovers) error {
	var kept []string
	for _, l := range all {
		if l.staying > 0 {
			kept = append(kept, fmt.Sprintf("%s is not drained: it is cordoned, and keeps %d sessions that no other node takes", rediskey.Display(l.id), l.staying))
			continue
		}
		did := "drained"
		if l.gone {
			did = "is gone, and has nothing left"
		}
		if _, err := fmt.Fprintf(f.Stdout, "%s %s\n", rediskey.Display(l.id), did); err != nil {
			return err
		}
	}
	if len(kept) > 0 {
		return errors.New(strings.Join(kept, "; "))
	}
	return nil
}
