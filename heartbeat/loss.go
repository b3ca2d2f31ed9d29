package heartbeat

import (
	"context"
	"time"

	"leasehold/lease"
)

// tellTries is how often it is tried to tell of a loss.
const tellTries = 10

// TellLoss has those that start know for ttl that Redis may have lost data. It tries again
// for a while, since a server that has just come back may refuse at first.
func TellLoss(ctx context.Context, m lease.Members, instance string, ttl time.Duration) {
	for failures := 0; failures < tellTries && m.NoteLoss(ctx, instance, ttl) != nil; failures++ {
		select {
		case <-time.After(lease.Retry(ttl, failures)):
		case <-ctx.Done():
			return
		}
	}
}
