package fleetview_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"testing"

	"leasehold/fleetview"
	"leasehold/lease"
	"leasehold/session"
)

// lateStore has so many sessions, a page of ten each; each call fails so often before
// it is answered.
type lateStore struct {
	mu     sync.Mutex
	n      int
	late   int
	failed map[string]int
}

var errLate = errors.New("late")

func (s *lateStore) answer(call string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failed[call]++
	if s.failed[call] <= s.late {
		return errLate
	}
	return nil
}

func (s *lateStore) Page(_ context.Context, cursor string, _ int) (ids []string, next string, err error) {
	from, _ := strconv.Atoi(cursor)
	for i := from; i < min(from+10, s.n); i++ {
		ids = append(ids, "s"+strconv.Itoa(i), "s"+strconv.Itoa(i)) // a listing may give them twice
	}
	if from+10 < s.n {
		next = strconv.Itoa(from + 10)
	}
	return ids, next, s.answer("page " + cursor)
}

func (*lateStore) Cards(context.Context, []string) ([]*lease.Card, error) { return nil, nil }

func (s *lateStore) Get(_ context.Context, ids []string) ([]session.Document, error) {
	docs := make([]session.Document, len(ids))
	for i, id := range ids {
		docs[i] = session.Document{ID: id, Raw: []byte(`{"kind":"log"}`)}
	}
	return docs, s.answer("get " + fmt.Sprint(ids))
}

func (*lateStore) Inspect(_ context.Context, ids []string) []lease.Inspection {
	return make([]lease.Inspection, len(ids))
}

func (*lateStore) Scan(context.Context, func([]session.Document)) error { return nil }
func (*lateStore) List(context.Context) ([]lease.Member, error)         { return nil, nil }

func TestAllSessionsAreReadOnceAlsoWhenAnswersAreLate(t *testing.T) {
	t.Parallel()
	for _, late := range []int{0, 2} {
		seen := map[string]int{}
		r := fleetview.Reader{Store: &lateStore{n: 95, late: late, failed: map[string]int{}}}
		err := r.Each(t.Context(), func(some []fleetview.Session) error {
			for _, s := range some {
				seen[s.ID]++
			}
			return nil
		})
		if err != nil || len(seen) != 95 {
			t.Errorf("late %d: %d, %v", late, len(seen), err)
		}
		for id, n := range seen {
			if n != 1 {
				t.Errorf("%s: %d times", id, n)
			}
		}
	}
	r := fleetview.Reader{Store: &lateStore{n: 95, late: 3, failed: map[string]int{}}}
	if err := r.Each(t.Context(), func([]fleetview.Session) error { return nil }); !errors.Is(err, errLate) {
		t.Errorf("it never gives up: %v", err)
	}
	mine := errors.New("enough")
	r = fleetview.Reader{Store: &lateStore{n: 95, failed: map[string]int{}}}
	if err := r.Each(t.Context(), func([]fleetview.Session) error { return mine }); !errors.Is(err, mine) {
		t.Errorf("an error of the taker: %v", err)
	}
}
