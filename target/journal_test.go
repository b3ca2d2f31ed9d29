package target

import (
	"testing"
	"testing/synctest"
	"time"
)

// What counts as an overlap, in fake time: a second poll starts 100 ms after the first,
// then both end after the times given.
func TestOverlap(t *testing.T) {
	const late = GoneGrace + time.Millisecond
	for name, c := range map[string]struct {
		first, second         time.Duration
		firstGone, secondGone bool
		want                  int64
	}{
		"answered":                            {first: 1, second: time.Second, want: 1},
		"answered much later":                 {first: time.Second, second: time.Minute, want: 1},
		"gone in the same tick":               {first: 0, second: time.Second, firstGone: true, want: 0},
		"gone just in time":                   {first: GoneGrace, second: time.Second, firstGone: true, want: 0},
		"gone too late":                       {first: late, second: time.Second, firstGone: true, want: 1},
		"gone just in time, second answered":  {first: GoneGrace, second: 1, firstGone: true, want: 0},
		"second gone at once, first answered": {first: GoneGrace, second: 1, secondGone: true, want: 1},
		"second gone at once, first hangs":    {first: time.Hour, second: 1, firstGone: true, secondGone: true, want: 1},
		"second answered, first gone later":   {first: late, second: 1, firstGone: true, want: 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				j := newJournal(true, nil)
				first := j.start("s", "a", 1)
				time.Sleep(100 * time.Millisecond)
				second := j.start("s", "b", 2)
				time.Sleep(min(c.first, c.second))
				if c.first < c.second {
					j.end(first, 200, c.firstGone)
				} else {
					j.end(second, 200, c.secondGone)
				}
				time.Sleep(max(c.first, c.second) - min(c.first, c.second))
				if c.first < c.second {
					j.end(second, 200, c.secondGone)
				} else {
					j.snapshot()
					j.end(first, 200, c.firstGone)
				}
				if got := j.snapshot().Overlaps; got != c.want {
					t.Errorf("%d overlaps, want %d", got, c.want)
				}
				for _, r := range j.records() {
					if r.Overlap != (c.want > 0) {
						t.Errorf("record of %s: overlap %v", r.Instance, r.Overlap)
					}
				}
			})
		})
	}
}

func TestThreeAtOnceAreThreeOverlaps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJournal(false, nil)
		for i := range 3 {
			j.start("s", "a", 1)
			time.Sleep(GoneGrace + time.Millisecond)
			if got, want := j.snapshot().Overlaps, int64(i*(i+1)/2); got != want {
				t.Errorf("%d overlaps of %d polls, want %d", got, i+1, want)
			}
		}
	})
}

func TestPollsOneAfterTheOtherDoNotOverlap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := newJournal(true, nil)
		for i := range 100 {
			f := j.start("s", "a", 1)
			time.Sleep(time.Duration(i) * time.Millisecond)
			j.end(f, 200, false)
		}
		if s := j.snapshot(); s.Overlaps != 0 || s.Deepest != 1 || s.Polls != 100 {
			t.Errorf("stats %+v", s)
		}
	})
}
