package results_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"leasehold/eventlog"
	"leasehold/results"
)

// fake is a sink with a plan.
type fake struct {
	lanes int
	do    func(ctx context.Context, m results.Message) error

	mu  sync.Mutex
	got []string
}

func (*fake) Name() string { return "fake" }
func (f *fake) Lanes() int { return f.lanes }
func (f *fake) Deliver(ctx context.Context, m results.Message) error {
	if err := f.do(ctx, m); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.got = append(f.got, m.ID)
	return nil
}

func (f *fake) ids() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]string(nil), f.got...)
}

func at(session string, n int) results.Message {
	return results.Message{ID: fmt.Sprint(session, "/", n), Session: session}
}

// bench runs body in virtual time with a hub before the sinks, and returns the log.
func bench(t *testing.T, body func(h *results.Hub), sinks ...results.Sink) string {
	t.Helper()
	var out bytes.Buffer
	synctest.Test(t, func(t *testing.T) {
		log := eventlog.New(&out, eventlog.Options{})
		body(results.NewHub(t.Context(), log, sinks...))
		log.Close()
	})
	return out.String()
}

func within(d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	context.AfterFunc(ctx, cancel)
	return ctx
}

func hangs(ctx context.Context, _ results.Message) error {
	<-ctx.Done()
	return ctx.Err()
}

func works(context.Context, results.Message) error { return nil }

func TestEverySinkGetsEveryResultInTheOrderOfItsSession(t *testing.T) {
	one, many := &fake{lanes: 1, do: works}, &fake{lanes: 8, do: works}
	bench(t, func(h *results.Hub) {
		for n := range 100 {
			h.Recorded(at(fmt.Sprint("s", n%7), n))
		}
		h.Close(within(time.Second))
		s := h.Stats()
		if s.Recorded != 100 || s.Sinks[0].Delivered != 100 || s.Sinks[1].Delivered != 100 {
			t.Errorf("%+v", s)
		}
	}, one, many)
	for _, f := range []*fake{one, many} {
		last := map[string]int{}
		for _, id := range f.ids() {
			var n int
			session, number, _ := strings.Cut(id, "/")
			_, _ = fmt.Sscan(number, &n)
			if n < last[session] {
				t.Errorf("%s came after %d", id, last[session])
			}
			last[session] = n
		}
	}
}

func TestASinkThatHangsDelaysNobody(t *testing.T) {
	good := &fake{lanes: 1, do: works}
	log := bench(t, func(h *results.Hub) {
		began := time.Now()
		for n := range 5000 {
			h.Recorded(at("s", n))
			if n%500 == 0 {
				synctest.Wait() // the good one takes what it has
			}
		}
		synctest.Wait()
		if took := time.Since(began); took > 0 {
			t.Errorf("it took %s", took)
		}
		s := h.Stats().Sinks
		if s[1].Delivered != 5000 || s[1].Dropped != 0 {
			t.Errorf("the sink that works: %+v", s[1])
		}
		// One is with the sink, the newest wait.
		if s[0].Delivered != 0 || s[0].Queued != 1024 || s[0].Dropped != 5000-1-1024 {
			t.Errorf("the sink that hangs: %+v", s[0])
		}
		h.Close(within(5 * time.Second))
		if took := time.Since(began); took != 5*time.Second {
			t.Errorf("closing took %s", took)
		}
		synctest.Wait()
		if s := h.Stats().Sinks[0]; s.Dropped != 5000 || s.Queued != 0 {
			t.Errorf("after closing: %+v", s)
		}
	}, &fake{lanes: 1, do: hangs}, good)
	if n := strings.Count(log, `"result.dropped"`); n < 2 || n > 3 {
		t.Errorf("%d lines tell of it:\n%s", n, log)
	}
	if !strings.Contains(log, `"sink":"fake","count":1,"error":"the queue is full"`) {
		t.Errorf("the first drop is not told at once:\n%s", log)
	}
}

func TestWhatIsNewPushesOutWhatIsOld(t *testing.T) {
	open := make(chan struct{})
	f := &fake{lanes: 1}
	f.do = func(context.Context, results.Message) error { <-open; return nil }
	synctest.Test(t, func(t *testing.T) {
		open = make(chan struct{})
		h := results.NewHub(t.Context(), nil, f)
		h.Recorded(at("s", 0))
		synctest.Wait()
		for n := 1; n <= 1500; n++ {
			h.Recorded(at("s", n))
		}
		close(open)
		h.Close(within(time.Second))
	})
	ids := f.ids()
	if len(ids) != 1025 || ids[0] != "s/0" || ids[1] != "s/477" || ids[1024] != "s/1500" {
		t.Errorf("%d came, from %v to %v", len(ids), ids[:2], ids[len(ids)-1])
	}
}

func TestLostDeliveriesAreCountedAndToldNowAndThen(t *testing.T) {
	f := &fake{lanes: 1, do: func(context.Context, results.Message) error { return errors.New("status 500") }}
	log := bench(t, func(h *results.Hub) {
		for n := range 60 {
			h.Recorded(at("s", n))
			time.Sleep(1001 * time.Millisecond) // never just when a line is due
		}
		h.Close(within(time.Second))
		if s := h.Stats().Sinks[0]; s.Dropped != 60 {
			t.Errorf("%+v", s)
		}
	}, f)
	lines := strings.Count(log, `"result.dropped"`)
	if lines != 7 { // at 0, 10, … 60 s
		t.Errorf("%d lines:\n%s", lines, log)
	}
	if !strings.Contains(log, `"count":10,"error":"status 500"`) {
		t.Errorf("no line counts ten:\n%s", log)
	}
}

// The sink hangs for good, so no drop comes after those of the burst.
func TestTheLastDropsOfABurstAreToldOfTenSecondsLater(t *testing.T) {
	log := bench(t, func(h *results.Hub) {
		h.Recorded(at("s", 0))
		synctest.Wait()
		for n := 1; n <= 2000; n++ {
			h.Recorded(at("s", n))
		}
		time.Sleep(time.Hour)
		if s := h.Stats().Sinks[0]; s.Dropped != 976 {
			t.Errorf("%+v", s)
		}
	}, &fake{lanes: 1, do: hangs})
	lines := strings.Split(log, "\n") // the end of the test brings one more, of the one in hand
	if len(lines) < 2 ||
		!strings.Contains(lines[0], "00:00:00.000Z") || !strings.Contains(lines[0], `"count":1,"error":"the queue is full"`) ||
		!strings.Contains(lines[1], "00:00:10.000Z") || !strings.Contains(lines[1], `"count":975,"error":"the queue is full"`) {
		t.Errorf("the log tells\n%s", log)
	}
}

func TestNoDropIsToldOfAfterTheEnd(t *testing.T) {
	log := bench(t, func(h *results.Hub) {
		for n := range 2000 {
			h.Recorded(at("s", n))
		}
		h.Close(within(time.Second))
		time.Sleep(time.Hour) // the one in hand fails meanwhile
		if s := h.Stats().Sinks[0]; s.Dropped != 2000 {
			t.Errorf("%+v", s)
		}
	}, &fake{lanes: 1, do: func(ctx context.Context, m results.Message) error {
		_ = hangs(ctx, m)
		time.Sleep(time.Second)
		return ctx.Err()
	}})
	lines := strings.Split(strings.TrimSpace(log), "\n")
	if len(lines) != 2 || !strings.Contains(lines[1], "00:00:01.000Z") || !strings.Contains(lines[1], `"error":"the node stops"`) {
		t.Errorf("the log tells\n%s", log)
	}
}

func TestAHubOfNobodyCounts(t *testing.T) {
	var none *results.Hub
	none.Recorded(at("s", 1))
	none.Fenced()
	none.Close(t.Context())
	h := results.NewHub(t.Context(), nil)
	h.Recorded(at("s", 1))
	h.Fenced()
	h.Close(t.Context())
	if s := h.Stats(); s.Recorded != 1 || s.Fenced != 1 || none.Stats().Recorded != 0 {
		t.Errorf("%+v", s)
	}
}

func TestLines(t *testing.T) {
	var b bytes.Buffer
	l := results.NewLines(&b)
	for _, text := range []string{`{"a":1}`, `{"b":2}`} {
		if err := l.Deliver(t.Context(), results.Message{JSON: []byte(text)}); err != nil {
			t.Fatal(err)
		}
	}
	if b.String() != "{\"a\":1}\n{\"b\":2}\n" {
		t.Errorf("%q", b.String())
	}
}
