package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"leasehold/config"
	"leasehold/fleetview"
	"leasehold/redisevents"
	"leasehold/rediskey"
)

// tailing is what events was told.
type tailing struct {
	format   string
	types    []string
	sessions []string
	polls    bool
}

// The formats of events.
const (
	tailText  = "text"
	tailJSONL = "jsonl"
)

// feedLimit is how many distinct events wait for a slow reader before they become one
// gap.
const feedLimit = 65_536

func (d Deps) eventsCommand() *cobra.Command {
	var how tailing
	cmd := d.editing(&cobra.Command{
		Use:     "events",
		Aliases: []string{"follow"},
		Short:   "Show what happens in the fleet, until Ctrl-C",
		Long: `Show what happens in the fleet while it happens, until Ctrl-C: what Redis announces of
leases, nodes and documents, and with --polls the results of polls, from their stream
(LEASEHOLD_RESULT_STREAM). Nothing of it is asked of the nodes. Types:

  lease.taken      with who has it when that is looked at, a moment later
  lease.freed      given back, or taken away
  lease.expired    it ran out: the holder died, or lost Redis
  node.seen        a node that was not there
  node.gone        its heartbeat ended
  node.cordon      what is wanted of a node was changed
  session.changed  a document was written or removed
  gap              events may have been missed: look at the fleet itself
  poll             the result of a poll

Redis announces nothing unless notify-keyspace-events says so. As nodes do, the
command adds the flags that are missing, where it may; where it may not, that is told
on stderr. Announcements are hints: of many that come at once, equal ones are one.`,
		Example: "  leasehold events\n  leasehold events --polls --session web -o jsonl",
		Args:    NoArgs,
	}, func(ctx context.Context, f *fleet, _ []string) error { return f.tail(ctx, how) })
	flags := cmd.Flags()
	flags.StringVarP(&how.format, "output", "o", tailText, "how to print: text or jsonl")
	flags.BoolP("follow", "f", true, "go on until Ctrl-C, as always")
	flags.BoolVar(&how.polls, "polls", false, "show the results of polls too")
	flags.StringSliceVar(&how.types, "types", nil, "only those of these types, or whose type begins so: lease,node.gone")
	flags.StringArrayVar(&how.sessions, "session", nil, "only those of this session; may be given again")
	addSettings(cmd, []string{"LEASEHOLD_KEYSPACE_EVENTS"})
	// They fail for unknown flags only.
	_ = flags.MarkHidden("follow")
	_ = cmd.RegisterFlagCompletionFunc("types", cobra.FixedCompletions(happeningTypes(), cobra.ShellCompDirectiveNoFileComp))
	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := how.check(); err != nil {
			return usage(err)
		}
		return run(cmd, args)
	}
	return cmd
}

// check says what is wrong with the command line.
func (t tailing) check() error {
	if t.format != tailText && t.format != tailJSONL {
		return fmt.Errorf("-o %s: must be text or jsonl", t.format)
	}
	for _, want := range t.types {
		if want == "" || !slices.ContainsFunc(happeningTypes(), func(known string) bool { return strings.HasPrefix(known, want) }) {
			return fmt.Errorf("--types=%q: must be among %s", want, strings.Join(happeningTypes(), ", "))
		}
		if strings.HasPrefix(happenedPoll, want) && !t.polls {
			return errors.New("--types=poll wants --polls")
		}
	}
	return nil
}

// wants reports whether a happening is to be shown. A gap always is: it may be about
// anything.
func (t tailing) wants(h happening) bool {
	if h.Type == happenedGap {
		return true
	}
	if len(t.types) > 0 && !slices.ContainsFunc(t.types, func(want string) bool { return strings.HasPrefix(h.Type, want) }) {
		return false
	}
	return len(t.sessions) == 0 || slices.Contains(t.sessions, h.SessionID)
}

// tail shows what happens until the context ends.
func (f *fleet) tail(ctx context.Context, how tailing) error {
	nodes, err := f.nodes(ctx)
	if err != nil {
		return err
	}
	if how.polls && !f.store.HasResults() {
		return errors.New("there is no stream of results: LEASEHOLD_RESULT_STREAM is empty")
	}
	if f.cfg.KeyspaceEvents == config.EventsOff && !how.polls {
		return errors.New("there is nothing to show: LEASEHOLD_KEYSPACE_EVENTS is off")
	}
	// The stream's end is read first: what comes while events are subscribed to is shown.
	after := ""
	if how.polls {
		if after, err = f.store.LastResult(ctx); err != nil {
			return err
		}
	}
	t := &tail{fleet: f, how: how, lines: make(chan happening), notes: make(chan string, noteRoom), nodes: nodes}
	g, both := errgroup.WithContext(ctx)
	if f.cfg.KeyspaceEvents == config.EventsOff {
		say(f.Stderr, "LEASEHOLD_KEYSPACE_EVENTS is off: polls alone are shown")
	} else {
		t.listen(both, g)
	}
	if how.polls {
		// Nobody waits for it: it may wait for Redis for a moment when the context ends,
		// until the client is closed.
		go t.polls(both, after)
	}
	g.Go(func() error { return t.show(both) })
	if err := g.Wait(); ctx.Err() == nil {
		return err
	}
	return nil // whoever ended it knows
}

// noteRoom is how many notes wait to be told.
const noteRoom = 64

// tail is what runs while events are shown.
type tail struct {
	*fleet

	how      tailing
	lines    chan happening
	notes    chan string
	listener *redisevents.Listener
	// begun says that all servers are listened to: a gap from now on is one.
	begun atomic.Bool
	// nodes are those that are known to be alive. They are of one goroutine.
	nodes fleetview.Nodes
}

// listen runs a listener and takes what it hears.
func (t *tail) listen(ctx context.Context, g *errgroup.Group) {
	db := 0
	if single, ok := t.client.(*redis.Client); ok {
		db = single.Options().DB
	}
	t.listener = redisevents.New(redisevents.Config{
		Client: t.client, Keys: t.cfg.Keys, DB: db, Mode: redisevents.Auto, Takings: true, Observer: observer{t},
	})
	feed := t.listener.Follow(feedLimit)
	g.Go(func() error { return t.listener.Run(ctx) })
	g.Go(func() error {
		defer feed.Close()
		for {
			select {
			case <-ctx.Done():
				return context.Cause(ctx)
			case <-feed.Ready():
			}
			for _, h := range t.look(ctx, feed.Take()) {
				if err := t.put(ctx, h); err != nil {
					return err
				}
			}
		}
	})
}

// put hands on what is wanted.
func (t *tail) put(ctx context.Context, h happening) error {
	if !t.how.wants(h) {
		return nil
	}
	select {
	case t.lines <- h:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// look makes happenings of events. Who took leases is read for all at once.
func (t *tail) look(ctx context.Context, events []redisevents.Event) []happening {
	now := time.Now()
	all := make([]happening, 0, len(events))
	var ids []string
	var taken []int
	for _, e := range events {
		h, ok := happeningOf(e, t.nodes)
		if !ok || h.Type == happenedGap && t.starts(h.Cause) {
			continue
		}
		h.Time = fleetview.Stamp(now)
		if h.Type == happenedTaken && t.how.wants(h) {
			ids, taken = append(ids, h.SessionID), append(taken, len(all))
		}
		all = append(all, h)
	}
	for start := 0; start < len(ids); start += lookBatch {
		some := ids[start:min(start+lookBatch, len(ids))]
		for i, rec := range t.store.Read(ctx, some) {
			if rec.Err == nil && rec.Holder != "" {
				h := &all[taken[start+i]]
				h.HolderID, h.Version = rec.Holder, int64(rec.Token)
			}
		}
	}
	return all
}

// starts reports whether a gap only ends the time before a server was listened to. The
// last server that is says that the command listens: in a cluster each master has one.
func (t *tail) starts(reason string) bool {
	if t.begun.Load() {
		return false
	}
	if s := t.listener.Status(); s.Starting == 0 {
		t.begun.Store(true)
		if s.Healthy {
			t.note("listening")
		}
	}
	return reason == redisevents.ReasonStart
}

// note tells something that is no event. What nobody has read yet by then is told no
// more.
func (t *tail) note(format string, args ...any) {
	select {
	case t.notes <- fmt.Sprintf(format, args...):
	default:
	}
}

// lookBatch is how many leases are read at once.
const lookBatch = 1000

// polls hands on the results behind a position. What is lost with Redis for a while is
// found behind it again.
func (t *tail) polls(ctx context.Context, after string) {
	lost := false
	for ctx.Err() == nil {
		events, next, err := t.store.Results(ctx, after)
		if err != nil && ctx.Err() == nil {
			if !lost {
				t.note("results can't be read, and are tried again: %v", err)
			}
			lost = true
			pause(ctx, time.Second)
			continue
		}
		lost, after = false, next
		for _, text := range events {
			if h, ok := happeningOfPoll(text); ok {
				_ = t.put(ctx, h) // the context has ended: so does this
			}
		}
	}
}

// pause waits, no longer than the context.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// show prints, from one goroutine.
func (t *tail) show(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case note := <-t.notes:
			say(t.Stderr, "%s", note)
		case h := <-t.lines:
			line := h.text()
			if t.how.format == tailJSONL {
				line = compact(h)
			}
			if _, err := fmt.Fprintln(t.Stdout, line); err != nil {
				return err
			}
		}
	}
}

// observer tells what happens to the subscriptions.
type observer struct{ tail *tail }

// Subscribed implements [redisevents.Observer].
func (o observer) Subscribed(flags string, _ []string) {
	if missing := redisevents.MissingFlags(flags); flags != "" && missing != "" {
		o.tail.note("Redis announces not all: notify-keyspace-events is %q, and lacks %q", flags, missing)
	}
	if o.tail.begun.Load() { // else the first gap says when all are
		o.tail.note("listening")
	}
}

// Lost implements [redisevents.Observer].
func (o observer) Lost(reason string, err error) {
	if err == nil {
		o.tail.note("events are lost: %s", reason)
		return
	}
	o.tail.note("events are lost: %s: %v", reason, err)
}

// Disabled implements [redisevents.Observer].
func (o observer) Disabled(reason string) { o.tail.note("events are not available: %s", reason) }

// Warned implements [redisevents.Observer].
func (o observer) Warned(reason string) { o.tail.note("%s", rediskey.Display(reason)) }
