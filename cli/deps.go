package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/redis/go-redis/v9"
	"github.com/spf13/cobra"

	"leasehold/config"
)

// Exit codes of the commands.
const (
	exitFailure = 1
	exitUsage   = 2
	exitUnknown = 3
	exitForced  = 130
)

// Deps are all that the commands need from outside.
type Deps struct {
	// Version is the program's.
	Version        string
	Environ        []string
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	// Terminal says that stdout is one, Progress that stderr is.
	Terminal, Progress bool
	// Signals ask a command to end; a second one ends the process.
	Signals <-chan os.Signal
	// Connect returns a client of the settings' Redis, which has answered. Its error is
	// for people and has no secret.
	Connect func(ctx context.Context, cfg config.Config) (redis.UniversalClient, error)
}

// Failure is the end of a command with an exit code other than 0.
type Failure struct {
	Code int
	// Err says why, for people; nil: what was printed says it.
	Err error
}

// Error says why the command failed.
func (f *Failure) Error() string {
	if f.Err == nil {
		return "failed"
	}
	return f.Err.Error()
}

// Unwrap returns the cause.
func (f *Failure) Unwrap() error { return f.Err }

// usage is a failure of who typed the command.
func usage(err error) error { return &Failure{Code: exitUsage, Err: err} }

// failure is an error with the exit code of a failure, unless it has one.
func failure(err error) error {
	if _, coded := errors.AsType[*Failure](err); coded || err == nil {
		return err
	}
	return &Failure{Code: exitFailure, Err: err}
}

// Commands returns the commands, for the root to have.
func Commands(d Deps) []*cobra.Command {
	return []*cobra.Command{
		d.statusCommand(), d.nodesCommand(), d.sessionsCommand(), d.leasesCommand(), d.explainCommand(), d.planCommand(),
		d.probeCommand(), d.checkCommand(), d.eventsCommand(), d.supportCommand(), d.configCommand(), manCommand(d.Stdout),
	}
}

// NoArgs are the arguments of a command that takes none, and has no commands of its own:
// cobra's would call what is too many an unknown command.
func NoArgs(_ *cobra.Command, args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("takes no arguments, and got %q", args[0])
	}
	return nil
}

// group makes a command that has only others.
func group(use, short string, commands ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{
		Use: use, Short: short, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(commands...)
	return cmd
}
