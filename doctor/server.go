package doctor

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
)

// untold is the finding where INFO is refused.
func (p *patient) untold(look string) []Finding {
	do := "where the service shows its settings, look at " + look
	if p.refused == nil {
		return []Finding{unknown(do, "the server does not tell")}
	}
	return []Finding{unknown(do, "the server does not tell: %v", p.refused)}
}

// oldest is the oldest version whose rules of access the fleet knows.
const oldest = 7

func version(_ context.Context, p *patient) []Finding {
	text := p.field("redis_version")
	major, _, _ := strings.Cut(text, ".")
	n, err := strconv.Atoi(major)
	switch {
	case text == "" || err != nil:
		return p.untold("the version; it must be 7.0 or later")
	case n < oldest:
		return []Finding{unsafe("use Redis 7.0 or later", "Redis %s", text)}
	}
	return []Finding{fine("Redis %s", text)}
}

func role(ctx context.Context, p *patient) []Finding {
	const address = "set LEASEHOLD_REDIS_URL to "
	_, cluster := p.client.(*redis.ClusterClient)
	switch mode := p.field("redis_mode"); {
	case p.info == "":
		return p.untold("the role; it must be the primary")
	case mode == "sentinel":
		return []Finding{unsafe(address+"the primary that it watches", "this is a sentinel, which keeps no data")}
	case p.field("role") == "slave":
		return []Finding{unsafe(fmt.Sprintf("%sthe primary: %s:%s", address, p.field("master_host"), p.field("master_port")),
			"this is a replica: it refuses writes")}
	case mode == "cluster" && !cluster:
		return []Finding{unsafe(address+"several nodes of the cluster, with commas between",
			"this is a node of a cluster, and one address means a single server")}
	}
	replicas := p.field("connected_slaves")
	if replicas == "" || replicas == "0" {
		return []Finding{fine("primary without replicas")}
	}
	if least, err := p.setting(ctx, "min-replicas-to-write"); err == nil && least == "0" {
		return []Finding{warning("CONFIG SET min-replicas-to-write 1, and in redis.conf",
			"primary with %s replicas, and does not wait for them: a failover can lose leases that were granted", replicas)}
	}
	return []Finding{fine("primary with %s replicas", replicas)}
}

func memory(ctx context.Context, p *patient) []Finding {
	policy := p.field("maxmemory_policy")
	if policy == "" {
		var err error
		if policy, err = p.setting(ctx, "maxmemory-policy"); err != nil {
			return []Finding{unknown("see that maxmemory-policy is noeviction where the service shows its settings",
				"the server does not tell maxmemory-policy: %v", err)}
		}
	}
	if policy == "noeviction" {
		return p.room()
	}
	what := "every key"
	if strings.HasPrefix(policy, "volatile-") {
		what = "keys with a TTL, so leases and heartbeats first"
	}
	return []Finding{unsafe("CONFIG SET maxmemory-policy noeviction, and in redis.conf",
		"maxmemory-policy %s: where memory runs short Redis removes %s", policy, what)}
}

// nearlyFull is the share of its memory above which a server is soon full.
const nearlyFull = 0.9

// room looks how much is left to a server that evicts nothing: full, it refuses writes.
func (p *patient) room() []Finding {
	const fix = "CONFIG SET maxmemory to more than its keys need, and in redis.conf, or remove keys of others"
	used, err := strconv.ParseFloat(p.field("used_memory"), 64)
	most, limited := strconv.ParseFloat(p.field("maxmemory"), 64)
	share := used / most
	switch {
	case err != nil || limited != nil || most == 0 || share <= nearlyFull:
		return []Finding{fine("maxmemory-policy noeviction")}
	case share >= 1:
		return []Finding{unsafe(fix, "the memory is full (maxmemory %.0f bytes): Redis refuses writes, and so new leases", most)}
	}
	return []Finding{warning(fix, "%.0f of 100 parts of the memory (maxmemory %.0f bytes) are in use: full, Redis refuses writes", share*100, most)}
}

func persistence(ctx context.Context, p *patient) []Finding {
	aof, status := p.field("aof_enabled"), p.field("rdb_last_bgsave_status")
	const fix = "CONFIG SET appendonly yes, and in redis.conf"
	switch {
	case p.info == "" || aof == "":
		return p.untold("its persistence: session documents are lost without")
	case status == "err":
		return []Finding{warning("see the server's log, and its disk", "the last snapshot failed: Redis may refuse writes (stop-writes-on-bgsave-error)")}
	case aof == "1":
		return []Finding{fine("append-only file")}
	}
	save, err := p.setting(ctx, "save")
	switch {
	case err != nil:
		return []Finding{unknown(fix, "no append-only file, and snapshots are not told of: %v", err)}
	case save == "":
		return []Finding{warning(fix, "neither append-only file nor snapshots: session documents are lost at a restart")}
	}
	return []Finding{fine("snapshots (save %s)", save)}
}

// leastHz is Redis' default.
const leastHz = 10

func hz(_ context.Context, p *patient) []Finding {
	text := p.field("configured_hz")
	n, err := strconv.Atoi(text)
	switch {
	case err != nil:
		return p.untold("hz; it should be 10 or more")
	case n < leastHz:
		return []Finding{warning("CONFIG SET hz 10, and in redis.conf", "hz %d: keys that ran out are noticed late", n)}
	}
	return []Finding{fine("hz %d", n)}
}
