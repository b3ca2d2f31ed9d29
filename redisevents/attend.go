package redisevents

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

// attend stays with an established subscription until it has to be replaced, and
// says why.
func (w *watch) attend(ctx context.Context, client *redis.Client, sub *subscription, flags flagState) (string, error) {
	canary := time.NewTicker(w.cfg.Canary)
	defer canary.Stop()
	info := time.NewTicker(w.cfg.Identify)
	defer info.Stop()
	check := time.NewTimer(w.cfg.FlagCheck)
	defer check.Stop()
	retry := time.NewTimer(w.cfg.Refused)
	defer retry.Stop()
	if sub.problem() == "" {
		retry.Stop()
	}
	// At once, for the first proof.
	reason, refused := w.prove(ctx, client, sub, false)
	pace := func() {
		every := w.cfg.Canary
		if refused {
			every = w.cfg.Refused
		}
		canary.Reset(every)
	}
	pace()
	for reason == "" {
		var err error
		select {
		case <-ctx.Done():
			return "", ctx.Err()
		case <-sub.done:
			return reasonConnection, sub.err
		case <-retry.C:
			return reasonRefused, nil
		case <-canary.C:
			before := refused
			if reason, refused = w.prove(ctx, client, sub, before); refused != before {
				pace()
			}
		case <-info.C:
			reason = w.sameServer(ctx, client)
		case <-check.C:
			flags, reason, err = w.recheck(ctx, sub, flags)
			check.Reset(w.nextCheck(err, flags))
		}
	}
	return reason, nil
}

// prove sends one canary. A server that refuses it proves nothing, which is said once:
// it is asked less often then, since it may have been told to allow it again.
func (w *watch) prove(ctx context.Context, client *redis.Client, sub *subscription, before bool) (reason string, refused bool) {
	ctx, cancel := context.WithTimeout(ctx, w.cfg.Call)
	defer cancel()
	reason, err := sub.beat(ctx, client)
	if err == nil || !refusal(err) {
		// Any other error says that Redis is out of reach: no news of the subscription.
		return reason, false
	}
	if !before {
		w.cfg.Observer.Warned(fmt.Sprintf("no proof that the subscription is alive: %v", err))
	}
	return reason, true
}

// sameServer looks, through the connection that is open already, whether the
// server changed its role or was replaced.
func (w *watch) sameServer(ctx context.Context, client *redis.Client) (reason string) {
	ctx, cancel := context.WithTimeout(ctx, w.cfg.Call)
	defer cancel()
	id, err := identify(ctx, client)
	if err == nil && id.changed(w.last) {
		return reasonServer
	}
	return ""
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
