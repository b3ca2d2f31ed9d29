package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"leasehold/fleetview"
	"leasehold/redisedit"
	"leasehold/rediskey"
	"leasehold/session"
)

// editing is a command that writes: it prints nothing but what it did.
func (d Deps) editing(cmd *cobra.Command, do work) *cobra.Command {
	addSettings(cmd, shownFlags())
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		cfg, err := d.load(cmd)
		if err != nil {
			return err
		}
		f := &fleet{Deps: d, cfg: cfg}
		return d.interruptible(cmd.Context(), func(ctx context.Context) error {
			return f.connected(ctx, func() error { return do(ctx, f, args) })
		})
	}
	return cmd
}

func (f *fleet) editor() *redisedit.Editor {
	return redisedit.New(f.client, f.cfg.Keys, f.cfg.RedisTimeout)
}

// addition is what add was told.
type addition struct {
	file            string
	replace, dryRun bool
	// strict refuses fields that mean nothing.
	strict bool
}

func (d Deps) addSessions() *cobra.Command {
	var a addition
	cmd := d.changing(&cobra.Command{
		Use:   "add [ID] -f FILE",
		Short: "Add sessions from a file or standard input, if all are well",
		Long: `Add sessions. Without an ID, the input holds any number of JSON objects: one list,
or one after the other, such as JSON lines. Each has the ID, as session_id or else
as id, and the fields of its document; all fields but that are stored byte for byte,
also those that mean nothing to nodes, which may be your own, or a slip: each such
name is told once, on standard error. With an ID, the input is that session's
document, stored as it is.

All of the input is checked before anything is written; where any of it is of no use
nothing is, and every fault is told with its line. Sessions that are there already
are such a fault, unless --replace is given; those that are there just so are well.
What somebody else adds at the same time is found when it is too late: then some are
written, and the error says how many.`,
		Example: `  leasehold sessions add -f sessions.jsonl --dry-run
  echo '{"id":"web","url":"http://10.0.0.7/","interval":"10s"}' | leasehold sessions add -f -
  leasehold sessions add web -f document.json --replace`,
		Args: oneID,
	}, func(ctx context.Context, f *fleet, args []string) error { return f.addSessions(ctx, a, args) })
	flags := cmd.Flags()
	flags.StringVarP(&a.file, "file", "f", "", "file to read; - is standard input")
	flags.BoolVar(&a.replace, "replace", false, "replace sessions that are there already")
	flags.BoolVar(&a.dryRun, "dry-run", false, "check all, and write nothing")
	flags.BoolVar(&a.strict, "strict", false, "take fields that mean nothing to nodes for faults")
	_ = cmd.MarkFlagRequired("file") // it fails for unknown flags only
	return cmd
}

func (f *fleet) addSessions(ctx context.Context, a addition, args []string) error {
	entries, err := f.input(a, args)
	if err != nil {
		return usage(err)
	}
	there, err := f.compare(ctx, entries, a.replace)
	if err != nil {
		return err
	}
	would := ""
	if a.dryRun {
		would = "would be "
	}
	sum := make(map[presence]int)
	var todo []entry
	for _, e := range entries {
		how := there[e.ID]
		sum[how]++
		switch {
		case how == unchanged:
			err = f.counted(e.ID, "unchanged")
		case a.dryRun:
			err = f.counted(e.ID, would+how.done())
		default:
			todo = append(todo, e)
		}
		if err != nil {
			return err
		}
	}
	err = f.write(ctx, todo, a.replace, func(id string) error { return f.counted(id, there[id].done()) })
	if err == nil && f.sentences() {
		_, err = fmt.Fprintf(f.Stdout, "%d %sadded, %d replaced, %d unchanged\n", sum[absent], would, sum[changed], sum[unchanged])
	}
	return err
}

// input reads and checks the sessions of a file.
func (f *fleet) input(a addition, args []string) ([]entry, error) {
	text, err := f.readFile(a.file)
	if err != nil {
		return nil, err
	}
	judge := func(d session.Document) error {
		_, err := f.rules().Read(d)
		if err != nil {
			err = fmt.Errorf("session %s: %w", rediskey.Display(d.ID), err)
		}
		return err
	}
	if len(args) == 1 {
		return f.single(a, session.Document{ID: args[0], Raw: text}, judge)
	}
	entries, odd, bad := documents(text, judge)
	if a.strict {
		bad = append(bad, odd.faults()...)
	} else {
		odd.warn(f)
	}
	switch {
	case len(bad) > 0:
		slices.SortStableFunc(bad, func(a, b fault) int { return a.line - b.line })
		return nil, bad
	case len(entries) == 0:
		return nil, errors.New("the input has no sessions")
	}
	return entries, nil
}

// single checks an input that is one document.
func (f *fleet) single(a addition, d session.Document, judge func(session.Document) error) ([]entry, error) {
	var odd strays
	odd.add(1, ignored(d.Raw))
	if bad := odd.faults(); a.strict && len(bad) > 0 {
		return nil, bad
	}
	odd.warn(f)
	return []entry{{Document: d, line: 1}}, judge(d)
}

func (f *fleet) readFile(name string) ([]byte, error) {
	if name == "-" {
		return readInput(f.Stdin)
	}
	in, err := os.Open(name) //nolint:gosec // the operator names the file
	if err != nil {
		return nil, err
	}
	defer func() { _ = in.Close() }() // it was read only
	return readInput(in)
}

// presence says how a session of the input compares with what is stored.
type presence int

const (
	absent presence = iota
	unchanged
	changed
)

// done is what adding makes of it.
func (p presence) done() string {
	if p == changed {
		return "replaced"
	}
	return "added"
}

// compare reads what is there of the entries. That there is something is a fault,
// unless it may be replaced.
func (f *fleet) compare(ctx context.Context, entries []entry, replace bool) (map[string]presence, error) {
	there := make(map[string]presence)
	var bad faults
	progress := f.progress("looked at", len(entries))
	defer progress.end()
	for some := range slices.Chunk(entries, redisedit.Batch) {
		ids := make([]string, len(some))
		for i, e := range some {
			ids[i] = e.ID
		}
		docs, err := f.store.Get(ctx, ids)
		if err != nil {
			return nil, err
		}
		for i, d := range docs {
			switch {
			case d.Err != nil:
				bad = append(bad, fault{some[i].line, d.Err.Error()})
			case d.Raw == nil:
			case string(d.Raw) == string(some[i].Raw):
				there[d.ID] = unchanged
			case replace:
				there[d.ID] = changed
			default:
				bad = append(bad, fault{some[i].line, fmt.Sprintf("session %s: %v (--replace replaces it)", rediskey.Display(d.ID), redisedit.ErrThere)})
			}
		}
		progress.add(len(some))
	}
	if len(bad) > 0 {
		return nil, bad
	}
	return there, nil
}

// write writes the entries, and tells of each. Its error says how many were.
func (f *fleet) write(ctx context.Context, entries []entry, replace bool, tell func(id string) error) error {
	progress := f.progress("written", len(entries))
	defer progress.end()
	done, failed := 0, error(nil)
	for some := range slices.Chunk(entries, redisedit.Batch) {
		docs := make([]session.Document, len(some))
		for i, e := range some {
			docs[i] = e.Document
		}
		for i, err := range f.editor().Put(ctx, docs, replace) {
			if err == nil {
				done++
				err = tell(docs[i].ID)
			}
			if err != nil && failed == nil {
				failed = fmt.Errorf("session %s: %w", rediskey.Display(docs[i].ID), err)
			}
		}
		if failed != nil {
			return fmt.Errorf("%w\n%d of %d sessions are written for certain; %s", failed, done, len(entries), next(failed))
		}
		progress.add(len(some))
	}
	return nil
}

// next is what to do about a write that failed in the middle.
func next(failed error) string {
	if errors.Is(failed, redisedit.ErrThere) {
		return "somebody else adds the same ones: repeat the command with --replace to have these"
	}
	return "the command may be repeated"
}

func (d Deps) removeSessions() *cobra.Command {
	var all, yes bool
	cmd := d.changing(&cobra.Command{
		Use:   "rm ID... | --all --yes",
		Short: "Remove sessions",
		Long: `Remove the documents of sessions: nodes stop polling them, and give their leases
back, within a second. --all removes every session of the fleet, and wants --yes.`,
		Args: cobra.ArbitraryArgs,
	}, func(ctx context.Context, f *fleet, args []string) error {
		switch {
		case all == (len(args) > 0):
			return usage(errors.New("rm wants IDs, or --all"))
		case all && !yes:
			return usage(fmt.Errorf("--all removes every session at %q: say --yes too", f.cfg.Keys.Session("…")))
		case all:
			return f.removeAll(ctx)
		}
		return f.removeEach(ctx, args)
	})
	cmd.Flags().BoolVar(&all, "all", false, "remove all sessions")
	cmd.Flags().BoolVar(&yes, "yes", false, "really")
	return cmd
}

func (f *fleet) removeEach(ctx context.Context, ids []string) error {
	return f.each(ctx, ids, "removed", func(ctx context.Context, id string) (bool, error) {
		docs, err := f.store.Get(ctx, []string{id})
		if err == nil {
			err = docs[0].Err // what is no document is not ours to remove
		}
		if err != nil {
			return false, err
		}
		err = f.editor().Remove(ctx, []string{id})[0]
		return err == nil, err
	})
}

func (f *fleet) removeAll(ctx context.Context) error {
	removed, failed := 0, error(nil)
	progress := f.progress("removed", 0)
	defer progress.end()
	err := f.reader.Store.Scan(ctx, func(docs []session.Document) {
		var ids []string
		for _, d := range docs {
			if d.Err == nil {
				ids = append(ids, d.ID)
			}
		}
		before := removed
		for i, err := range f.editor().Remove(ctx, ids) {
			if err == nil {
				removed++
				err = f.counted(ids[i], "removed")
			}
			switch {
			case err == nil:
			case errors.Is(err, redisedit.ErrMissing): // somebody else was faster
			case failed == nil:
				failed = fmt.Errorf("session %s: %w", rediskey.Display(ids[i]), err)
			}
		}
		progress.add(removed - before)
	})
	if err == nil {
		err = failed // one that can't be removed keeps none of the others from it
	}
	if f.sentences() {
		fmt.Fprintf(f.Stdout, "%d removed\n", removed)
	}
	return err
}

// pausing makes pause and resume.
func (d Deps) pausing(use, short, did string, paused bool) *cobra.Command {
	return d.changing(&cobra.Command{
		Use:   use + " ID...",
		Short: short,
		Long: short + `. All else of a document stays byte for byte, and what somebody else
writes at the same time is not lost.`,
		Args: cobra.MinimumNArgs(1),
	}, func(ctx context.Context, f *fleet, ids []string) error {
		return f.each(ctx, ids, did, func(ctx context.Context, id string) (bool, error) {
			return f.editor().Edit(ctx, id, func(raw []byte) ([]byte, error) { return session.SetPaused(raw, paused) })
		})
	})
}

func (d Deps) runSession() *cobra.Command {
	return d.changing(&cobra.Command{
		Use:   "run ID...",
		Short: "Have tasks begun now, due or not",
		Long: `Have tasks begun by whoever has their leases, or gets them, within seconds, due or
not. A run in flight goes on, and the one that was asked for follows it; to ask again
before that is to ask once. A session is a task if its document names misfire or cron.`,
		Args: cobra.MinimumNArgs(1),
	}, func(ctx context.Context, f *fleet, ids []string) error {
		return f.each(ctx, ids, "asked for", func(ctx context.Context, id string) (bool, error) {
			s, err := f.one(ctx, id)
			switch {
			case err != nil:
				return false, err
			case s.Problem != "":
				return false, errors.New(s.Problem)
			}
			if reason := fleetview.Runnable(s.Spec); reason != "" {
				return false, errors.New(reason)
			}
			return true, f.store.Ask(ctx, id)
		})
	})
}

// each does the same for every ID, and says what became of it. One that fails keeps
// none of the others from it.
func (f *fleet) each(ctx context.Context, ids []string, did string, do func(ctx context.Context, id string) (bool, error)) error {
	failed := false
	for _, id := range ids {
		done, err := do(ctx, id)
		switch {
		case err != nil:
		case done:
			err = f.changed(id, did)
		default:
			err = f.changed(id, "unchanged")
		}
		if err != nil {
			failed = true
			say(f.Stderr, "session %s: %v", rediskey.Display(id), err)
		}
	}
	if failed {
		return &Failure{Code: exitFailure}
	}
	return nil
}

// progress shows on a terminal how far a long command is.
type progress struct {
	w           io.Writer // nil: nobody looks
	what        string
	done, total int
	shown       bool
}

// leastProgress is how many things take long enough for anybody to ask.
const leastProgress = 5000

func (f *fleet) progress(what string, total int) *progress {
	p := &progress{what: what, total: total}
	if f.Progress && (total == 0 || total >= leastProgress) {
		p.w = f.Stderr
	}
	return p
}

func (p *progress) add(n int) {
	p.done += n
	if p.w == nil {
		return
	}
	p.shown = true
	if p.total > 0 {
		fmt.Fprintf(p.w, "\r%s %d of %d", p.what, p.done, p.total)
	} else {
		fmt.Fprintf(p.w, "\r%s %d", p.what, p.done)
	}
}

func (p *progress) end() {
	if p.shown {
		fmt.Fprint(p.w, "\r\x1b[K")
	}
}
