package check_test

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"leasehold/lease"
	"leasehold/target"
	"leasehold/test/fleet/check"
)

const leaseTTL = 3 * time.Second

// renewed is the healthy history with deadlines: each lease is renewed every second, at
// whole seconds.
func renewed() check.History {
	h := healthy()
	for i, s := range h.Leases {
		h.Leases[i].Until = s.At.Truncate(time.Second) + leaseTTL
	}
	return h
}

// silence takes away the renewals of a node from the moment on.
func silence(node string, from time.Duration) func(*check.History) {
	return leases(func(s *check.LeaseSample) {
		if s.Holder == node && s.At >= from {
			s.Until = min(s.Until, from.Truncate(time.Second)+leaseTTL)
		}
	})
}

var termChecks = map[string]func(check.History) check.Verdict{
	"closed":       func(h check.History) check.Verdict { return check.FailClosed(h, 200*ms, 180) },
	"outlasted":    func(h check.History) check.Verdict { return check.Outlasted(h, 500*ms, 200*ms, 180) },
	"acquisitions": func(h check.History) check.Verdict { return check.Acquisitions(h, whole, 3000) },
	"idle":         func(h check.History) check.Verdict { return check.Idle(h, ids(), whole, 1200*ms, 3000) },
}

func TestHealthyTermsPass(t *testing.T) {
	for name, run := range termChecks {
		if err := run(renewed()).Err(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err := run(check.History{}).Err(); err == nil || !strings.Contains(err.Error(), "not enough") {
			t.Errorf("%s of nothing: %v", name, err)
		}
	}
	if v := check.FailClosed(healthy(), 200*ms, 1); v.Evidence != 0 {
		t.Errorf("%d polls are judged without deadlines", v.Evidence)
	}
}

// Who gives a lease back at once is in no sample, and yet a node told of it.
func TestAnAcquisitionBetweenTwoSamplesIsTakenFromTheLogs(t *testing.T) {
	h := renewed()
	leases(func(s *check.LeaseSample) {
		if s.Session == "s5" && s.At >= 15*interval {
			s.Token += 3
		}
	})(&h)
	for token := int64(151); token <= 152; token++ {
		h.Logged = append(h.Logged, check.Acquisition{Session: "s5", Token: lease.Token(token)})
	}
	if err := check.Acquisitions(h, whole, 3000).Err(); err != nil {
		t.Error(err)
	}
}

func TestWrongTermsFail(t *testing.T) {
	for name, c := range map[string]struct {
		check string
		spoil func(*check.History)
		n     int
		want  check.Violation
		text  string
	}{
		"polls after the last renewal's deadline": {
			"closed", silence("n2", 10*interval),
			3 * 6,
			check.Overdue{},
			`"s2": poll by n2 (token 120, 14.02s to 14.12s), 1.02s after its lease's deadline at 13s`,
		},
		"a poll that lasts up to its lease's deadline": {
			"outlasted", func(h *check.History) {
				silence("n2", 17*interval)(h) // the deadline is 20 s
				edit("s2", 17, func(p *target.Record) { p.To = 20 * interval })(h)
				drop("s2", 18, 19)(h)
			},
			1,
			check.Outlasting{},
			`"s2": poll by n2`,
		},
		"a token that falls": {
			"acquisitions", leases(func(s *check.LeaseSample) {
				if s.Session == "s5" && s.At >= 15*interval {
					s.Token--
				}
			}),
			1,
			check.Jump{},
			`"s5": n2 (token 149) at 15s follows n2 (token 150) at 14.95s`,
		},
		"a token that rises by two": {
			"acquisitions", leases(func(s *check.LeaseSample) {
				if s.Session == "s5" && s.At >= 15*interval {
					s.Token += 2
				}
			}),
			1,
			check.Jump{},
			"token 152",
		},
		"a token that rises by three, of which one is told of": {
			"acquisitions", func(h *check.History) {
				leases(func(s *check.LeaseSample) {
					if s.Session == "s5" && s.At >= 15*interval {
						s.Token += 3
					}
				})(h)
				h.Logged = []check.Acquisition{{Session: "s5", Token: 151}, {Session: "s4", Token: 152}}
			},
			1,
			check.Jump{},
			"token 153",
		},
		"a new holder with the old token": {
			"acquisitions", leases(func(s *check.LeaseSample) {
				if s.Session == "s5" && s.At >= 15*interval {
					s.Holder = "n0"
				}
			}),
			1,
			check.Jump{},
			"n0 (token 150)",
		},
		"a holder that does not poll": {
			"idle", leases(func(s *check.LeaseSample) {
				if s.Session == "s5" && s.At >= 15*interval && s.At < 15*interval+1300*ms {
					s.Holder = "n0"
				}
			}),
			1,
			check.IdleHolder{},
			`"s5": n0 holds the lease and does not poll for more than 1.2s from 15s`,
		},
		"a holder that stops polling": {
			"idle", drop("s8", 9),
			1,
			check.IdleHolder{},
			"n2",
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := renewed()
			c.spoil(&h)
			v := termChecks[c.check](h)
			if len(v.Violations) != c.n {
				t.Fatalf("%d violations, want %d: %v", len(v.Violations), c.n, v.Violations)
			}
			if got := v.Violations[0]; reflect.TypeOf(got) != reflect.TypeOf(c.want) {
				t.Errorf("a %T, want a %T", got, c.want)
			}
			if !strings.Contains(v.Err().Error(), c.text) {
				t.Errorf("error %q does not say %q", v.Err(), c.text)
			}
		})
	}
}

// A successor's deadline excuses nobody.
func TestADeadlineIsThatOfThePollersOwnTerm(t *testing.T) {
	h := renewed()
	add(target.Record{Session: "s0", Instance: "n0", Token: 100, From: 15 * interval, To: 15*interval + ms})(&h)
	v := check.FailClosed(h, 200*ms, 180)
	if len(v.Violations) != 1 || v.Violations[0].(check.Overdue).Until != 12*interval {
		t.Errorf("%v", v.Violations)
	}
}

func TestTermsThatAreAllowed(t *testing.T) {
	for name, c := range map[string]struct {
		check  string
		change func(*check.History)
	}{
		"a poll within the tolerance": {
			"closed", func(h *check.History) {
				silence("n2", 17*interval)(h) // the deadline is 20 s
				edit("s2", 19, func(p *target.Record) { p.From = 20*interval + 200*ms })(h)
			},
		},
		"a lease that was taken again by its holder": {
			"acquisitions", leases(func(s *check.LeaseSample) {
				if s.Session == "s5" && s.At >= 15*interval {
					s.Token++
				}
			}),
		},
		"a poll that lasts": {
			"idle", func(h *check.History) {
				edit("s8", 8, func(p *target.Record) { p.To = p.From + 2*interval })(h)
				drop("s8", 9, 10)(h)
			},
		},
		"a lease that nobody has": {
			"idle", func(h *check.History) {
				drop("s8", 9, 10)(h)
				leases(func(s *check.LeaseSample) {
					if s.Session == "s8" && s.At > 9*interval && s.At < 11*interval {
						s.Holder, s.Token = "", 0
					}
				})(h)
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := renewed()
			c.change(&h)
			v := termChecks[c.check](h)
			v.Need = 1
			if err := v.Err(); err != nil {
				t.Error(err)
			}
		})
	}
}
