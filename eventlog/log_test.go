package eventlog_test

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"leasehold/eventlog"
)

func TestANilLogDoesNothing(*testing.T) {
	var log *eventlog.Log
	log.Emit(eventlog.RedisUp{})
	log.Close()
	slog.New(log.SlogHandler()).Error("nothing")
}

func TestTheLevelHoldsBackWhatIsBelow(t *testing.T) {
	every := []eventlog.Event{
		eventlog.LeaseRenewed{Session: "s"},
		eventlog.RedisUp{},
		eventlog.RedisDown{Err: errBoom},
		eventlog.ResultFenced{Session: "s"},
	}
	for level, want := range map[eventlog.Level]int{
		eventlog.Debug: 4, eventlog.Info: 3, "": 3, eventlog.Warn: 2, eventlog.Error: 1,
	} {
		got := lines(t, eventlog.Options{Level: level}, func(l *eventlog.Log) {
			for _, e := range every {
				l.Emit(e)
			}
		})
		if len(got) != want {
			t.Errorf("level %q writes %d lines, want %d", level, len(got), want)
		}
	}
}

// shared is a buffer that may be read while the log may write.
type shared struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (s *shared) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.buf.Write(p)
}

// take returns what was written since the last call.
func (s *shared) take() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.buf.Reset()
	return s.buf.String()
}

func TestAboveTheLimitTheRestIsOneSummary(t *testing.T) {
	for level, want := range map[eventlog.Level]struct{ info, debug int }{
		eventlog.Info:  {info: 101, debug: 0},
		eventlog.Debug: {info: 101, debug: 250},
	} {
		synctest.Test(t, func(t *testing.T) {
			var buf shared
			log := eventlog.New(&buf, eventlog.Options{Level: level})
			defer log.Close()
			for i := range 350 {
				log.Emit(eventlog.LeaseAcquired{Session: strconv.Itoa(i), Version: 1})
			}
			time.Sleep(time.Second - time.Nanosecond)
			synctest.Wait()
			all := buf.take()
			if strings.Contains(all, `"count"`) {
				t.Error("the summary came before the second was over")
			}
			time.Sleep(time.Nanosecond)
			synctest.Wait()
			all += buf.take()
			info, debug := strings.Count(all, `"level":"info"`), strings.Count(all, `"level":"debug"`)
			if info != want.info || debug != want.debug {
				t.Errorf("at %s: %d lines at info and %d at debug, want %+v", level, info, debug, want)
			}
			if n := strings.Count(all, `"count":250`); n != 1 {
				t.Errorf("%d summaries that count 250, want 1", n)
			}
			if n := strings.Count(all, `"event":"lease.acquired"`); n != want.info+want.debug {
				t.Errorf("%d lines carry the event's name, want all %d", n, want.info+want.debug)
			}

			// The next second has a limit of its own.
			log.Emit(eventlog.LeaseAcquired{Session: "next", Version: 1})
			synctest.Wait()
			if !strings.Contains(buf.take(), `"level":"info"`) {
				t.Error("the limit outlived its second")
			}
		})
	}
}

func TestTheLimitIsPerEventAndPerSecond(t *testing.T) {
	got := lines(t, eventlog.Options{}, func(l *eventlog.Log) {
		for range 3 {
			for range 100 {
				l.Emit(eventlog.RedisUp{})
				l.Emit(eventlog.RedisDown{Err: errBoom})
			}
			time.Sleep(time.Second)
		}
	})
	if len(got) != 600 {
		t.Errorf("%d lines, want 600: 100 a second of either event are within the limit", len(got))
	}
}

// A node that takes 100,000 sessions in 50 s: all are counted, in fewer than a thousand
// lines, and what comes when it is over is written at once.
func TestALongBurstBecomesFewLines(t *testing.T) {
	const all, seconds = 100_000, 50
	got := lines(t, eventlog.Options{}, func(l *eventlog.Log) {
		for i := range all {
			l.Emit(eventlog.LeaseAcquired{Session: strconv.Itoa(i), Version: 1})
			time.Sleep(seconds * time.Second / all)
		}
		time.Sleep(11 * time.Second) // the last span ends, and a second without any
		for i := range 100 {
			l.Emit(eventlog.LeaseAcquired{Session: "late " + strconv.Itoa(i), Version: 1})
			time.Sleep(15 * time.Millisecond)
		}
	})
	told, summaries, late := 0, 0, 0
	for _, line := range got {
		var e struct {
			Count   int    `json:"count"`
			Session string `json:"endpoint_id"`
		}
		mustDecode(t, line, &e)
		switch {
		case e.Count > 0:
			summaries++
			told += e.Count
		case strings.HasPrefix(e.Session, "late "):
			late++
		default:
			told++
		}
	}
	if told != all || late != 100 {
		t.Errorf("%d of %d are told of, and %d of the 100 that came late", told, all, late)
	}
	// Spans of 1, 2, 4, 8 and, up to the end, four of 10 seconds.
	if summaries != 8 || len(got) != 8*101+100 {
		t.Errorf("%d lines with %d summaries", len(got), summaries)
	}
}

// What is fewer than 100 a second after a burst is written, however long it goes on.
func TestTheLimitOfABurstDoesNotOutliveIt(t *testing.T) {
	got := lines(t, eventlog.Options{}, func(l *eventlog.Log) {
		for range 5000 { // 1000 a second: spans of 1, 2 and 4 s
			l.Emit(eventlog.RedisUp{})
			time.Sleep(time.Millisecond)
		}
		for range 600 { // 50 a second: those of the first second or two may be held back
			l.Emit(eventlog.RedisUp{})
			time.Sleep(20 * time.Millisecond)
		}
	})
	single := 0
	for _, line := range got {
		if !strings.Contains(line, `"count"`) {
			single++
		}
	}
	if single < 3*100+500 {
		t.Errorf("%d single lines", single)
	}
}

func TestCloseWritesTheSummaryAndLiftsTheLimit(t *testing.T) {
	got := lines(t, eventlog.Options{}, func(l *eventlog.Log) {
		for range 103 {
			l.Emit(eventlog.RedisUp{})
		}
		l.Close()
		for range 200 {
			l.Emit(eventlog.RedisUp{})
		}
	})
	if len(got) != 301 || !strings.Contains(got[100], `"count":3}`) {
		t.Errorf("%d lines, want 100, a summary that counts 3, and 200", len(got))
	}
}

func TestLinesFromManyGoroutinesStayWhole(t *testing.T) {
	var buf bytes.Buffer
	log := eventlog.New(&buf, eventlog.Options{Level: eventlog.Debug})
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 250 {
				log.Emit(eventlog.LeaseRenewed{Session: fmt.Sprintf("%d/%d", g, i), Version: int64(i)})
			}
		})
	}
	wg.Wait()
	log.Close()
	seen := make(map[string]bool)
	for l := range strings.Lines(buf.String()) {
		var got struct {
			Session string `json:"endpoint_id"`
		}
		mustDecode(t, l, &got)
		seen[got.Session] = true
	}
	if len(seen) != 2000 {
		t.Errorf("%d of 2000 lines arrived", len(seen))
	}
}

// stalled takes nothing until it is let go.
type stalled struct {
	release chan struct{}
	bytes.Buffer
}

func (s *stalled) Write(p []byte) (int, error) {
	<-s.release
	return s.Buffer.Write(p)
}

func TestAStalledReaderStopsNobodyAndIsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &stalled{release: make(chan struct{})}
		log := eventlog.New(w, eventlog.Options{Level: eventlog.Debug})
		long := strings.Repeat("x", 500)
		start := time.Now()
		const n = 20_000 // at over 500 bytes more than the queue holds
		for range n {
			log.Emit(eventlog.LeaseRenewed{Session: long, Version: 1})
		}
		log.Close()
		if waited := time.Since(start); waited != time.Second {
			t.Errorf("20,000 lines and Close took %s, want the one second that Close waits", waited)
		}
		close(w.release)
		synctest.Wait()
		written := strings.Count(w.String(), "lease.renewed")
		var dropped struct {
			Count int `json:"count"`
		}
		for l := range strings.Lines(w.String()) {
			if strings.Contains(l, "log.dropped") {
				mustDecode(t, l, &dropped)
			}
		}
		if got := log.Lost(); got != uint64(dropped.Count) {
			t.Errorf("%d lines count as lost, and %d were reported", got, dropped.Count)
		}
		if dropped.Count == 0 || written+dropped.Count != n {
			t.Errorf("%d written and %d reported as dropped, want %d together", written, dropped.Count, n)
		}
	})
}

// sizes records how long each write was.
type sizes struct{ longest, calls int }

func (s *sizes) Write(p []byte) (int, error) {
	s.longest = max(s.longest, len(p))
	s.calls++
	if p[len(p)-1] != '\n' {
		return 0, errors.New("not a whole line")
	}
	return len(p), nil
}

// Whatever an event carries, its line is valid JSON below 4 kB with the ID intact.
func TestAnyValueGivesAShortLineWithTheIDIntact(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		id := rapid.StringN(1, 512, 512).Draw(rt, "id")
		text := strings.Repeat(rapid.StringN(1, 20, -1).Draw(rt, "text"), rapid.IntRange(1, 500).Draw(rt, "times"))
		bad := text + "\xff\xfe"
		events := []eventlog.Event{
			eventlog.LeaseLost{Session: id, Version: -1 << 63, Reason: bad, Holder: text},
			eventlog.PollFailed{Session: id, Version: 1 << 62, Class: text, Err: errors.New(bad), Failures: 1 << 62},
			eventlog.SessionInvalid{Session: id, Key: bad, Reason: text},
			eventlog.ActorFailed{Actor: id, Reason: text, Stack: bad},
			eventlog.NodeStarting{Version: text, Settings: map[string]string{"A": text, "B": bad, "C": text, "D": bad, "E": text}},
		}
		e := events[rapid.IntRange(0, len(events)-1).Draw(rt, "event")]
		var buf bytes.Buffer
		log := eventlog.New(&buf, eventlog.Options{InstanceID: strings.Repeat(`"`, 160)})
		log.Emit(e)
		log.Close()
		if buf.Len() >= 4000 {
			rt.Fatalf("the line has %d bytes", buf.Len())
		}
		var got struct {
			Session string `json:"endpoint_id"`
		}
		mustDecode(t, buf.String(), &got)
		switch e.(type) {
		case eventlog.ActorFailed, eventlog.NodeStarting:
		default:
			if got.Session != id {
				rt.Fatalf("the ID is %q, want %q", got.Session, id)
			}
		}
	})
}

func TestTheWorstIDFitsWhole(t *testing.T) {
	id := strings.Repeat("\x01", 512)
	got := lines(t, eventlog.Options{Level: eventlog.Debug, InstanceID: strings.Repeat(`"`, 157)}, func(l *eventlog.Log) {
		l.Emit(eventlog.PollFailed{Session: id, Version: 1 << 62, Class: "connect_error", Err: errors.New(strings.Repeat("e", 5000))})
		l.Emit(eventlog.SessionInvalid{Session: strings.Repeat("k", 600), Reason: "ID is too long"})
	})
	var first, second struct {
		Session string `json:"endpoint_id"`
		Reason  string `json:"reason"`
		Error   string `json:"error"`
	}
	mustDecode(t, got[0], &first)
	if first.Session != id || first.Reason != "connect_error" || first.Error == "" || len(got[0]) >= 4000 {
		t.Errorf("%d bytes, reason %q, error %q, ID intact: %t", len(got[0]), first.Reason, first.Error, first.Session == id)
	}
	mustDecode(t, got[1], &second)
	if want := strings.Repeat("k", 509) + "…"; second.Session != want {
		t.Errorf("what can be no ID became %q", second.Session)
	}
}

func TestLongErrorsAreCutBetweenRunes(t *testing.T) {
	got := lines(t, eventlog.Options{}, func(l *eventlog.Log) {
		l.Emit(eventlog.RedisDown{Err: errors.New(strings.Repeat("é", 1000))})
	})
	var line struct {
		Error string `json:"error"`
	}
	mustDecode(t, got[0], &line)
	if len(line.Error) > 1024 || len(line.Error) < 1020 || !utf8.ValidString(line.Error) || !strings.HasSuffix(line.Error, "é…") {
		t.Errorf("the error has %d bytes and ends with %q", len(line.Error), line.Error[len(line.Error)-8:])
	}
}

func TestURLsLoseTheirUserPart(t *testing.T) {
	for in, want := range map[string]string{
		"dial redis://user:pass@h:1/0: refused":         "dial redis://***@h:1/0: refused",
		"redis://:p/a?s#s,w@h:1":                        "redis://***@h:1",
		"redis://u:p@a:1,redis://u:p2@b:2 and no more":  "redis://***@b:2 and no more",
		`Get "https://u:p@h/x": EOF, then http://h/a@b`: `Get "https://***@h/x": EOF, then http://h/a@b`,
		"unix://u:p@/run/redis.sock":                    "unix://***@/run/redis.sock",
		"mail to a@b or redis://h:1":                    "mail to a@b or redis://h:1",
		"://@":                                          "://***@",
	} {
		got := lines(t, eventlog.Options{}, func(l *eventlog.Log) {
			l.Emit(eventlog.RedisDown{Err: errors.New(in)})
			l.Emit(eventlog.SettingsWarning{Reason: in})
		})
		for _, text := range got {
			var line struct{ Error, Reason string }
			mustDecode(t, text, &line)
			if line.Error+line.Reason != want {
				t.Errorf("%q became %q, want %q", in, line.Error+line.Reason, want)
			}
		}
	}
}

func TestWritesToAPipeAreNeverTorn(t *testing.T) {
	w := &sizes{}
	log := eventlog.New(w, eventlog.Options{Level: eventlog.Debug})
	for i := range 5000 {
		log.Emit(eventlog.LeaseRenewed{Session: strings.Repeat("x", i%512), Version: 1})
	}
	log.Close()
	if w.longest > 4096 {
		t.Errorf("a write of %d bytes is more than a pipe takes in one piece", w.longest)
	}
}

func TestTheConsoleEscapesControlCharacters(t *testing.T) {
	got := lines(t, eventlog.Options{Format: eventlog.Console, InstanceID: "a-1-00000001"}, func(l *eventlog.Log) {
		l.Emit(eventlog.SessionAdded{Session: "a\x1b[31m\nb"})
		l.Emit(eventlog.PollFailed{Session: "s", Version: 3, Class: "timeout", Err: errors.New("no answer")})
	})
	if len(got) != 2 {
		t.Fatalf("%d lines, want 2: %q", len(got), got)
	}
	if want := `endpoint_id="a\x1b[31m\nb"`; !strings.Contains(got[0], want) || !strings.Contains(got[0], "session.added session added") {
		t.Errorf("%q lacks %s", got[0], want)
	}
	if want := `error="no answer" duration_ms=0 endpoint_id=s failures=0 reason=timeout version=3`; !strings.Contains(got[1], want) {
		t.Errorf("%q lacks %s", got[1], want)
	}
}

type secretMessage struct{ Password string }

func TestTheActorLibrarysRecordsBecomeLines(t *testing.T) {
	write := func(l *eventlog.Log) {
		log := slog.New(l.SlogHandler()).With("system", "s").WithGroup("g")
		log.Info("[DeadLetter]", slog.Any("message", &secretMessage{Password: "hunter2"}), slog.Any("event", "x"),
			slog.Int64("throttled", 3), slog.Duration("lag", time.Second), slog.Any("error", errors.New("redis://u:p@h")))
		log.Error("[ACTOR]", slog.String("reason", strings.Repeat("r", 9000)))
	}
	if got := lines(t, eventlog.Options{InstanceID: "a-1-00000001"}, write); len(got) != 1 {
		t.Errorf("%d lines at info, want the error only: %q", len(got), got)
	}
	got := lines(t, eventlog.Options{Level: eventlog.Debug, InstanceID: "a-1-00000001"}, write)
	if len(got) != 2 {
		t.Fatalf("%d lines, want 2: %q", len(got), got)
	}
	want := `{"time":"2000-01-01T00:00:00.000Z","level":"debug","event":"actor.system","message":"[DeadLetter]",` +
		`"instance_id":"a-1-00000001","system":"s","msg_type":"*eventlog_test.secretMessage","attr_event":"x",` +
		`"throttled":3,"lag_ms":1000,"error":"redis://***@h"}` + "\n"
	if got[0] != want {
		t.Errorf("line\n%swant\n%s", got[0], want)
	}
	if !strings.Contains(got[1], `"level":"error"`) || len(got[1]) > 1400 {
		t.Errorf("a line of %d bytes: %.200s", len(got[1]), got[1])
	}
}

func TestAnObserverHearsOfEveryEventWhateverTheLevel(t *testing.T) {
	var heard []eventlog.Event
	o := eventlog.Options{Level: eventlog.Error, Observe: func(e eventlog.Event) { heard = append(heard, e) }}
	got := lines(t, o, func(l *eventlog.Log) {
		for _, e := range eventlog.All() {
			l.Emit(e)
		}
		for range 200 { // beyond what a second may have
			l.Emit(eventlog.LeaseRenewed{Session: "s"})
		}
	})
	if want := len(eventlog.All()) + 200; len(heard) != want {
		t.Errorf("%d events were heard of, want %d", len(heard), want)
	}
	if len(got) != 4 { // node.failed, node.fenced, result.fenced, actor.failed
		t.Errorf("%d lines at error: %q", len(got), got)
	}
}

func TestLinesAreCountedByTheirLevel(t *testing.T) {
	var log *eventlog.Log
	lines(t, eventlog.Options{}, func(l *eventlog.Log) {
		log = l
		for range 150 { // 50 of them fall to debug, which is not written
			l.Emit(eventlog.MemberExpired{})
		}
		l.Emit(eventlog.LeaseRenewed{})
		l.Emit(eventlog.NodeFenced{})
		slog.New(l.SlogHandler()).Error("[ACTOR]")
	})
	want := map[eventlog.Level]uint64{eventlog.Info: 1, eventlog.Warn: 100, eventlog.Error: 2} // info: the summary
	for _, level := range eventlog.Levels() {
		if got := log.Lines(level); got != want[level] {
			t.Errorf("%d lines at %s, want %d", got, level, want[level])
		}
	}
	if log.Lost() != 0 {
		t.Errorf("%d lines lost", log.Lost())
	}
}

func BenchmarkEmit(b *testing.B) {
	log := eventlog.New(&sizes{}, eventlog.Options{Level: eventlog.Debug, InstanceID: "node-1764288000000000000-0a1b2c3d"})
	for b.Loop() {
		log.Emit(eventlog.LeaseRenewed{Session: "6f1d3a52-0000-4000-8000-000000000001", Version: 7})
	}
	log.Close()
}

func BenchmarkEmitBelowTheLevel(b *testing.B) {
	log := eventlog.New(&sizes{}, eventlog.Options{})
	for b.Loop() {
		log.Emit(eventlog.LeaseRenewed{Session: "6f1d3a52-0000-4000-8000-000000000001", Version: 7})
	}
	log.Close()
}

func BenchmarkEmitObserved(b *testing.B) {
	var heard int
	log := eventlog.New(&sizes{}, eventlog.Options{Observe: func(eventlog.Event) { heard++ }})
	b.ReportAllocs()
	for b.Loop() {
		log.Emit(eventlog.LeaseRenewed{Session: "6f1d3a52-0000-4000-8000-000000000001", Version: 7})
	}
	log.Close()
}
