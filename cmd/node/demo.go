package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/redis/go-redis/v9/logging"
	"github.com/spf13/cobra"

	"leasehold/cli"
	"leasehold/config"
	"leasehold/demo"
)

// killLimit bounds the wait for the nodes of a demo that a second signal ended.
const killLimit = time.Second

func (a *app) demoCommand() *cobra.Command {
	c := demo.Config{Environ: a.environ, Out: a.stdout}
	var url string
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Show a whole fleet at work on this machine, with nothing installed",
		Long: `Show a whole fleet at work on this machine: several nodes, each a process of its
own, poll a built-in target. Nothing needs to be installed, and no LEASEHOLD_*
variable matters. Kill nodes and watch; Ctrl-C ends it.

With --redis, a Redis of yours is used, under a key prefix that is new at each
start; the keys are removed at the end.`,
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			a.code = a.demo(cmd.Context(), c, url)
			return nil
		},
	}
	flags := cmd.Flags()
	flags.IntVar(&c.Nodes, "nodes", 3, fmt.Sprintf("number of nodes, 1 to %d", demo.MaxNodes))
	flags.IntVar(&c.Sessions, "sessions", 24, fmt.Sprintf("number of sessions, 1 to %d; with --redis to %d", demo.MaxSessionsEmbedded, demo.MaxSessions))
	flags.DurationVar(&c.Duration, "duration", 0, "end after this time, such as 20s (default: go on until Ctrl-C)")
	flags.StringVar(&url, "redis", "", "URL of a Redis to use, such as redis://127.0.0.1:6379/0 (default: an embedded one)")
	return cmd
}

// demo runs a demo by its flags and the signals.
func (a *app) demo(ctx context.Context, c demo.Config, url string) exitCode {
	logging.Disable() // as in newRedis
	if url != "" {
		c.Redis = &demo.Redis{URL: url} // connected to when all else is right
	}
	if err := c.Validate(); err != nil {
		fmt.Fprintf(a.stderr, "leasehold: %s\nSee 'leasehold demo --help'.\n", strings.ReplaceAll(err.Error(), "\n", "\nleasehold: "))
		return exitUsage
	}
	program, err := os.Executable()
	if err != nil {
		fmt.Fprintf(a.stderr, "leasehold: the path of this program is not known: %v\n", err)
		return exitFailure
	}
	c.Program = program
	if c.Redis == nil {
		return a.superviseDemo(ctx, c)
	}
	return a.demoOn(ctx, c, url)
}

// demoOn runs the demo on a Redis of the user's.
func (a *app) demoOn(ctx context.Context, c demo.Config, url string) exitCode {
	cfg, err := config.Load([]string{"LEASEHOLD_REDIS_URL=" + url}, nil)
	if err != nil {
		fmt.Fprintf(a.stderr, "leasehold: --redis can not be used:\n  %s\n",
			strings.ReplaceAll(strings.ReplaceAll(err.Error(), "LEASEHOLD_REDIS_URL", "--redis"), "\n", "\n  "))
		return exitUsage
	}
	client, err := newRedis(cfg, "demo", nil)
	if err != nil {
		fmt.Fprintf(a.stderr, "leasehold: %v\n", err)
		return exitUsage
	}
	defer func() { _ = client.Close() }() // nothing is left to lose
	shown := cfg.Shown()["LEASEHOLD_REDIS_URL"]
	if err := firstContact(ctx, nil, client); err != nil {
		fmt.Fprintf(a.stderr, "leasehold: no usable Redis at %s: %v\nWithout --redis the demo brings its own.\n", shown, err)
		return exitFailure
	}
	c.Redis = &demo.Redis{URL: url, Shown: shown, Client: client}
	return a.superviseDemo(ctx, c)
}

// superviseDemo turns the first signal into a request to end in order. The second
// one kills the nodes.
func (a *app) superviseDemo(ctx context.Context, c demo.Config) exitCode {
	ctx, kill := context.WithCancel(ctx)
	defer kill()
	stop := make(chan struct{})
	ended := make(chan error, 1)
	go func() { ended <- demo.Run(ctx, stop, c) }()
	for signals := 0; ; {
		select {
		case err := <-ended:
			return a.demoEnded(err)
		case <-a.signals:
			signals++
			if signals == 1 {
				close(stop)
				continue
			}
			kill()
			select {
			case err := <-ended:
				_ = a.demoEnded(err) // a failure is told, the code is another one
			case <-time.After(killLimit):
			}
			return exitForced
		}
	}
}

func (a *app) demoEnded(err error) exitCode {
	if err == nil {
		return exitOK
	}
	fmt.Fprintf(a.stderr, "leasehold: %s\n", strings.ReplaceAll(err.Error(), "\n", "\n  "))
	return exitFailure
}
