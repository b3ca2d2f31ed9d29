package httpapi_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// A Redis that takes 100 ms for each reply can do so many requests in time, and no
// more. They get their leases; whoever came too much hears 503 soon, and nothing was
// done.
func TestTooManyRequestsAtOnceAreRefusedBeforeAnythingIsDone(t *testing.T) {
	onBench(t, func(b *bench) {
		const all = 1000
		for i := range all {
			b.put(fmt.Sprintf("s%d", i), external)
		}
		b.want(http.StatusCreated, "POST", s1, asW1) // loads the script
		b.link.Delay(50*time.Millisecond, 0, nil)
		var asking sync.WaitGroup
		replies := make([]reply, all)
		took := make([]time.Duration, all)
		for i := range all {
			asking.Go(func() {
				at := time.Now()
				replies[i] = b.send("POST", fmt.Sprintf("/api/v1/sessions/s%d/lease", i), fmt.Sprintf(`{"holder_id":"h%d"}`, i))
				took[i] = time.Since(at)
			})
		}
		asking.Wait()
		codes := map[int]int{}
		for i, got := range replies {
			codes[got.code]++
			if i == 1 { // is w1's
				continue
			}
			holder := b.holder(fmt.Sprintf("s%d", i))
			if (got.code == http.StatusCreated) != (holder == fmt.Sprintf("h%d", i)) {
				t.Fatalf("h%d: %d %s, while Redis has %q", i, got.code, got.text, holder)
			}
			if got.code == http.StatusServiceUnavailable && retryAfter(got) < 1 {
				t.Errorf("no Retry-After: %s", got.text)
			}
			if took[i] > 3*time.Second {
				t.Errorf("answered after %s", took[i])
			}
		}
		// Two replies each, eight requests at once, for two seconds.
		if n := codes[http.StatusCreated]; n < 60 || codes[http.StatusCreated]+codes[http.StatusServiceUnavailable] < all-1 {
			t.Errorf("answers: %v", codes)
		}
	})
}

// slow is a body that comes to its end late.
type slow struct {
	io.Reader

	after time.Duration
}

func (s *slow) Read(p []byte) (int, error) {
	n, err := s.Reader.Read(p)
	if err == io.EOF {
		time.Sleep(s.after)
	}
	return n, err
}

func TestASlowClientTakesNobodysTurn(t *testing.T) {
	onBench(t, func(b *bench) {
		b.put("s1", external)
		var asking sync.WaitGroup
		for range 100 {
			asking.Go(func() {
				r := httptest.NewRequestWithContext(b.t.Context(), "POST", s1, &slow{Reader: strings.NewReader(asW1), after: 5 * time.Second})
				r.Host = "127.0.0.1"
				b.serve.ServeHTTP(httptest.NewRecorder(), r)
			})
		}
		synctest.Wait()
		at := time.Now()
		b.want(http.StatusCreated, "POST", s1, asW1)
		if took := time.Since(at); took > time.Second {
			t.Errorf("answered after %s", took)
		}
		asking.Wait()
	})
}
