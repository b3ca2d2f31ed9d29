package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"
)

// gathering is what support was told.
type gathering struct {
	file        string
	noDocuments bool
	results     int
}

// supportLimit bounds how long all of it may take.
const supportLimit = 5 * time.Minute

func (d Deps) supportCommand() *cobra.Command {
	var how gathering
	cmd := &cobra.Command{
		Use:   "support",
		Short: "Write what a bug report needs into a file, without secrets",
		Long: `Write what a bug report needs into a new file, a tar.gz: the version, the settings,
what doctor finds, the status, nodes with their cards, sessions with what is known of
them, the classes of the latest results, and of Redis some of INFO and the commands
(without arguments) of SLOWLOG.

Secrets are left out as everywhere: passwords and tokens of settings, and of documents
the values of headers, bodies, users and secret parameters of URLs, and all fields that
mean nothing to nodes. IDs, addresses, labels and paths of URLs are in it:
--no-documents leaves documents out. Look at it before it is sent.

What can't be read is left out, and said in its MANIFEST and on stderr; also where
Redis does not answer at all.`,
		Args: NoArgs,
	}
	addSettings(cmd, shownFlags())
	flags := cmd.Flags()
	flags.StringVarP(&how.file, "file", "f", "", "file to write, which must not exist (default: leasehold-support-TIME.tar.gz)")
	flags.BoolVar(&how.noDocuments, "no-documents", false, "leave the documents of sessions out")
	flags.IntVar(&how.results, "results", 10_000, "how many results of all sessions to look at")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if how.results < 0 {
			return usage(errors.New("--results must not be negative"))
		}
		cfg, err := d.load(cmd)
		if err != nil {
			return err
		}
		if how.file == "" {
			how.file = "leasehold-support-" + time.Now().UTC().Format("20060102T150405Z") + ".tar.gz"
		}
		f := &fleet{Deps: d, cfg: cfg}
		return d.interruptible(cmd.Context(), func(ctx context.Context) error { return f.support(ctx, how) })
	}
	return cmd
}

// support writes the file. It is made first: all the work would be for nothing else.
func (f *fleet) support(ctx context.Context, how gathering) (err error) {
	out, err := os.OpenFile(how.file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = out.Close()
			_ = os.Remove(how.file) // half of it is of no use
		}
	}()
	ctx, cancel := context.WithTimeout(ctx, supportLimit)
	defer cancel()
	b := newBundle()
	f.gather(ctx, b, how)
	if ctx.Err() != nil && !errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
		return context.Cause(ctx)
	}
	if err := errors.Join(b.write(out), out.Close()); err != nil {
		return err
	}
	for _, name := range b.missing {
		say(f.Stderr, "%s", name)
	}
	_, err = fmt.Fprintln(f.Stdout, how.file)
	return err
}
