package history

import (
	"fmt"
	"time"

	"github.com/anishathalye/porcupine"
)

// clockSlack is how far a token taken from the server's time may be off ours.
const clockSlack = time.Second

// state is one lease as Redis has it.
type state struct {
	holder string // empty: free
	// token is the newest that was given. Where a grant without answer took it from the
	// clock it is higher than this by nobody knows how much: open.
	token   int64
	open    bool
	counter bool
	// deadline is the operation that set it. Loose: that had no answer, so nobody knows
	// when the lease ends.
	deadline int
	loose    bool
}

// Model is one lease with a TTL and a token.
func Model() porcupine.Model {
	m := porcupine.NondeterministicModel{
		Init: func() []any { return []any{state{}} },
		Step: func(s, in, out any) []any {
			return step(s.(state), in.(Op), out.(Answer))
		},
		DescribeOperation: func(in, out any) string { return describe(in.(Op), out.(Answer)) },
		DescribeState:     func(s any) string { return s.(state).String() },
	}

	return m.ToModel()
}

func (s state) String() string {
	holder := s.holder
	if holder == "" {
		holder = "nobody"
	}

	return fmt.Sprintf("%s, token %d (counter %t, open %t, loose %t)", holder, s.token, s.counter, s.open, s.loose)
}

// step returns every state that the lease can be in after the operation was answered
// so: none if it could not have been.
func step(s state, op Op, a Answer) []any {
	var after []any
	for _, before := range s.variants() {
		if a.Known {
			if n, ok := before.apply(op, a); ok {
				after = append(after, n)
			}

			continue
		}
		after = append(after, before)
		if n, ok := before.guess(op); ok {
			after = append(after, n)
		}
	}

	return after
}

// variants is the state, and what it may have become unseen.
func (s state) variants() []state {
	if s.loose {
		return []state{s, s.freed()}
	}

	return []state{s}
}

func (s state) freed() state {
	s.holder, s.deadline, s.loose = "", 0, false

	return s
}

// shows is the state in which the newest token is the one that was seen.
func (s state) shows(token int64) (state, bool) {
	if s.open && token > s.token {
		s.token, s.open = token, false
	}

	return s, s.token == token && !s.open
}

// owned is the state in which the lease is the holder's with the token.
func (s state) owned(op Op) (state, bool) {
	if s.holder != op.Holder {
		return s, false
	}

	return s.shows(op.Token)
}

// apply is what an answered operation leads to, and whether it may be answered so.
func (s state) apply(op Op, a Answer) (state, bool) {
	switch {
	case op.Kind == Expire:
		if s.holder != "" && s.deadline == op.Of {
			return s.freed(), true
		}

		return s, true
	case op.Kind == Wipe:
		s.counter = false

		return s.freed(), true
	case op.Kind == Acquire:
		return s.acquire(op, a)
	case !a.Done:
		return s.refuse(op, a)
	}
	s, ok := s.owned(op)
	if ok && op.Kind == Renew {
		s.deadline, s.loose = op.ID, false
	}
	if ok && op.Kind == Release {
		s = s.freed()
		s.counter = s.counter && !op.Forget
	}

	return s, ok
}

// refuse is what a refused renew, release or verify leads to.
func (s state) refuse(op Op, a Answer) (state, bool) {
	if op.Kind == Release { // it does not tell who has the lease instead
		ours := s.holder == op.Holder && s.token == op.Token && !s.open
		if op.Forget && s.holder == "" {
			s.counter = false
		}

		return s, !ours
	}
	ours := s.holder != "" && s.holder == op.Holder && s.token == op.Token && !s.open

	return s, s.holder == a.Holder && !ours
}

func (s state) acquire(op Op, a Answer) (state, bool) {
	if !a.Done {
		if s.holder == "" || s.holder == op.Holder || s.holder != a.Holder {
			return s, false
		}

		return s.shows(a.Token)
	}
	if a.Already {
		return s.again(op, a)
	}
	if s.holder != "" {
		return s, false
	}
	switch {
	case a.Fresh:
		if s.counter || a.Token <= s.token || !fromClock(a.Token, op) {
			return s, false
		}
		s.token, s.open = a.Token, false
	case !s.counter:
		return s, false
	default:
		var ok bool
		if s, ok = s.shows(a.Token - 1); !ok {
			return s, false
		}
		s.token = a.Token
	}

	return s.taken(op), true
}

// again is an acquire by the holder: the token stays.
func (s state) again(op Op, a Answer) (state, bool) {
	if s.holder != op.Holder || a.Fresh {
		return s, false
	}
	s, ok := s.shows(a.Token)
	s.deadline, s.loose = op.ID, false

	return s, ok
}

func (s state) taken(op Op) state {
	s.holder, s.counter, s.deadline, s.loose = op.Holder, true, op.ID, false

	return s
}

// fromClock reports whether the token is the server's time in microseconds.
func fromClock(token int64, op Op) bool {
	at := time.UnixMicro(token)
	late := max(op.Call, op.Return)

	return !at.Before(time.Unix(0, op.Call).Add(-clockSlack)) && !at.After(time.Unix(0, late).Add(clockSlack))
}

// guess is what an operation without answer did if it took effect.
func (s state) guess(op Op) (state, bool) {
	switch op.Kind {
	case Acquire:
		if s.holder != "" && s.holder != op.Holder {
			return s, false
		}
		if s.holder == "" {
			s.open = s.open || !s.counter
			s.token++
			s = s.taken(op)
		}
	case Renew:
		var ok bool
		if s, ok = s.owned(op); !ok {
			return s, false
		}
	case Release:
		var ok bool
		if s, ok = s.owned(op); ok {
			s = s.freed()
		}
		s.counter = s.counter && (!op.Forget || s.holder != "")

		return s, true
	case Verify, Expire, Wipe: // change nothing, or have an answer
		return s, false
	}
	s.deadline, s.loose = op.ID, true

	return s, true
}
