package cli

import (
	"bytes"
	"context"
	"errors"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"leasehold/cli/output"
)

// watchPause is the time between two looks of --watch.
const watchPause = 2 * time.Second

// outputFlags say how a command prints.
type outputFlags struct {
	format    output.Format
	noHeaders bool
	sortBy    string
	watch     bool
}

func addOutput(cmd *cobra.Command) *outputFlags {
	o := &outputFlags{format: output.Table}
	flags := cmd.Flags()
	flags.VarP(&o.format, "output", "o", "how to print: "+strings.Join(output.Formats(), ", "))
	flags.BoolVar(&o.noHeaders, "no-headers", false, "print a table without the titles of its columns")
	// It fails for unknown flags only, and this one has just been added.
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(output.Formats(), cobra.ShellCompDirectiveNoFileComp))
	return o
}

// sortable lets the rows be ordered.
func (o *outputFlags) sortable(cmd *cobra.Command) {
	cmd.Flags().StringVar(&o.sortBy, "sort-by", "", "column to sort by, such as ttl (default: the first)")
}

// watchable lets the command be repeated.
func (o *outputFlags) watchable(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&o.watch, "watch", false, "print again every 2 s, until Ctrl-C")
}

func (o *outputFlags) options(d Deps) output.Options {
	return output.Options{Format: o.format, NoHeaders: o.noHeaders, SortBy: o.sortBy, Color: d.colored()}
}

// colored reports whether a person sees colors and has not said that they don't want
// any: see no-color.org.
func (d Deps) colored() bool {
	for _, kv := range d.Environ {
		name, value, _ := strings.Cut(kv, "=")
		if name == "NO_COLOR" && value != "" || name == "TERM" && value == "dumb" {
			return false
		}
	}
	return d.Terminal
}

// repeat does the work once, or again and again until the context ends. Then that is
// no failure, nor is a look that found something wrong: the next one may not.
func (o *outputFlags) repeat(ctx context.Context, f *fleet, args []string, do work) error {
	if !o.watch {
		return do(ctx, f, args)
	}
	pause := time.NewTicker(watchPause)
	defer pause.Stop()
	for first := true; ; first = false {
		err := o.redraw(ctx, f, args, do)
		switch bad, coded := errors.AsType[*Failure](err); {
		case ctx.Err() != nil:
			return nil
		case err == nil || coded && bad.Err == nil: // what was printed says it
		case first || errors.Is(err, os.ErrClosed) || errors.Is(err, syscall.EPIPE):
			return err
		default:
			say(f.Stderr, "%v", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-pause.C:
		}
	}
}

// redraw does the work once more. On a terminal a table takes the place of the one
// before; elsewhere all is appended.
func (o *outputFlags) redraw(ctx context.Context, f *fleet, args []string, do work) error {
	if o.format == output.JSONL || o.format == output.Name {
		return do(ctx, f, args)
	}
	var screen bytes.Buffer
	if f.Terminal {
		screen.WriteString("\x1b[H\x1b[2J\x1b[3J") // home, and clear what is and was there
	}
	there := f.Stdout
	f.Stdout = &screen
	err := do(ctx, f, args)
	f.Stdout = there
	if ctx.Err() != nil {
		return err
	}
	if _, writeErr := there.Write(screen.Bytes()); writeErr != nil {
		return writeErr
	}
	return err
}
