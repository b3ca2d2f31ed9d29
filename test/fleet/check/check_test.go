package check_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"leasehold/lease"
	"leasehold/target"
	"leasehold/test/fleet/check"
)

const (
	ms       = time.Millisecond
	interval = time.Second
)

var whole = check.Window{To: 20 * interval}

// ids are the nine sessions.
func ids() []string {
	out := make([]string, 9)
	for i := range out {
		out[i] = fmt.Sprintf("s%d", i)
	}
	return out
}

// healthy is a fleet of 3 nodes and 9 sessions over 20 intervals: session i belongs to
// node i mod 3 and is polled once an interval for 100 ms, sampled each 50 ms. Shortly
// before the tenth second session 0 goes from node 0 to node 1 with a new token.
func healthy() check.History {
	var h check.History
	for i, id := range ids() {
		for k := range 20 {
			node, token := owner(i, time.Duration(k)*interval)
			from := time.Duration(k)*interval + time.Duration(i)*10*ms
			h.Polls = append(h.Polls, target.Record{
				Session: id, Instance: node, Token: token, Status: 200, From: from, To: from + 100*ms,
			})
		}
		for at := time.Duration(0); at < whole.To; at += 50 * ms {
			node, token := owner(i, at)
			h.Leases = append(h.Leases, check.LeaseSample{Session: id, Holder: node, Token: token, At: at})
		}
	}
	return h
}

const moveAt = 10*interval - 200*ms

func owner(i int, at time.Duration) (string, lease.Token) {
	if i == 0 && at >= moveAt {
		return "n1", 101
	}
	return fmt.Sprintf("n%d", i%3), lease.Token(100 + 10*i)
}

// find returns the index of the session's nth poll.
func find(h check.History, session string, n int) int {
	for i, p := range h.Polls {
		if p.Session == session {
			if n == 0 {
				return i
			}
			n--
		}
	}
	panic("no such poll")
}

func edit(session string, n int, change func(p *target.Record)) func(*check.History) {
	return func(h *check.History) { change(&h.Polls[find(*h, session, n)]) }
}

func drop(session string, ns ...int) func(*check.History) {
	return func(h *check.History) {
		for k, n := range ns {
			i := find(*h, session, n-k)
			h.Polls = append(h.Polls[:i], h.Polls[i+1:]...)
		}
	}
}

func add(p target.Record) func(*check.History) {
	return func(h *check.History) { h.Polls = append(h.Polls, p) }
}

func leases(change func(s *check.LeaseSample)) func(*check.History) {
	return func(h *check.History) {
		for i := range h.Leases {
			change(&h.Leases[i])
		}
	}
}

// forgotten has a session without a lease and a counter for a while, in the middle of
// which there was a poll with a token that is the time of its grant.
func forgotten(granted time.Duration) func(*check.History) {
	const middle = 7*interval + 125*ms
	return func(h *check.History) {
		leases(func(s *check.LeaseSample) {
			s.Clock = micros(s.At)
			if s.Session == "s5" && (s.At-middle).Abs() < 400*ms {
				s.Holder, s.Token = "", 0
			}
		})(h)
		edit("s5", 7, func(p *target.Record) {
			p.From, p.To, p.Token = middle, middle+ms, micros(granted)
		})(h)
	}
}

// unsampled has session s5 not looked at for a while.
func unsampled(from, to time.Duration) func(*check.History) {
	return func(h *check.History) {
		h.Leases = slices.DeleteFunc(h.Leases, func(s check.LeaseSample) bool {
			return s.Session == "s5" && s.At >= from && s.At < to
		})
	}
}

// micros is a clock that is ahead of all tokens of a healthy history.
func micros(at time.Duration) lease.Token { return lease.Token(1_000_000 + at.Microseconds()) }

var (
	nodes   = []string{"n0", "n1", "n2"}
	settled = check.Window{From: 0, To: moveAt}
)

// Every check with the arguments that the healthy history passes.
var checks = map[string]func(check.History) check.Verdict{
	"overlaps": func(h check.History) check.Verdict { return check.Overlaps(h, 180) },
	"tokens":   func(h check.History) check.Verdict { return check.Tokens(h, 180) },
	"owners":   func(h check.History) check.Verdict { return check.Owners(h, check.OwnerTolerance, 180) },
	"gaps":     func(h check.History) check.Verdict { return check.Gaps(h, ids(), whole, 1200*ms, 180) },
	"resumed": func(h check.History) check.Verdict {
		return check.Resumed(h, ids(), 5*interval-ms, 1200*ms, 9)
	},
	"rhythm": func(h check.History) check.Verdict {
		return check.Rhythm(h, ids(), whole, interval, 200*ms, 180)
	},
	"steady": func(h check.History) check.Verdict { return check.Steady(h, ids(), settled, 90) },
	"once":   func(h check.History) check.Verdict { return check.AcquiredOnce(h, ids(), settled, 9) },
	"spread": func(h check.History) check.Verdict { return check.Spread(h, ids(), nodes, settled, 1, 100) },
}

func TestAHealthyHistoryPasses(t *testing.T) {
	h := healthy()
	for name, run := range checks {
		if err := run(h).Err(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := check.Safety(h, 180); err != nil {
		t.Error(err)
	}
}

func TestOrderDoesNotMatter(t *testing.T) {
	h := healthy()
	rand.Shuffle(len(h.Polls), func(i, k int) { h.Polls[i], h.Polls[k] = h.Polls[k], h.Polls[i] })
	rand.Shuffle(len(h.Leases), func(i, k int) { h.Leases[i], h.Leases[k] = h.Leases[k], h.Leases[i] })
	for name, run := range checks {
		if err := run(h).Err(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Each check must find what is wrong on purpose, name it, and find nothing else.
func TestAWrongHistoryFails(t *testing.T) {
	second := target.Record{Session: "s4", Instance: "n1", Token: 140, Status: 200}
	between := func(from, to time.Duration) target.Record {
		p := second
		p.From, p.To = from, to
		return p
	}
	for name, c := range map[string]struct {
		check string
		spoil func(*check.History)
		want  check.Violation
		n     int
		text  string
	}{
		"a poll that lasts into the next": {
			"overlaps", edit("s3", 4, func(p *target.Record) { p.To = p.From + interval + 50*ms }),
			check.Overlap{},
			1, `"s3": polls by n0 (token 130, 4.03s to 5.08s) and by n0 (token 130, 5.03s to 5.13s) overlap by 50ms`,
		},
		"a poll that lasts over several": {
			"overlaps", edit("s3", 4, func(p *target.Record) { p.To = p.From + 5*interval - ms }),
			check.Overlap{},
			4, "s3",
		},
		"one that never ended": {
			"overlaps", edit("s3", 18, func(p *target.Record) { p.Live, p.To = true, whole.To }),
			check.Overlap{},
			1, "still in flight",
		},
		"one that was given up too late": {
			"overlaps", edit("s3", 4, func(p *target.Record) { p.Gone, p.To = true, p.From+interval+target.GoneGrace+ms }),
			check.Overlap{},
			1, "given up",
		},
		"a second that was given up at once": {
			"overlaps", add(func() target.Record { p := between(4080*ms, 4081*ms); p.Gone = true; return p }()),
			check.Overlap{},
			1, "s4",
		},
		"an old token after a newer one": {
			"tokens", edit("s0", 15, func(p *target.Record) { p.Token, p.Instance = 100, "n0" }),
			check.StaleToken{},
			1, `"s0": poll by n0 (token 100,`,
		},
		"an old token just too late": {
			"tokens", add(target.Record{Session: "s0", Instance: "n0", Token: 100, From: 10*interval + check.Blur + 1}),
			check.StaleToken{},
			1, "s0",
		},
		"each poll of a stale owner": {
			"tokens", func(h *check.History) {
				for k := range 5 {
					add(target.Record{Session: "s0", Instance: "n0", Token: 100, From: time.Duration(11+k) * interval})(h)
				}
			},
			check.StaleToken{},
			5, "s0",
		},
		"one token for two instances": {
			"tokens", edit("s5", 7, func(p *target.Record) { p.Instance = "n0" }),
			check.SharedToken{},
			1, `"s5"`,
		},
		"a poll without a token": {
			"tokens", edit("s5", 7, func(p *target.Record) { p.Token = 0 }),
			check.Unnamed{},
			1, "token 0",
		},
		"a poll by nobody": {
			"tokens", edit("s5", 7, func(p *target.Record) { p.Instance = "" }),
			check.Unnamed{},
			1, `by ""`,
		},
		"a poll by another than the lease's holder": {
			"owners", edit("s5", 7, func(p *target.Record) { p.Instance = "n0" }),
			check.WrongOwner{},
			1, `"s5": poll by n0 (token 150,`,
		},
		"a poll with another token than the lease's": {
			"owners", edit("s5", 7, func(p *target.Record) { p.Token = 149 }),
			check.WrongOwner{},
			1, "token 149",
		},
		"a poll long after the lease moved": {
			"owners", add(target.Record{Session: "s0", Instance: "n0", Token: 100, From: moveAt + 250*ms, To: moveAt + 260*ms}),
			check.WrongOwner{},
			1, "s0",
		},
		"polls while the lease has been free for long": {
			"owners", leases(func(s *check.LeaseSample) {
				if s.Session == "s7" {
					s.Holder = ""
				}
			}),
			check.WrongOwner{},
			20, "nobody",
		},
		"a poll with an old token after an outage": {
			"owners", func(h *check.History) {
				forgotten(7*interval - 400*ms)(h)
				unsampled(6*interval+900*ms, 7*interval+125*ms)(h)
			},
			check.WrongOwner{},
			1, "nobody",
		},
		"a poll with an old token that no sample follows": {
			"owners", func(h *check.History) {
				forgotten(7*interval - 400*ms)(h)
				unsampled(7*interval+125*ms, 7*interval+600*ms)(h)
			},
			check.WrongOwner{},
			1, "nobody",
		},
		"a poll with a token of before the lease was free": {
			"owners", forgotten(7*interval - 400*ms),
			check.WrongOwner{},
			1, "nobody",
		},
		"polls while the lease is free": {
			"owners", leases(func(s *check.LeaseSample) {
				if s.Session == "s7" {
					s.Holder, s.Token = "", 0
				}
			}),
			check.WrongOwner{},
			20, "nobody",
		},
		"a poll left out": {
			"gaps", drop("s8", 9),
			check.Gap{},
			1, `"s8": no poll for 2s, from 8.08s to 10.08s; at most 1.2s`,
		},
		"no first polls":      {"gaps", drop("s8", 0, 1), check.Gap{}, 1, "from 0s"},
		"no last polls":       {"gaps", drop("s8", 18, 19), check.Gap{}, 1, "to 20s"},
		"a session unpolled":  {"gaps", func(h *check.History) { h.Polls = h.Polls[:160] }, check.Gap{}, 1, "no poll for 20s"},
		"a late resumption":   {"resumed", drop("s2", 5, 6), check.Late{}, 1, `"s2": polled 2.021s after 4.999s; at most 1.2s`},
		"no resumption":       {"resumed", func(h *check.History) { h.Polls = h.Polls[:160] }, check.Late{}, 1, "not polled after"},
		"too few polls":       {"rhythm", drop("s8", 5, 6), check.Count{}, 1, `"s8": 18 polls, not 19 to 21`},
		"a poll out of order": {"rhythm", add(between(4300*ms, 4310*ms)), check.TooSoon{}, 2, "260ms apart; at least 800ms"},
		"too many polls": {
			"rhythm", func(h *check.History) {
				for k := range 5 {
					p := between(time.Duration(k)*interval+500*ms, time.Duration(k)*interval+510*ms)
					p.Status = 500
					h.Polls = append(h.Polls, p)
				}
			},
			check.Count{},
			1, "25 polls",
		},
		"a session that changed hands": {
			"steady", edit("s5", 7, func(p *target.Record) { p.Instance = "n0" }),
			check.Moved{},
			1, `"s5": polled by n0, n2`,
		},
		"a poll with a second token": {
			"once", edit("s5", 7, func(p *target.Record) { p.Token = 151 }),
			check.Reacquired{},
			1, `"s5": tokens [150 151]`,
		},
		"a lease with a second token": {
			"once", leases(func(s *check.LeaseSample) {
				if s.Session == "s5" && s.At == interval {
					s.Token = 151
				}
			}),
			check.Reacquired{},
			1, `"s5": tokens [150 151]`,
		},
		"a node with two more": {
			"spread", leases(func(s *check.LeaseSample) {
				if s.Session == "s5" && s.At == interval {
					s.Holder = "n0"
				}
			}),
			check.Uneven{},
			1, "at 1s: leases map[n0:4 n1:3 n2:2] differ by more than 1",
		},
		"a free lease": {
			"spread", leases(func(s *check.LeaseSample) {
				if s.Session == "s5" && s.At == interval {
					s.Holder = ""
				}
			}),
			check.Unleased{},
			1, `"s5": the lease was with nobody`,
		},
		"a stranger": {
			"spread", leases(func(s *check.LeaseSample) {
				if s.Session == "s5" && s.At == interval {
					s.Holder = "n9"
				}
			}),
			check.Unleased{},
			1, "n9",
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := healthy()
			c.spoil(&h)
			v := checks[c.check](h)
			if len(v.Violations) == 0 {
				t.Fatal("nothing found")
			}
			n := 0
			for _, found := range v.Violations {
				if reflect.TypeOf(found) == reflect.TypeOf(c.want) {
					n++
				}
			}
			if n != c.n {
				t.Errorf("%d of %T, want %d: %v", n, c.want, c.n, v.Violations)
			}
			var broken *check.Broken
			if err := v.Err(); !errors.As(err, &broken) || !strings.Contains(err.Error(), c.text) {
				t.Errorf("error %q does not say %q", err, c.text)
			}
		})
	}
}

// What looks wrong and is not.
func TestWhatIsAllowed(t *testing.T) {
	for name, c := range map[string]struct {
		check  string
		change func(*check.History)
	}{
		"a poll given up just before the next": {
			"overlaps", edit("s3", 4, func(p *target.Record) { p.Gone, p.To = true, p.From+interval+target.GoneGrace }),
		},
		"a poll that ends as the next starts": {
			"overlaps", edit("s3", 4, func(p *target.Record) { p.To = p.From + interval }),
		},
		"a poll that was read a little late": {
			"tokens", add(target.Record{Session: "s0", Instance: "n0", Token: 100, From: 10*interval + check.Blur}),
		},
		"a poll just before the lease was seen": {
			"owners", add(target.Record{Session: "s0", Instance: "n1", Token: 101, From: moveAt - 150*ms, To: moveAt}),
		},
		"a lease that came and went between two samples": {
			"owners", func(h *check.History) {
				const free = 7*interval + 500*ms // the session was leased a moment before
				leases(func(s *check.LeaseSample) {
					if s.Session != "s5" || (s.At-free).Abs() > 400*ms {
						return
					}
					s.Holder = ""
					if s.At < free {
						s.Token = 149
					}
				})(h)
				edit("s5", 7, func(p *target.Record) { p.From, p.To = free-10*ms, free-5*ms })(h)
			},
		},
		"a poll with a new token that no sample follows": {
			"owners", func(h *check.History) {
				forgotten(7*interval + 110*ms)(h)
				unsampled(7*interval+125*ms, 7*interval+600*ms)(h)
				add(target.Record{Session: "s0", Instance: "n0", Token: 100, From: 100 * ms})(h) // one more fact
			},
		},
		"a lease of a session that was removed at once, after an outage": {
			"owners", func(h *check.History) {
				forgotten(7*interval + 110*ms)(h)
				unsampled(6*interval+900*ms, 7*interval+125*ms)(h)
			},
		},
		"a lease of a session that was removed at once": {
			"owners", forgotten(7*interval + 110*ms),
		},
		"a longer gap around a fault that allows it": {
			"gaps", func(h *check.History) {
				drop("s8", 9)(h)
				add(target.Record{Session: "s0", From: 100 * ms})(h)
				h.Faults = []check.Fault{{Name: "kill", From: 9 * interval, To: 9 * interval, Allow: interval}}
			},
		},
		"a retry soon after a failure": {
			"rhythm", func(h *check.History) {
				edit("s4", 4, func(p *target.Record) { p.Status = 500 })(h)
				edit("s4", 5, func(p *target.Record) { p.From = 4500 * ms })(h)
			},
		},
		"a second owner outside of the window": {
			"steady", edit("s5", 15, func(p *target.Record) { p.Instance = "n0" }),
		},
		"an incomplete round": {
			"spread", func(h *check.History) {
				h.Leases = append(h.Leases, check.LeaseSample{Session: "s1", Holder: "n0", At: 25 * ms})
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := healthy()
			c.change(&h)
			if err := checks[c.check](h).Err(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestNothingIsNoEvidence(t *testing.T) {
	half := healthy()
	half.Polls, half.Leases = half.Polls[:5], half.Leases[:5]
	for name, run := range checks {
		for what, h := range map[string]check.History{"nothing": {}, "too little": half} {
			v := run(h)
			v.Violations = nil // a session without a poll is one, too
			var few *check.NotEnough
			if err := v.Err(); !errors.As(err, &few) || !strings.Contains(err.Error(), "not enough evidence") {
				t.Errorf("%s of %s: %v", name, what, err)
			}
		}
	}
	if err := check.Overlaps(check.History{}, 0).Err(); err == nil {
		t.Error("no facts at all pass where none are needed")
	}
	if err := check.Gaps(healthy(), ids(), check.Window{To: interval}, 2*interval, 1).Err(); err == nil {
		t.Error("a window shorter than the bound passes")
	}
	if err := check.Rhythm(healthy(), ids(), whole, 0, 0, 1).Err(); err == nil {
		t.Error("a rhythm without an interval passes")
	}
	if err := check.Safety(check.History{}, 1); err == nil || strings.Count(err.Error(), "not enough") != 3 {
		t.Errorf("safety of nothing: %v", err)
	}
}
