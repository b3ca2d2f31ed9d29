package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"leasehold/cli"
	"leasehold/config"
	"leasehold/demo"
	"leasehold/eventlog"
	"leasehold/memory"
	"leasehold/metrics"
	"leasehold/node"
	"leasehold/tracing"
)

func (a *app) runCommand() *cobra.Command {
	var endUnread bool
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Run one node until SIGTERM or SIGINT",
		Long: `Run one node of the fleet until SIGTERM or SIGINT, which make it hand back its
leases; a second signal ends it at once. A flag goes before the environment
variable of the same name.`,
		Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !endUnread {
				outliveReaders()
			}
			a.code = a.start(cmd)
			return nil
		},
	}
	addSettingFlags(cmd, false)
	cmd.Flags().BoolVar(&endUnread, demo.EndUnread, false, "end at once when nobody reads the log any more")
	// It fails for unknown flags only, and this one has just been added.
	_ = cmd.Flags().MarkHidden(demo.EndUnread)
	return cmd
}

// outliveReaders has a write to a pipe that nobody reads fail: else Go's runtime ends the
// process where it is the standard output or error, and the leases are left to run out.
// It is for nodes only. Other commands end with who reads what they print.
func outliveReaders() { signal.Ignore(syscall.SIGPIPE) }

// addSettingFlags gives the command a flag for each setting that may have one.
func addSettingFlags(cmd *cobra.Command, hidden bool) {
	for _, v := range config.Vars() {
		if v.Flag() == "" {
			continue
		}
		cmd.Flags().String(v.Flag(), "", v.Name)
		if hidden {
			// It fails for unknown flags only, and this one has just been added.
			_ = cmd.Flags().MarkHidden(v.Flag())
		}
	}
}

// settings reads the settings for a command, and prints what is wrong with them.
func (a *app) settings(cmd *cobra.Command) (cfg config.Config, ok bool) {
	cfg, err := cli.Settings(cmd, a.environ)
	if err != nil {
		fmt.Fprintf(a.stderr, "leasehold: %v\n", err)
	}
	return cfg, err == nil
}

// start runs a node by the settings and the signals.
func (a *app) start(cmd *cobra.Command) exitCode {
	cfg, ok := a.settings(cmd)
	if !ok {
		return exitUsage
	}
	n := nodeSpec{
		cfg:      cfg,
		instance: node.InstanceID(cfg.InstanceName, a.started),
		stdout:   a.stdout,
	}
	b := build()
	n.metrics = metrics.New(metrics.Build{Version: b.version, Commit: b.commit, GoVersion: runtime.Version()})
	n.log = eventlog.New(a.stderr, eventlog.Options{
		Level: cfg.LogLevel, Format: cfg.LogFormat, InstanceID: n.instance, Observe: n.metrics.Observe,
	})
	n.metrics.WatchLog(n.log)
	defer n.log.Close()
	n.log.Emit(eventlog.NodeStarting{Version: b.version, PID: os.Getpid(), Settings: cfg.Shown()})
	traces, ignored := tracing.Read(a.environ)
	n.tracing = traces
	for _, w := range append(cfg.Warnings(), ignored...) {
		n.log.Emit(eventlog.SettingsWarning{Reason: w})
	}
	ctx, cancel := context.WithCancel(cmd.Context())
	defer cancel()
	if !slices.ContainsFunc(a.environ, func(e string) bool { return strings.HasPrefix(e, "GOGC=") }) {
		go memory.Tend(ctx)
	}
	return a.supervise(cmd.Context(), n)
}

// supervise runs the node and turns the first signal into a request to drain. The
// second one does not wait for anything: the process ends under the node.
func (a *app) supervise(ctx context.Context, n nodeSpec) exitCode {
	// Holds the signal's name once, and is closed: so every reader wakes.
	stop := make(chan string, 1)
	ended := make(chan exitCode, 1)
	go func() { ended <- a.runNode(ctx, stop, n) }()
	for signals := 0; ; {
		select {
		case code := <-ended:
			return code
		case s := <-a.signals:
			signals++
			if signals > 1 {
				return exitForced
			}
			stop <- signalName(s)
			close(stop)
		}
	}
}

func signalName(s os.Signal) string {
	switch s {
	case os.Interrupt:
		return "SIGINT"
	case syscall.SIGTERM:
		return "SIGTERM"
	default:
		return s.String()
	}
}
