package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"leasehold/config"
)

// app is the program without its process: all that comes from outside.
type app struct {
	environ []string
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
	root := a.rootCommand()
	root.SetArgs(append([]string{}, args...)) // not nil: cobra would take os.Args
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	if err := root.ExecuteContext(a.context()); err != nil {
		fmt.Fprintf(a.stderr, "leasehold: %v\nSee 'leasehold --help'.\n", err)
		return exitUsage
	}
	return a.code
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
		Version:           build().version,
		SilenceErrors:     true,
		SilenceUsage:      true,
		CompletionOptions: cobra.CompletionOptions{HiddenDefaultCmd: true},
		RunE:              run.RunE,
	}
	// The flags of run work without its name too, but are listed there.
	addSettingFlags(root, true)
	root.AddCommand(run, a.demoCommand(), a.healthcheckCommand(), a.versionCommand())

	help := root.HelpFunc()
	root.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		help(cmd, args)
		if cmd == root || cmd == run {
			fmt.Fprintf(a.stdout, "\n%s", config.Help())
		}
	})
	return root
}
