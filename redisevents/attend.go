package redisevents

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
)

// attend stays with an established subscription until it has to be replaced, and
// says why.
func (w *watch) attend(ctx context.Context, client *redis.Client, sub *subscription, flags flagState) (string, error) {
	check := time.NewTimer(w.cfg.FlagCheck)
	defer check.Stop()
	retry := time.NewTimer(w.cfg.Refused)
	defer retry.Stop()
	if sub.problem() == "" {
		retry.Stop()
	}
	sub.pulse.knows(w.last)
	p := &proof{watch: w, client: client, sub: sub, asked: time.Now()} // to establish it, it was asked
	reason := p.publish(ctx, p.forItself)                              // at once, for the first proof
	turn := time.NewTimer(p.wait(time.Now()))
	defer turn.Stop()
	for reason == "" {
		var err error
		select {
		case <-ctx.Done():
			return "", ctx.Err()
		case <-sub.done:
			return reasonConnection, sub.err
		case <-retry.C:
			return reasonRefused, nil
		case <-turn.C:
			reason = p.prove(ctx)
			turn.Reset(p.wait(time.Now()))
		case <-check.C:
			flags, reason, err = w.recheck(ctx, sub, flags)
			check.Reset(w.nextCheck(err, flags))
		}
	}
	return reason, nil
}

// recheck looks through a fresh connection whether the flags are still set, and
// whether the address still leads to the same server. An error changes nothing:
// the subscription that works is worth more than one that cannot be had.
func (w *watch) recheck(ctx context.Context, sub *subscription, before flagState) (flagState, string, error) {
	fresh := redis.NewClient(privateOptions(w.options, w.cfg.Call))
	defer func() { _ = fresh.Close() }()
	flags, id, err := w.inspect(ctx, fresh)
	if err != nil {
		return before, "", err
	}
	if id.changed(w.last) {
		return flags, reasonServer, nil
	}
	if flags.added || flags.problem() != before.problem() {
		w.observe(flags, sub, id)
	}
	if flags.added {
		w.why = reasonFlags
		w.gap(id)
	}
	return flags, "", nil
}

// nextCheck is soon after a failed check, unless the server never told its flags.
func (w *watch) nextCheck(err error, flags flagState) time.Duration {
	if err != nil && flags.known {
		return w.cfg.Identify
	}
	return w.cfg.FlagCheck
}
