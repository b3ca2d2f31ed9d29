package config

// Shared returns the settings, by variable, that must be the same on all nodes of a
// fleet.
func (c Config) Shared() map[string]string {
	shared := make(map[string]string)
	for _, v := range Vars() {
		switch v.Name {
		case "LEASEHOLD_LEASE_TTL", "LEASEHOLD_LEASE_RENEW_INTERVAL", "LEASEHOLD_LEASE_SAFETY_MARGIN",
			"LEASEHOLD_HEARTBEAT_TTL", "LEASEHOLD_HEARTBEAT_INTERVAL", "LEASEHOLD_RECONCILE_INTERVAL",
			"LEASEHOLD_SESSION_PREFIX", "LEASEHOLD_SESSION_ID_FORMAT",
			"LEASEHOLD_POLL_INTERVAL", "LEASEHOLD_POLL_TIMEOUT", "LEASEHOLD_RESULT_STREAM":
			shared[v.Name] = v.get(&c)
		}
	}
	return shared
}
