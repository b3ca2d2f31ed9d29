package doctor

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"leasehold/config"
	"leasehold/redisevents"
)

func flags(ctx context.Context, p *patient) []Finding {
	if p.cfg.KeyspaceEvents == config.EventsOff {
		return []Finding{fine("LEASEHOLD_KEYSPACE_EVENTS is off: nodes live on the scan")}
	}
	have, err := p.setting(ctx, "notify-keyspace-events")
	if err != nil {
		return []Finding{unknown("set notify-keyspace-events to "+redisevents.NeededFlags+" where the service has its settings; the check of expiry shows whether it works",
			"the server does not tell notify-keyspace-events: %v", err)}
	}
	missing := redisevents.MissingFlags(have)
	if missing == "" {
		return []Finding{fine("notify-keyspace-events %s", have)}
	}
	return []Finding{warning(p.setFlags(have),
		"notify-keyspace-events is %q and lacks %s; nodes that may set it do so", have, missing)}
}

const (
	lifetime = 50 * time.Millisecond
	// patience is how long an event may take: it is sent when the key is looked at.
	patience = 2 * time.Second
)

// expiry has a key run out, and waits for the event that tells of it.
func expiry(ctx context.Context, p *patient) []Finding {
	if p.cfg.KeyspaceEvents == config.EventsOff {
		return []Finding{fine("not needed")}
	}
	pattern := redisevents.ExpiredPattern
	sub := p.rdb.PSubscribe(ctx, pattern)
	defer func() { _ = sub.Close() }()
	if _, err := sub.ReceiveTimeout(ctx, patience); err != nil {
		return []Finding{warning("ACL SETUSER "+p.user()+" +psubscribe &"+pattern, "the channel of expired keys is refused: %v", err)}
	}
	key := p.ownKey(ctx)
	if err := p.rdb.Do(ctx, "SET", key, "1", "PX", lifetime.Milliseconds()).Err(); err != nil {
		return []Finding{unknown("", "no key could be written to see it expire: %v", err)}
	}
	set := time.Now()
	looked := make(chan struct{})
	go func() {
		defer close(looked)
		p.lookAt(ctx, key)
	}()
	defer func() { <-looked }()
	for {
		message, err := sub.ReceiveTimeout(ctx, patience-time.Since(set))
		if err != nil {
			return []Finding{warning(p.expiryFix(ctx),
				"no event told of a key that ran out: nodes notice changes by the scan only, every %s", p.cfg.ReconcileInterval)}
		}
		if m, ok := message.(*redis.Message); ok && m.Payload == key {
			return []Finding{fine("an event told of a key that ran out after %s", (time.Since(set) - lifetime).Round(100*time.Microsecond))}
		}
	}
}

// expiryFix keeps the flags that are there, as far as the server tells them.
func (p *patient) expiryFix(ctx context.Context) string {
	have, err := p.setting(ctx, "notify-keyspace-events")
	if err != nil {
		return "add what is missing of " + redisevents.NeededFlags + " to notify-keyspace-events where the service has its settings"
	}
	return p.setFlags(have)
}

// lookAt has Redis find out, as nodes do, that the key has run out.
func (p *patient) lookAt(ctx context.Context, key string) {
	timer := time.NewTimer(lifetime + 2*time.Millisecond)
	defer timer.Stop()
	select {
	case <-timer.C:
		_ = p.rdb.PTTL(ctx, key).Err() // the event says what came of it
	case <-ctx.Done():
	}
}

// ownKey returns a throwaway key that this server of a cluster keeps.
func (p *patient) ownKey(ctx context.Context) string {
	prefix := p.cfg.Keys.Prefix + doctorPart
	c, cluster := p.client.(*redis.ClusterClient)
	for range 200 {
		key := prefix + random()
		if !cluster {
			return key
		}
		if m, err := c.MasterForKey(ctx, key); err == nil && m.Options().Addr == p.rdb.Options().Addr {
			return key
		}
	}
	return prefix + random()
}
