package target

import (
	"testing"
	"time"
)

func TestRateCountsFullSeconds(t *testing.T) {
	var r rate
	// Three events in each of seconds 0 to 29, then silence.
	for s := range 30 {
		for k := range 3 {
			r.add(time.Duration(s)*time.Second + time.Duration(k)*300*time.Millisecond)
		}
		now := time.Duration(s)*time.Second + 900*time.Millisecond
		if s > 0 && r.perSecond(now) != 3 {
			t.Fatalf("at %v: %v a second, want 3", now, r.perSecond(now))
		}
	}
	for after, want := range map[time.Duration]float64{30 * time.Second: 3, 35 * time.Second: 1.5, 40 * time.Second: 0, 1000 * time.Second: 0} {
		if got := r.perSecond(after); got != want {
			t.Errorf("at %v: %v a second, want %v", after, got, want)
		}
	}
}

func TestRateOfTheFirstSecond(t *testing.T) {
	var r rate
	for range 5 {
		r.add(100 * time.Millisecond)
	}
	if got := r.perSecond(500 * time.Millisecond); got != 10 {
		t.Errorf("%v a second, want 10", got)
	}
}
