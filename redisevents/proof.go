package redisevents

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/redis/go-redis/v9"
)

// proof keeps proving that a subscription delivers, by canaries, and that its server is
// still the same, by INFO. The listeners of a server take turns in it.
type proof struct {
	*watch

	client  *redis.Client
	sub     *subscription
	refused bool      // the server does not let us publish
	asked   time.Time // when we last asked who the server is
}

// pace is how often a canary is due. A server that refused one is asked less often, since
// it may have been told to allow it again.
func (p *proof) pace() time.Duration {
	if p.refused {
		return p.cfg.Refused
	}
	return p.cfg.Canary
}

// seen is when it was last looked at who the server is.
func (p *proof) seen(last proofs) time.Time {
	if p.asked.After(last.vouched) {
		return p.asked
	}
	return last.vouched
}

// wait is how long nothing has to be proved, unless something goes wrong.
func (p *proof) wait(now time.Time) time.Duration {
	last := p.sub.pulse.proofs()
	next := p.turn(last.alive, now, p.pace())
	if look := p.turn(p.seen(last), now, p.cfg.Identify); look.Before(next) {
		next = look
	}
	if !last.end.IsZero() && last.end.Before(next) {
		next = last.end
	}
	return next.Sub(now)
}

// turn is when our turn comes again at what was done then.
func (p *proof) turn(done, now time.Time, pace time.Duration) time.Time {
	if due(done, now, pace) { // we have just tried
		done = now
	}
	return done.Add(p.turns.wait(pace))
}

// prove does what is due, and gives the reason why the subscription has to be replaced.
func (p *proof) prove(ctx context.Context) (reason string) {
	now, last := time.Now(), p.sub.pulse.proofs()
	if last.stopped(now) {
		return reasonDeaf
	}
	life := due(last.alive, now, p.pace())
	same, reachable := false, true
	// With a canary it costs no message of its own to tell the others, and with the next one
	// it would be late.
	if seen := p.seen(last); due(seen, now, p.cfg.Identify) || life && now.Sub(seen) > p.cfg.Identify-p.cfg.Canary {
		if same, reachable, reason = p.identity(ctx); reason != "" {
			return reason
		}
	}
	switch {
	case !reachable:
		return ""
	case last.known && (life || same && !p.refused):
		return p.publish(ctx, func(ctx context.Context) (string, error) {
			return "", p.sub.tell(ctx, p.client, same)
		})
	case life, now.Sub(last.drawn) >= p.alone(last):
		return p.publish(ctx, p.forItself)
	}
	return ""
}

// alone is after how long without a canary of its own a listener publishes one for itself:
// as often as its turn among all comes, at first.
func (p *proof) alone(last proofs) time.Duration {
	paces := int64(alone)
	if last.listeners > 0 {
		paces = min(paces, last.listeners)
	}
	return max(time.Duration(paces)*p.cfg.Canary, p.pace())
}

func (p *proof) forItself(ctx context.Context) (string, error) { return p.sub.beat(ctx, p.client) }

// identity looks, through the connection that is open already, whether the server changed
// its role or was replaced.
func (p *proof) identity(ctx context.Context) (same, reachable bool, reason string) {
	ctx, cancel := context.WithTimeout(ctx, p.cfg.Call)
	defer cancel()
	id, err := identify(ctx, p.client)
	p.asked = time.Now()
	switch {
	case err != nil: // some proxies close the connection on INFO, and publish
		late, ok := errors.AsType[net.Error](err)
		return false, ctx.Err() == nil && (!ok || !late.Timeout()), ""
	case id.changed(p.last):
		return false, true, reasonServer
	default:
		return id.known(), true, ""
	}
}

// publish sends one canary. A server that refuses it proves nothing, which is said once.
func (p *proof) publish(ctx context.Context, send func(context.Context) (reason string, err error)) (reason string) {
	ctx, cancel := context.WithTimeout(ctx, p.cfg.Call)
	defer cancel()
	reason, err := send(ctx)
	before := p.refused
	// Any other error says that Redis is out of reach: no news of the subscription.
	p.refused = err != nil && refusal(err)
	if p.refused && !before {
		p.cfg.Observer.Warned(fmt.Sprintf("no proof that the subscription is alive: %v", err))
	}
	return reason
}
