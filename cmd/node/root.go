package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"leasehold/cli"
	"leasehold/config"
)

// app is the program without its process: all that comes from outside.
type app struct {
	environ []string
	stdin   io.Reader
	stdout  io.Writer
	stderr  io.Writer
	signals <-chan os.Signal
	// started is when the process began; it is part of the instance ID.
	started time.Time
	runNode nodeRunner

	// code is what the command that ran wants to exit with.
	code exitCode
}

// run runs one command line. A command reports its own failures and sets the code;
// what cobra returns is wrong usage.
func (a *app) run(args []string) exitCode {
	out := &printed{to: a.stdout}
	a.stdout = out
	root := a.rootCommand()
	root.SetArgs(append([]string{}, args...)) // not nil: cobra would take os.Args
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	cmd, err := root.ExecuteContextC(a.context())
	code := a.code
	switch failed, ok := errors.AsType[*cli.Failure](err); {
	case ok:
		return a.commandFailed(failed)
	case err != nil && !errors.Is(err, out.failed):
		fmt.Fprintf(a.stderr, "leasehold: %v\nSee '%s --help'.\n", err, cmd.CommandPath())
		return exitUsage
	case out.failed != nil && code == exitOK && !serves(cmd):
		fmt.Fprintf(a.stderr, "leasehold: %v\n", out.failed)
		return exitFailure
	}
	return code
}

// serves reports whether the command works for others until it is stopped: what it
// prints is not what it was asked for.
func serves(cmd *cobra.Command) bool {
	if asked, err := cmd.Flags().GetBool("help"); err == nil && asked {
		return false
	}
	return cmd == cmd.Root() || cmd.Name() == "run" && cmd.Parent() == cmd.Root() || cmd.Name() == "demo"
}

// printed remembers that something could not be printed: who asked for it must not take
// what came for all.
type printed struct {
	to     io.Writer
	failed error // the first
}

// Write prints.
func (p *printed) Write(text []byte) (int, error) {
	n, err := p.to.Write(text)
	if err != nil && p.failed == nil {
		p.failed = err
	}
	return n, err
}

// commandFailed tells why a command failed, if what it printed does not.
func (a *app) commandFailed(f *cli.Failure) exitCode {
	if f.Err != nil {
		fmt.Fprintf(a.stderr, "leasehold: %s\n", strings.TrimSuffix(f.Error(), "\n"))
	}
	return exitCode(f.Code)
}

// context is where the program's contexts begin.
func (*app) context() context.Context {
	return context.Background() //nolint:forbidigo // the root of all
}

func (a *app) rootCommand() *cobra.Command {
	run := a.runCommand()
	root := &cobra.Command{
		Use:   "leasehold",
		Short: "A fleet of pollers: each session is polled by exactly one node at a time",
		Long: `Leasehold is a fleet of pollers: each session, a document in Redis, is polled by
exactly one node at a time. Leases in Redis decide which.

Without a command it runs one node.`,
		Version:       build().version,
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE:          run.RunE,
	}
	// The flags of run work without its name too, but are listed there.
	addSettingFlags(root, true)
	root.AddCommand(run, a.demoCommand(), a.doctorCommand(), a.healthcheckCommand(), a.versionCommand())
	root.AddCommand(cli.Commands(a.cliDeps())...)

	help := root.HelpFunc()
	root.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		help(cmd, args)
		if cmd == root || cmd == run {
			fmt.Fprintf(a.stdout, "\n%s", config.Help())
		}
	})
	return root
}
