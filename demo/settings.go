package demo

import "strings"

// passedOn are the only variables of the user's that a node gets: without them it
// might not trust the certificate of the user's Redis.
func passedOn(variable string) bool {
	return strings.HasPrefix(variable, "SSL_CERT_FILE=") || strings.HasPrefix(variable, "SSL_CERT_DIR=")
}

// nodeEnviron is the whole environment of a node.
func nodeEnviron(environ []string, b *backend, name string) []string {
	var env []string
	for _, v := range environ {
		if passedOn(v) {
			env = append(env, v)
		}
	}
	env = append(env, timing()...)
	return append(env,
		"LEASEHOLD_REDIS_URL="+b.url,
		"LEASEHOLD_INSTANCE_NAME="+name,
		"LEASEHOLD_KEY_PREFIX="+b.keys.Prefix,
		"LEASEHOLD_SESSION_PREFIX="+b.keys.SessionPrefix,
		"LEASEHOLD_DRAIN_TIMEOUT="+drain.String(),
		"LEASEHOLD_HTTP_ADDR=127.0.0.1:0",
		"LEASEHOLD_LOG_LEVEL=info",
		"LEASEHOLD_LOG_FORMAT=json",
	)
}

// timing are the settings that differ from the defaults and that nodes must share: who
// looks at the fleet with doctor needs them too.
func timing() []string {
	return []string{
		"LEASEHOLD_LEASE_TTL=" + ttl.String(),
		"LEASEHOLD_LEASE_RENEW_INTERVAL=" + renew.String(),
		"LEASEHOLD_HEARTBEAT_TTL=" + ttl.String(),
		"LEASEHOLD_HEARTBEAT_INTERVAL=" + renew.String(),
		"LEASEHOLD_RECONCILE_INTERVAL=" + reconcile.String(),
		"LEASEHOLD_RESULT_STREAM=", // nobody reads it
	}
}

// look is how to look at the fleet from another terminal. A Redis of the user's may have
// a password in its address, which is not shown.
func look(program string, b *backend) string {
	if !b.own {
		return ""
	}
	return "Look at it:\n  LEASEHOLD_REDIS_URL=" + b.url + " " + program + " status\n" +
		"doctor wants the nodes' timing too:\n  " + strings.Join(timing(), " ") + "\n"
}
