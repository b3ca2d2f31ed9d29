package redisevents

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/redis/go-redis/v9"
)

// ReasonStart is the reason of a server's first gap.
const ReasonStart = "start"

// Other reasons of gaps and losses.
const (
	reasonOverflow   = "queue_overflow"
	reasonConnect    = "connect_failed"
	reasonConnection = "connection_lost"
	reasonDeaf       = "canary_unheard"
	reasonElsewhere  = "subscription_left_behind"
	reasonServer     = "server_changed"
	reasonFlags      = "flags_were_missing"
	reasonRefused    = "retry_refused"
	reasonOff        = "events_off"
)

// errRefused ends Run in mode Require.
var errRefused = errors.New("keyspace events are required")

// mostBlind is how many failed inspections in a row count as a refusal.
const mostBlind = 3

// watch listens to one server, through one subscription after another. run is its
// only goroutine besides the readers, and owns all fields below the blank line.
type watch struct {
	cfg     *Config
	queue   *queue
	parser  parser
	turns   turns
	options *redis.Options
	report  func(condition)
	drop    func() // it counts no more

	last    identity // who the server was at the latest Gap
	begun   bool     // a first subscription was established
	joined  bool     // a master found after the start: what it holds is unknown
	late    bool     // others were subscribed to before it joined: it ends nothing by a refusal
	blind   int      // subscriptions in a row whose server could not be inspected
	down    bool     // Lost was reported and no Gap has followed
	why     string   // why the present stretch of missed events began
	said    string   // the latest reason given to Disabled
	replica bool     // the server follows another one
}

// condition is what a watch reports about itself.
type condition struct {
	begun   bool // it was subscribed to
	healthy bool
	flags   string
	problem string
}

// keep watches until the context ends. It returns an error only in mode Require, for a
// refusal at the listener's first start.
func (w *watch) keep(ctx context.Context) error {
	defer w.drop()
	if w.cfg.Mode == Off {
		return w.runOff(ctx)
	}
	pause := w.cfg.RetryMin
	for ctx.Err() == nil {
		established, err := w.round(ctx)
		w.report(condition{problem: w.why, begun: w.begun})
		if errors.Is(err, errRefused) {
			return err
		}
		if established {
			pause = w.cfg.RetryMin
		}
		if !sleep(ctx, pause/2+rand.N(pause)) {
			break
		}
		pause = min(2*pause, w.cfg.RetryMax)
	}
	return nil
}

// round lives through one subscription, from dialing to its end.
func (w *watch) round(ctx context.Context) (established bool, err error) {
	client := redis.NewClient(privateOptions(w.options, w.cfg.Call))
	defer func() { _ = client.Close() }()
	sub, err := w.open(ctx, client)
	if err != nil {
		w.lost(ctx, reasonConnect, err)
		return false, err
	}
	defer sub.close()
	flags, err := w.establish(ctx, client, sub)
	if err != nil {
		w.lost(ctx, reasonConnect, err)
		return false, err
	}
	reason, err := w.attend(ctx, client, sub, flags)
	w.lost(ctx, reason, err)
	return true, nil
}

func (w *watch) open(ctx context.Context, client *redis.Client) (*subscription, error) {
	ctx, cancel := context.WithTimeout(ctx, w.cfg.Call)
	defer cancel()
	return subscribe(ctx, client, w.cfg, w.hear)
}

// hear runs on the reader's goroutine.
func (w *watch) hear(channel, payload string) {
	if e := w.parser.parse(channel, payload); e != nil {
		w.queue.add(e)
	}
}

// establish ends the stretch of missed events: all channels are answered for, so
// set the flags, see who the server is, and only then announce the Gap.
func (w *watch) establish(ctx context.Context, client *redis.Client, sub *subscription) (flagState, error) {
	flags, id, err := w.inspect(ctx, client)
	if err != nil {
		w.blind++
		if w.blind < mostBlind {
			return flags, err
		}
		// Some proxies close the connection on CONFIG or INFO: take it for a refusal.
		flags = flagState{refused: err}
	}
	w.blind = 0
	problem := join(sub.problem(), flags.problem())
	if problem != "" && w.cfg.Mode == Require && !w.begun && !w.late {
		return flags, fmt.Errorf("%w: %s", errRefused, problem)
	}
	w.observe(flags, sub, id)
	w.gap(id)
	return flags, nil
}

// inspect sets the flags and reads the identity, through one connection.
func (w *watch) inspect(ctx context.Context, client *redis.Client) (flagState, identity, error) {
	ctx, cancel := context.WithTimeout(ctx, w.cfg.Call)
	defer cancel()
	flags, err := ensureFlags(ctx, client)
	if err != nil {
		return flags, identity{}, fmt.Errorf("check %s: %w", flagSetting, err)
	}
	id, err := identify(ctx, client)
	if err != nil {
		return flags, id, fmt.Errorf("read INFO: %w", err)
	}
	return flags, id, nil
}

// observe tells the observer and the listener how good this subscription is.
func (w *watch) observe(flags flagState, sub *subscription, id identity) {
	problem := join(sub.problem(), flags.problem())
	if id.replica() && !w.replica {
		w.cfg.Observer.Warned("the server is a replica: it announces expired keys late, as deleted")
	}
	w.replica = id.replica()
	if problem != w.said && problem != "" {
		w.cfg.Observer.Disabled(problem)
	}
	w.said = problem
	if problem == "" {
		w.cfg.Observer.Subscribed(flags.have, sub.channels())
	}
	w.report(condition{
		begun: true, healthy: problem == "" && !id.replica(), flags: flags.have, problem: problem,
	})
}

// gap announces that everything has to be looked at.
func (w *watch) gap(id identity) {
	restarted := id.changed(w.last) || (w.joined && !w.begun)
	if w.cfg.Moved != nil && id.another(w.last) {
		w.cfg.Moved()
	}
	w.queue.addGap(Gap{Reason: w.why, Restarted: restarted, Server: id.runID})
	if id.known() {
		w.last = id
	}
	w.begun, w.down = true, false
}

// lost notes why events are missed from now on, and reports it once per stretch.
// A gap keeps the first reason: the failed attempts after it are consequences.
func (w *watch) lost(ctx context.Context, reason string, err error) {
	if ctx.Err() != nil || w.down || errors.Is(err, errRefused) {
		return
	}
	if w.begun {
		w.why = reason
	}
	w.down = true
	w.cfg.Observer.Lost(reason, err)
}

func join(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "; " + b
}

// sleep waits and reports false when the context ended first.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
