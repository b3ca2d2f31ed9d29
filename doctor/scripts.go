package doctor

import (
	"context"
	"errors"
	"net"
	"strings"
	"time"

	"leasehold/lease"
	"leasehold/redisstore"
)

// scripts runs those of a node on throwaway keys.
func scripts(ctx context.Context, p *patient) []Finding {
	const holder, term = "doctor", 5 * time.Second
	store := redisstore.New(p.client, p.throwaway(), redisstore.Options{Timeout: p.cfg.RedisTimeout, StateTTL: term})
	fault := func(what string, err error) []Finding {
		return []Finding{unsafe(writable(err), "%s: %v", what, err)}
	}
	taken := store.Acquire(ctx, holder, []lease.Claim{{Session: "x", TTL: term}})[0]
	if taken.Err != nil || !taken.Granted {
		return fault("a lease could not be taken", taken.Err)
	}
	grant := lease.Grant{Session: "x", Holder: holder, Token: taken.Token}
	begun, err := store.Begin(ctx, grant, lease.Slot{Interval: time.Second, Bound: time.Second})
	if err != nil {
		return fault("the start of a poll could not be recorded", err)
	}
	if err := store.Finish(ctx, grant, lease.Result{OK: true, Class: "success", Started: begun.At, NextDue: begun.At.Add(time.Second)}); err != nil {
		return fault("the end of a poll could not be recorded", err)
	}
	if v := store.Renew(ctx, []lease.Renewal{{Grant: grant, TTL: term}})[0]; v.Err != nil {
		return fault("a lease could not be renewed", v.Err)
	}
	if err := store.Release(ctx, []lease.Release{{Grant: grant, Forget: true}})[0]; err != nil {
		return fault("a lease could not be given back", err)
	}
	return []Finding{fine("a lease was taken, used, renewed and given back")}
}

// writable says what has the server take writes again that it refused so.
func writable(err error) string {
	refused := func(prefix string) bool { return err != nil && strings.Contains(err.Error(), prefix+" ") }
	timeout, waited := errors.AsType[net.Error](err)
	switch {
	case refused("OOM"):
		return "CONFIG SET maxmemory to more than its keys need, and in redis.conf, or remove keys of others"
	case refused("READONLY"):
		return "set LEASEHOLD_REDIS_URL to the primary"
	case refused("MISCONF"):
		return "see the server's log, and its disk: it refuses writes since it could not keep the last ones"
	case refused("NOREPLICAS"):
		return "see that as many replicas are connected as min-replicas-to-write says"
	case waited && timeout.Timeout():
		return "see the network, and what keeps Redis busy (SLOWLOG GET)"
	}
	return "allow scripts (EVALSHA, SCRIPT LOAD); see what the check of rights says"
}
