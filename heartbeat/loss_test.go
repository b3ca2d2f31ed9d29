package heartbeat_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"leasehold/heartbeat"
	"leasehold/lease"
)

// refusing refuses so many notes.
type refusing struct {
	lease.Members

	refusals, tried int
}

func (r *refusing) NoteLoss(_ context.Context, instance string, ttl time.Duration) error {
	if instance != "me" || ttl != time.Minute {
		panic("another's note")
	}
	r.tried++
	if r.tried <= r.refusals {
		return errors.New("LOADING")
	}
	return nil
}

func TestALossIsToldOfToAServerThatRefusesAtFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for refusals, want := range map[int]int{0: 1, 3: 4, 1000: 10} {
			r, begun := &refusing{refusals: refusals}, time.Now()
			heartbeat.TellLoss(t.Context(), r, "me", time.Minute)
			if r.tried != want {
				t.Errorf("%d refusals: tried %d times, want %d", refusals, r.tried, want)
			}
			if took := time.Since(begun); took > time.Minute {
				t.Errorf("%d refusals: it took %s", refusals, took)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		r := &refusing{refusals: 1000}
		heartbeat.TellLoss(ctx, r, "me", time.Minute)
		if r.tried != 1 {
			t.Errorf("tried %d times after the end", r.tried)
		}
	})
}
