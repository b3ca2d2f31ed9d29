package httpapi_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"leasehold/httpapi"
	"leasehold/internal/redistest"
	"leasehold/redisevents"
	"leasehold/rediskey"
	"leasehold/redisstore"
)

// timed writes as HTTP/2 does: a deadline is a timer, which ends the stream whether or
// not something is being written then.
type timed struct {
	*follower

	stalls atomic.Bool // the client takes nothing
	timer  *time.Timer
	ends   time.Time // zero: it has no deadline
	reset  chan struct{}
}

func (w *timed) SetWriteDeadline(at time.Time) error {
	if w.timer != nil {
		w.timer.Stop()
	}
	if w.ends = at; !at.IsZero() {
		w.timer = time.AfterFunc(time.Until(at), func() { close(w.reset) })
	}
	return nil
}

func (w *timed) Write(p []byte) (int, error) {
	if w.stalls.Load() {
		<-w.reset
	}
	select {
	case <-w.reset:
		return 0, os.ErrDeadlineExceeded
	default:
		return w.follower.Write(p)
	}
}

// followTimed is follow over HTTP/2, by a server that gives an answer ten seconds.
func (b *bench) followTimed() *timed {
	ctx, leave := context.WithCancel(b.t.Context())
	w := &timed{
		follower: &follower{ResponseRecorder: httptest.NewRecorder(), leave: leave, ended: make(chan struct{})},
		reset:    make(chan struct{}),
	}
	_ = w.SetWriteDeadline(time.Now().Add(10 * time.Second))
	r := httptest.NewRequestWithContext(ctx, "GET", changes, nil)
	r.Host = "localhost"
	go func() {
		defer close(w.ended)
		b.serve.ServeHTTP(w, r)
	}()
	synctest.Wait()
	return w
}

func TestAQuietStreamIsNotResetAndAStalledOneIs(t *testing.T) {
	onChanges(t, func(b *bench, h *hints, stop chan struct{}) {
		quiet, stalled := b.followTimed(), b.followTimed()
		for range 20 { // before, between and after the signs of life
			time.Sleep(5 * time.Second)
			for _, w := range []*timed{quiet, stalled} {
				select {
				case <-w.reset:
					t.Fatalf("reset after %s without a change", w.ends)
				default:
				}
			}
		}
		stalled.stalls.Store(true)
		h.give(redisevents.Gap{Reason: "x"})
		synctest.Wait()
		time.Sleep(10 * time.Second)
		synctest.Wait()
		select {
		case <-stalled.ended:
		default:
			t.Error("who takes nothing keeps a place for ever")
		}
		if got := quiet.news(); !strings.Contains(got, "gap ") {
			t.Errorf("told %q", got)
		}
		close(stop)
		<-quiet.ended
		if left := time.Until(quiet.ends); left <= 0 || left > 10*time.Second {
			t.Errorf("what ends the answer may take %s", left)
		}
		stalled.leave()
		<-stalled.ended
	})
}

// The same on a real server, whose limit is short. A beat comes later than it.
func TestAQuietStreamOverHTTP2OutlivesTheServersLimit(t *testing.T) {
	client := redistest.StartServer(t).Client()
	defer func() { _ = client.Close() }()
	s := httptest.NewUnstartedServer(httpapi.New(httpapi.Config{Leases: &httpapi.Leases{
		Store:    redisstore.New(client, rediskey.Default(), redisstore.Options{Stream: "poll:results"}),
		Loopback: true,
	}}))
	s.Config.ReadTimeout, s.Config.WriteTimeout = 100*time.Millisecond, 100*time.Millisecond
	s.EnableHTTP2 = true
	s.StartTLS()
	defer s.Close()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL+changes, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := s.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.ProtoMajor != 2 {
		t.Fatalf("by %s", resp.Proto)
	}
	_, err = resp.Body.Read(make([]byte, 1))
	if ctx.Err() == nil {
		t.Errorf("the stream ended by itself: %v", err)
	}
}

// A HEAD request is for the header alone: it keeps neither a place nor what is free.
func TestHeadWaitsForNothing(t *testing.T) {
	onChanges(t, func(b *bench, h *hints, stop chan struct{}) {
		r := httptest.NewRequestWithContext(b.t.Context(), http.MethodHead, changes, nil)
		r.Host = "localhost"
		for range 101 { // more than may follow
			w, ended := httptest.NewRecorder(), make(chan struct{})
			go func() {
				defer close(ended)
				b.serve.ServeHTTP(w, r)
			}()
			synctest.Wait()
			select {
			case <-ended:
			default:
				close(stop)
				t.Fatal("it goes on")
			}
			if w.Code != http.StatusOK || w.Header().Get("Content-Type") != "text/event-stream" || w.Body.Len() > 0 {
				t.Fatalf("%d %v %q", w.Code, w.Header(), w.Body)
			}
		}
		if h.open != 0 {
			t.Error("hints are read for nobody")
		}
		began := time.Now()
		b.want(http.StatusOK, http.MethodHead, "/api/v1/sessions?leased=false&wait=30s", "")
		if took := time.Since(began); took > 0 {
			t.Errorf("without a body to fill it waits %s", took)
		}
		b.want(http.StatusUnprocessableEntity, http.MethodHead, changes+"?types=x", "")
		close(stop)
		if got := b.send(http.MethodHead, changes, ""); got.code != http.StatusServiceUnavailable {
			t.Errorf("%d from a node that stops", got.code)
		}
	})
}
