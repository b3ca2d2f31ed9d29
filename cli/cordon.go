package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"leasehold/fleetview"
	"leasehold/lease"
	"leasehold/rediskey"
)

const cordonLong = nodeLong + `

What is wanted of a node is kept in Redis, whatever happens to the others. It is of that
instance: a node that is started again is a new one, and takes its share. Only nodes
that are alive are changed, unless --force is given, with instance IDs.`

func (d Deps) cordonNodes() *cobra.Command {
	return d.cordoning(&cobra.Command{
		Use:   "cordon NODE...",
		Short: "Have nodes take no more sessions",
		Long: `Have nodes keep what they have and take nothing more. The others take what comes
free; where all are cordoned, that stays unpolled.
` + cordonLong,
	}, lease.Cordoned, func(_ context.Context, f *fleet, ids, changed []string) error {
		f.told(ids, changed, "cordoned")
		return nil
	})
}

func (d Deps) uncordonNodes() *cobra.Command {
	return d.cordoning(&cobra.Command{
		Use:   "uncordon NODE...",
		Short: "Have nodes take their share again",
		Long: `Have nodes that were cordoned or drained take their share of the sessions again.
` + cordonLong,
	}, lease.Open, func(_ context.Context, f *fleet, ids, changed []string) error {
		f.told(ids, changed, "uncordoned")
		return nil
	})
}

// cordoning makes a command that says what is wanted of nodes, and then goes on with
// the IDs of all and of those that were changed.
func (d Deps) cordoning(cmd *cobra.Command, c lease.Cordon, then func(ctx context.Context, f *fleet, ids, changed []string) error) *cobra.Command {
	force := false
	cmd.Args = cobra.MinimumNArgs(1)
	cmd = d.editing(cmd, func(ctx context.Context, f *fleet, args []string) error {
		nodes, err := f.nodes(ctx)
		if err != nil {
			return err
		}
		ids, err := f.instances(ctx, nodes, args, force)
		if err != nil {
			return err
		}
		var changed []string
		for _, id := range ids {
			if member, alive := nodes[id]; alive && member.Cordon == c {
				continue
			}
			if err := f.store.SetCordon(ctx, id, c); err != nil {
				return err
			}
			changed = append(changed, id)
		}
		return then(ctx, f, ids, changed)
	})
	cmd.Flags().BoolVar(&force, "force", false, "also where the instance is not alive")
	return cmd
}

// told says what became of each.
func (f *fleet) told(ids, changed []string, did string) {
	done := make(map[string]bool, len(changed))
	for _, id := range changed {
		done[id] = true
	}
	for _, id := range ids {
		if done[id] {
			fmt.Fprintf(f.Stdout, "%s %s\n", rediskey.Display(id), did)
		} else {
			fmt.Fprintf(f.Stdout, "%s unchanged\n", rediskey.Display(id))
		}
	}
}

// instances finds the nodes that are meant, each once.
func (f *fleet) instances(ctx context.Context, nodes fleetview.Nodes, names []string, force bool) ([]string, error) {
	var ids []string
	seen := make(map[string]bool)
	for _, name := range names {
		id, err := f.instance(ctx, nodes, name, force)
		if err != nil {
			return nil, err
		}
		if !seen[id] {
			seen[id], ids = true, append(ids, id)
		}
	}
	return ids, nil
}

// instance finds a node that is alive, or by force one that need not be.
func (f *fleet) instance(ctx context.Context, nodes fleetview.Nodes, name string, force bool) (string, error) {
	if len(nodes.Find(name)) > 0 || !lease.InstanceForm(name) {
		return f.which(ctx, nodes, name)
	}
	if !force {
		return "", fmt.Errorf("%w (--force changes what is wanted of it all the same)", noNode(nodes, name))
	}
	return name, nil
}
