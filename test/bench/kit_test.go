package bench

import (
	"bufio"
	"math"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestQuantileIsAValueOfTheList(t *testing.T) {
	list := []float64{4, 1, 3, 2}
	for q, want := range map[float64]float64{0: 1, 0.25: 1, 0.26: 2, 0.5: 2, 0.99: 4, 1: 4} {
		if got := quantile(list, q); got != want {
			t.Errorf("quantile %v: %v, want %v", q, got, want)
		}
	}
	if got := quantile([]float64{}, 0.5); got != 0 {
		t.Errorf("of none: %v", got)
	}
}

func TestQuantileInAHistogram(t *testing.T) {
	buckets := map[float64]float64{0.01: 50, 0.1: 100, math.Inf(1): 100}
	for q, want := range map[float64]float64{0.5: 0.01, 0.75: 0.055, 1: 0.1} {
		if got := inHistogram(buckets, q); math.Abs(got-want) > 1e-9 {
			t.Errorf("quantile %v: %v, want %v", q, got, want)
		}
	}
}

func TestWatchReadsWhatRedisAnnounces(t *testing.T) {
	w := &watch{}
	w.read(strings.NewReader("*3\r\n$9\r\nsubscribe\r\n$18\r\n__keyevent@0__:set\r\n:1\r\n" +
		"*3\r\n$7\r\nmessage\r\n$18\r\n__keyevent@0__:set\r\n$1\r\na\r\n" +
		"*3\r\n$7\r\nmessage\r\n$18\r\n__keyevent@0__:del\r\n$4\r\nb\r\nc\r\n"))
	var got []string
	for _, c := range w.changes {
		got = append(got, c.event+" "+c.key)
	}
	if want := []string{"set a", "del b\r\nc"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if _, err := readArray(bufio.NewReader(strings.NewReader("-ERR no\r\n"))); err == nil {
		t.Error("an error reply is no announcement")
	}
}

func TestTargetCountsOverlapsAndMissedSlots(t *testing.T) {
	begun := time.Now()
	at := func(ms int) time.Time { return begun.Add(time.Duration(ms) * time.Millisecond) }
	s := &target{flights: map[string][]*flight{
		"steady":  {{at(0), at(10)}, {at(100), at(110)}, {at(205), at(210)}},
		"two":     {{at(0), at(120)}, {at(100), at(110)}},
		"skipped": {{at(0), at(10)}, {at(300), at(310)}},
	}}
	overlaps, missed := s.judge(begun.Add(-time.Second), 100*time.Millisecond)
	if overlaps != 1 || missed != 2 {
		t.Errorf("%d overlaps and %d missed, want 1 and 2", overlaps, missed)
	}
}

func TestTable(t *testing.T) {
	r := newReport()
	r.ours(t, "lag", "ms", 8, atMost(10))
	r.ours(t, "lag", "ms", 12, atMost(10))
	r.ours(t, "lag", "ms", 9, atMost(10))
	r.peer(t, "other", "lag", "ms", 90)
	r.ours(t, "rate", "", 0.5, atLeast(0.8))
	for _, want := range []string{
		"| lag | 9 (8 to 12) ms | ≤ 10 | yes | other 90 ms (10×) |",
		"| rate | 0.5  | ≥ 0.8 | no |  |",
	} {
		if !strings.Contains(r.markdown(), want) {
			t.Errorf("%q is not in\n%s", want, r.markdown())
		}
	}
}

func TestLinesAreChosenByName(t *testing.T) {
	for only, want := range map[string]bool{"": true, "crash": true, "join,crash-300": true, "cra": false, "crash-3000": false} {
		if got := wanted("crash-300", only); got != want {
			t.Errorf("%q: %v", only, got)
		}
	}
}
