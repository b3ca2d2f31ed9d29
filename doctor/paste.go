package doctor

import (
	"leasehold/config"
	"leasehold/redisevents"
)

// setFlags is the fix for flags that lack some: it keeps the others, whoever needs them.
func (p *patient) setFlags(have string) string {
	flags := config.Quoted(have + redisevents.MissingFlags(have))
	return p.redisCLI() + " CONFIG SET notify-keyspace-events " + flags +
		"\nin redis.conf too, since a restart forgets it: notify-keyspace-events " + flags
}

// redisCLI is how to call the server from a shell. Who may set things has credentials of
// their own, and those of the settings are not shown.
func (p *patient) redisCLI() string {
	o := p.rdb.Options()
	switch {
	case o.Network == "unix":
		return "redis-cli -s " + config.Quoted(o.Addr)
	case o.TLSConfig != nil:
		return "redis-cli -u " + config.Quoted("rediss://"+o.Addr)
	}
	return "redis-cli -u " + config.Quoted("redis://"+o.Addr)
}
