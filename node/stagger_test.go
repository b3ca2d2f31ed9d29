package node

import (
	"testing"
	"time"

	"leasehold/lease"
)

func TestLeasesAreStaggeredWhereRenewalsLeaveRoom(t *testing.T) {
	for _, c := range []struct {
		interval, margin, beat time.Duration
		want                   lease.Stagger
	}{
		{interval: 10 * time.Second, margin: 2 * time.Second, beat: 10 * time.Second, want: 50},
		{interval: 15 * time.Second, margin: 2 * time.Second, beat: 15 * time.Second, want: 50},
		{interval: 10 * time.Second, margin: 19 * time.Second, beat: 10 * time.Second},
		{interval: 15 * time.Second, margin: 14 * time.Second, beat: 15 * time.Second},
		{interval: 5 * time.Second, margin: 14 * time.Second, beat: 15 * time.Second},
	} {
		cfg := Config{
			LeaseTTL: 30 * time.Second, RenewInterval: c.interval, Margin: c.margin,
			HeartbeatTTL: 30 * time.Second, HeartbeatInterval: c.beat,
		}
		if got := cfg.stagger(); got != c.want {
			t.Errorf("%+v: %d", c, got)
		}
	}
}
