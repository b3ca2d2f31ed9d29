package leasetest

import (
	"time"

	"leasehold/lease"
)

// Renewals asks for grants to be held for another TTL.
func Renewals(ttl time.Duration, grants ...lease.Grant) []lease.Renewal {
	renewals := make([]lease.Renewal, len(grants))
	for i, g := range grants {
		renewals[i] = lease.Renewal{Grant: g, TTL: ttl}
	}

	return renewals
}
