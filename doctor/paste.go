package doctor

import (
	"strings"

	"leasehold/redisevents"
)

// setFlags is the fix for flags that lack some: it keeps the others, whoever needs them.
func (p *patient) setFlags(have string) string {
	flags := quoted(have + redisevents.MissingFlags(have))
	return p.redisCLI() + " CONFIG SET notify-keyspace-events " + flags +
		"\nin redis.conf too, since a restart forgets it: notify-keyspace-events " + flags
}

// redisCLI is how to call the server from a shell. Who may set things has credentials of
// their own, and those of the settings are not shown.
func (p *patient) redisCLI() string {
	o := p.rdb.Options()
	switch {
	case o.Network == "unix":
		return "redis-cli -s " + quoted(o.Addr)
	case o.TLSConfig != nil:
		return "redis-cli -u " + plain("rediss://"+o.Addr)
	}
	return "redis-cli -u " + plain("redis://"+o.Addr)
}

// plain is a text that a shell takes as it is, quoted only where it has to be.
func plain(s string) string {
	if strings.ContainsAny(s, "[]*?$&;|<>()'\"\\ `") { // an address of IPv6, for one
		return quoted(s)
	}
	return s
}

// quoted is a text in which a shell, and redis.conf, expand nothing.
func quoted(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
