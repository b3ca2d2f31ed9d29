package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/spf13/cobra"

	"leasehold/cli/output"
	"leasehold/config"
	"leasehold/fleetview"
	"leasehold/rediskey"
	"leasehold/redisstore"
)

// fleet is what a command works on.
type fleet struct {
	Deps

	cfg    config.Config
	client redis.UniversalClient
	store  *redisstore.Store
	reader fleetview.Reader
	out    output.Options
	// changes are told as they are made; nil: by sentences.
	changes *output.List[change]
}

// work is what a command does.
type work func(ctx context.Context, f *fleet, args []string) error

// shownFlags are the settings that matter to who reads and edits the fleet's state, as
// flags.
func shownFlags() []string {
	return []string{
		"LEASEHOLD_REDIS_URL", "LEASEHOLD_REDIS_TIMEOUT", "LEASEHOLD_KEY_PREFIX", "LEASEHOLD_SESSION_PREFIX", "LEASEHOLD_SESSION_ID_FORMAT",
		"LEASEHOLD_LEASE_TTL", "LEASEHOLD_POLL_INTERVAL", "LEASEHOLD_POLL_TIMEOUT", "LEASEHOLD_RESULT_STREAM",
	}
}

// addSettings gives the command a flag for each of the settings.
func addSettings(cmd *cobra.Command, names []string) {
	for _, name := range names {
		use := "setting: " + name
		if name == "LEASEHOLD_REDIS_URL" { // the only one that may hold a secret
			use += "; a password belongs there, since flags show in the list of processes"
		}
		cmd.Flags().String(strings.TrimPrefix(config.FlagName(name), "--"), "", use)
	}
}

// Settings reads the settings for a command: those of its flags that were given, before
// the environment. Its error names all faults.
func Settings(cmd *cobra.Command, environ []string) (config.Config, error) {
	return settings(cmd, environ, config.Load)
}

// Address is Settings for a command that asks the node of this host: see
// [config.LoadAddress].
func Address(cmd *cobra.Command, environ []string) (config.Config, error) {
	return settings(cmd, environ, config.LoadAddress)
}

func settings(
	cmd *cobra.Command, environ []string, load func(environ []string, flags map[string]string) (config.Config, error),
) (config.Config, error) {
	given := make(map[string]string)
	for _, v := range config.Vars() {
		if f := cmd.Flags().Lookup(v.Flag()); f != nil && f.Changed {
			given[v.Name] = f.Value.String()
		}
	}
	cfg, err := load(environ, given)
	if err != nil {
		return cfg, fmt.Errorf("settings can not be used:\n  %s", strings.ReplaceAll(err.Error(), "\n", "\n  "))
	}
	return cfg, nil
}

// load is Settings for the commands of this package.
func (d Deps) load(cmd *cobra.Command) (config.Config, error) {
	cfg, err := Settings(cmd, d.Environ)
	if err != nil {
		return cfg, usage(err)
	}
	return cfg, nil
}

// listing is onFleet for a command that prints many things.
func (d Deps) listing(cmd *cobra.Command, do work) *cobra.Command {
	shown := addOutput(cmd)
	shown.sortable(cmd)
	return d.shown(cmd, shown, do)
}

// onFleet has the command do its work on the fleet of the settings.
func (d Deps) onFleet(cmd *cobra.Command, do work) *cobra.Command {
	return d.shown(cmd, addOutput(cmd), do)
}

func (d Deps) shown(cmd *cobra.Command, shown *outputFlags, do work) *cobra.Command {
	addSettings(cmd, shownFlags())
	shown.watchable(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		cfg, err := d.load(cmd)
		if err != nil {
			return err
		}
		f := &fleet{Deps: d, cfg: cfg, out: shown.options(d)}
		return d.interruptible(cmd.Context(), func(ctx context.Context) error {
			return f.connected(ctx, func() error { return shown.repeat(ctx, f, args, do) })
		})
	}
	return cmd
}

// connected calls do with the parts that need Redis.
func (f *fleet) connected(ctx context.Context, do func() error) error {
	client, err := f.Connect(ctx, f.cfg)
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }() // nothing is left to lose
	f.client = client
	f.store = redisstore.New(client, f.cfg.Keys, redisstore.Options{
		Timeout: f.cfg.RedisTimeout, Stream: f.cfg.ResultStream,
	})
	f.reader = fleetview.Reader{Store: f.store, Rules: f.rules()}
	return do()
}

func (f *fleet) rules() fleetview.Rules {
	return fleetview.Rules{Defaults: f.cfg.Defaults(), CheckID: f.cfg.CheckID()}
}

// nodes reads which nodes are alive.
func (f *fleet) nodes(ctx context.Context) (fleetview.Nodes, error) {
	members, err := f.store.List(ctx)
	if err != nil {
		return nil, err
	}
	return fleetview.NodesOf(members), nil
}

// readAll calls see with all sessions in batches, as [fleetview.Reader.Each] does.
func (f *fleet) readAll(ctx context.Context, nodes fleetview.Nodes, see func([]fleetview.Session) error) error {
	return f.reader.Each(ctx, func(some []fleetview.Session) error {
		if err := f.reader.Stopping(ctx, nodes, some); err != nil {
			return err
		}
		return see(some)
	})
}

// one reads the session named.
func (f *fleet) one(ctx context.Context, id string) (fleetview.Session, error) {
	found, err := f.reader.Get(ctx, []string{id})
	switch {
	case err != nil:
		return fleetview.Session{}, err
	case len(found) == 0:
		return fleetview.Session{}, f.missing(ctx, id)
	}
	return found[0], nil
}

// missing says that there is no document, and who has the lease all the same.
func (f *fleet) missing(ctx context.Context, id string) error {
	said := fmt.Sprintf("no session %q: there is no document %q", id, f.cfg.Keys.Session(id))
	if in, _, err := f.inspect(ctx, id); err == nil {
		said += fmt.Sprintf("; %s has its lease: leasehold leases get %s", rediskey.Display(in.Holder), config.Quoted(id))
	}
	return errors.New(said)
}

var errInterrupted = errors.New("interrupted")

// graceAfterSignal is how long a command may take to end when it is asked to.
const graceAfterSignal = time.Second

// interruptible runs do with a context that the first signal ends. What does not end
// with it, reading from a terminal for example, is left behind.
func (d Deps) interruptible(ctx context.Context, do func(context.Context) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	ended := make(chan error, 1)
	go func() { ended <- do(ctx) }()
	select {
	case err := <-ended:
		return failure(err)
	case <-d.Signals:
		cancel(errInterrupted)
	}
	select {
	case err := <-ended:
		if err != nil {
			return failure(errInterrupted)
		}
		return nil
	case <-d.Signals:
	case <-time.After(graceAfterSignal):
	}
	return &Failure{Code: exitForced, Err: errInterrupted}
}

// say tells something that is no data.
func say(w io.Writer, format string, args ...any) { fmt.Fprintf(w, "leasehold: "+format+"\n", args...) }
