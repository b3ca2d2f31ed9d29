package lease_test

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"leasehold/lease"
)

func TestHeldStrictlyBeforeTheTrustEnds(t *testing.T) {
	sent := time.Unix(1_700_000_000, 0)
	term := lease.NewTerm(lease.Grant{Session: "s", Holder: "n", Token: 7}, sent, 30*time.Second, 2*time.Second)
	end := sent.Add(28 * time.Second)
	if !term.TrustedUntil.Equal(end) || term.Token != 7 || term.Session != "s" || term.Holder != "n" {
		t.Fatalf("got %+v, want the grant until %v", term, end)
	}
	for name, c := range map[string]struct {
		now  time.Time
		held bool
		left time.Duration
	}{
		"when sent":               {sent, true, 28 * time.Second},
		"a moment before the end": {end.Add(-1), true, 1},
		"at the end":              {end, false, 0},
		"after the end":           {end.Add(time.Hour), false, 0},
	} {
		if term.Held(c.now) != c.held || term.Remaining(c.now) != c.left {
			t.Errorf("%s: held %v, remaining %v; want %v, %v", name, term.Held(c.now), term.Remaining(c.now), c.held, c.left)
		}
	}
}

func TestTheZeroTermAndAMarginAsLongAsTheTTLAreNeverHeld(t *testing.T) {
	now := time.Now()
	for name, term := range map[string]lease.Term{
		"zero":         {},
		"margin = TTL": lease.NewTerm(lease.Grant{}, now, time.Second, time.Second),
		"margin > TTL": lease.NewTerm(lease.Grant{}, now, time.Second, time.Minute),
	} {
		if term.Held(now) || term.Remaining(now) != 0 {
			t.Errorf("%s: held with %v left", name, term.Remaining(now))
		}
	}
}

// Redis starts the TTL when the request arrives, which is after it was sent; the
// reply arrives later still. However long either way takes, the holder stops at
// least the margin before the key can expire.
func TestTrustEndsTheMarginBeforeRedisCanEndTheLease(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		span := func(name string, most time.Duration) time.Duration {
			return time.Duration(rapid.Int64Range(0, int64(most)).Draw(t, name))
		}
		ttl := time.Millisecond + span("ttl", 24*time.Hour)
		margin := span("margin", ttl)
		sent := time.Unix(0, rapid.Int64Range(0, 1<<61).Draw(t, "sent"))
		arrived := sent.Add(span("way there", time.Hour))
		replied := arrived.Add(span("way back", time.Hour))

		term := lease.NewTerm(lease.Grant{}, sent, ttl, margin)
		expires := arrived.Add(ttl)
		if term.TrustedUntil.After(expires.Add(-margin)) {
			t.Fatalf("trusted until %v, while Redis may expire the key at %v", term.TrustedUntil, expires)
		}
		now := replied.Add(span("later", 2*ttl))
		if term.Held(now) && !now.Before(expires.Add(-margin)) {
			t.Fatalf("held at %v, within the margin of %v", now, expires)
		}
		if term.Held(now) != (term.Remaining(now) > 0) {
			t.Fatalf("held %v with %v left", term.Held(now), term.Remaining(now))
		}
	})
}

// A renewal whose requests overtake each other never shortens what Redis grants.
func TestALaterSendingIsTrustedLonger(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sent := time.Unix(0, rapid.Int64Range(0, 1<<61).Draw(t, "sent"))
		later := sent.Add(time.Duration(rapid.Int64Range(1, int64(time.Hour)).Draw(t, "later")))
		first := lease.NewTerm(lease.Grant{}, sent, time.Minute, time.Second)
		second := lease.NewTerm(lease.Grant{}, later, time.Minute, time.Second)
		if got := second.TrustedUntil.Sub(first.TrustedUntil); got != later.Sub(sent) {
			t.Fatalf("a renewal %v later adds %v", later.Sub(sent), got)
		}
	})
}

func ExampleTerm() {
	sent := time.Date(2030, 1, 1, 12, 0, 0, 0, time.UTC)
	term := lease.NewTerm(lease.Grant{Session: "pump-7", Holder: "a", Token: 1}, sent, 30*time.Second, 2*time.Second)
	fmt.Println(term.TrustedUntil.Format(time.TimeOnly))
	fmt.Println(term.Held(sent.Add(27*time.Second)), term.Held(sent.Add(28*time.Second)))
	// Output:
	// 12:00:28
	// true false
}
