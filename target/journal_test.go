package target

import (
	"testing"
	"testing/synctest"
	"time"
)

// What counts as an overlap, in fake time: the first poll starts, the second starts
// 100 ms later, and the first ends after the time given.
func TestOverlap(t *testing.T) {
	for name, c := range map[string]struct {
		after time.Duration
		gone  bool
		want  int64
	}{
		"answered":              {after: time.Millisecond, want: 1},
		"gone just before":      {after: GoneGrace, gone: true, want: 0},
		"gone, but seen late":   {after: GoneGrace + time.Millisecond, gone: true, want: 1},
		"answered much later":   {after: time.Second, want: 1},
		"gone in the same tick": {after: 0, gone: true, want: 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				j := newJournal(true, nil)
				first := j.start("s", "a", 1)
				time.Sleep(100 * time.Millisecond)
				second := j.start("s", "b", 2)
				time.Sleep(c.after)
				j.end(first, 200, c.gone)
				time.Sleep(time.Second)
				j.end(second, 200, false)
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
