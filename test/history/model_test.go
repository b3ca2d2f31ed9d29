package history_test

import (
	"strings"
	"testing"
	"time"

	"leasehold/test/history"
)

const ttl = 3 * time.Second

// zero is when the histories begin: the first token is the server's time then.
var zero = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func micros(ms int) int64 { return zero.Add(time.Duration(ms) * time.Millisecond).UnixMicro() }

// story is a history in the making. Operations take from one millisecond to another.
type story struct{ entries []history.Entry }

func (s *story) add(from, to int, op history.Op, a history.Answer) {
	op.ID, op.Session = len(s.entries)+1, "s"
	op.Call = zero.Add(time.Duration(from) * time.Millisecond).UnixNano()
	op.Return = zero.Add(time.Duration(to) * time.Millisecond).UnixNano()
	s.entries = append(s.entries, history.Entry{Op: op, Answer: a})
}

func done() history.Answer { return history.Answer{Known: true, Done: true} }

func refused(by string) history.Answer { return history.Answer{Known: true, Holder: by} }

func (s *story) granted(from, to int, holder string, token int64) {
	a := done()
	a.Token = token
	s.add(from, to, history.Op{Kind: history.Acquire, Holder: holder, TTL: ttl}, a)
}

func (s *story) again(from, to int, holder string, token int64) {
	a := done()
	a.Token, a.Already = token, true
	s.add(from, to, history.Op{Kind: history.Acquire, Holder: holder, TTL: ttl}, a)
}

// first is a grant without a counter before it.
func (s *story) first(from, to int, holder string, token int64) {
	a := done()
	a.Token, a.Fresh = token, true
	s.add(from, to, history.Op{Kind: history.Acquire, Holder: holder, TTL: ttl}, a)
}

// held is b's claim on what a has.
func (s *story) held(from, to int, token int64) {
	a := refused("a")
	a.Token = token
	s.add(from, to, history.Op{Kind: history.Acquire, Holder: "b", TTL: ttl}, a)
}

// renew is a's.
func (s *story) renew(from, to int, token int64, a history.Answer) {
	s.add(from, to, history.Op{Kind: history.Renew, Holder: "a", Token: token, TTL: ttl}, a)
}

func (s *story) release(from, to int, holder string, token int64, a history.Answer) {
	s.add(from, to, history.Op{Kind: history.Release, Holder: holder, Token: token}, a)
}

func (s *story) forget(from, to int, holder string, token int64, a history.Answer) {
	s.add(from, to, history.Op{Kind: history.Release, Holder: holder, Token: token, Forget: true}, a)
}

// verify is a poll of a's.
func (s *story) verify(from, to int, token int64, a history.Answer) {
	s.add(from, to, history.Op{Kind: history.Verify, Holder: "a", Token: token}, a)
}

func (s *story) wipe(from, to int) {
	s.add(from, to, history.Op{Kind: history.Wipe}, done())
}

func TestHistoriesOfALease(t *testing.T) {
	t.Parallel()
	first := micros(1)
	for name, tell := range map[string]func(s *story){
		"taken, renewed, released, taken": func(s *story) {
			s.first(0, 2, "a", first)
			s.verify(10, 11, first, done())
			s.renew(1000, 1001, first, done())
			s.release(1500, 1501, "a", first, done())
			s.granted(1502, 1503, "b", first+1)
		},
		"held by another until it runs out": func(s *story) {
			s.first(0, 2, "a", first)
			s.held(2990, 2991, first)
			s.granted(3010, 3011, "b", first+1)
			s.renew(3012, 3013, first, refused("b"))
		},
		"one of two at once is granted": func(s *story) {
			s.held(0, 10, first)
			s.first(0, 10, "a", first)
		},
		"renewed and taken around its end": func(s *story) {
			s.first(0, 2, "a", first)
			s.renew(2990, 3020, first, refused("b"))
			s.granted(2995, 3010, "b", first+1)
		},
		"taken again by its holder": func(s *story) {
			s.first(0, 2, "a", first)
			s.again(1000, 1001, "a", first)
			s.verify(3500, 3501, first, done())
		},
		"run out, and nobody has taken it": func(s *story) {
			s.first(0, 2, "a", first)
			s.renew(3100, 3101, first, refused(""))
			s.verify(3200, 3201, first, refused(""))
			s.release(3300, 3301, "a", first, refused(""))
		},
		"the counter forgotten": func(s *story) {
			s.first(0, 2, "a", first)
			s.forget(100, 101, "a", first, done())
			s.first(200, 201, "b", micros(200))
		},
		"a second forgetting": func(s *story) {
			s.first(0, 2, "a", first)
			s.release(100, 101, "a", first, done())
			s.forget(150, 151, "b", first, refused(""))
			s.first(200, 201, "b", micros(200))
		},
		"all data lost": func(s *story) {
			s.first(0, 2, "a", first)
			s.wipe(50, 500)
			s.first(600, 601, "b", micros(600))
			s.renew(700, 701, first, refused("b"))
		},
		"a grant without answer that took effect": func(s *story) {
			s.add(0, 0, history.Op{Kind: history.Acquire, Holder: "a", TTL: ttl}, history.Answer{})
			s.held(10, 11, first)
			s.again(20, 21, "a", first)
		},
		"a grant without answer that did not": func(s *story) {
			s.add(0, 0, history.Op{Kind: history.Acquire, Holder: "a", TTL: ttl}, history.Answer{})
			s.first(10, 11, "b", micros(10))
		},
		"a grant without answer between two that were seen": func(s *story) {
			s.first(0, 2, "a", first)
			s.release(10, 11, "a", first, done())
			s.add(20, 0, history.Op{Kind: history.Acquire, Holder: "b", TTL: ttl}, history.Answer{})
			s.granted(4000, 4001, "c", first+2)
		},
		"a renewal without answer that came late": func(s *story) {
			s.first(0, 2, "a", first)
			s.renew(2900, 0, first, history.Answer{})
			s.held(5000, 5001, first)
			s.granted(9000, 9001, "b", first+1)
		},
		"a release without answer": func(s *story) {
			s.first(0, 2, "a", first)
			s.release(100, 0, "a", first, history.Answer{})
			s.held(110, 111, first)
			s.granted(120, 121, "b", first+1)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &story{}
			tell(s)
			if _, err := history.Check(s.entries, 10*time.Second); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestNoLeaseHasTheseHistories(t *testing.T) {
	first := micros(1)
	t.Setenv("TMPDIR", t.TempDir()) // pictures
	for name, tell := range map[string]func(s *story){
		"two grants at once": func(s *story) {
			s.first(0, 2, "a", first)
			s.granted(1000, 1001, "b", first+1)
		},
		"two grants where the first was renewed": func(s *story) {
			s.first(0, 2, "a", first)
			s.renew(1000, 1001, first, done())
			s.granted(3100, 3101, "b", first+1)
		},
		"a token that is not raised": func(s *story) {
			s.first(0, 2, "a", first)
			s.release(10, 11, "a", first, done())
			s.granted(20, 21, "b", first)
		},
		"a token that is raised by two": func(s *story) {
			s.first(0, 2, "a", first)
			s.release(10, 11, "a", first, done())
			s.granted(20, 21, "b", first+2)
		},
		"a token that falls": func(s *story) {
			s.first(0, 2, "a", first)
			s.wipe(10, 11)
			s.first(20, 21, "b", first-1)
		},
		"a token that starts from nowhere": func(s *story) {
			s.first(0, 2, "a", 1)
		},
		"a counter that is forgotten by nobody": func(s *story) {
			s.first(0, 2, "a", first)
			s.release(10, 11, "a", first, done())
			s.first(20, 21, "b", micros(20))
		},
		"a token that another grant to the holder changes": func(s *story) {
			s.first(0, 2, "a", first)
			s.again(20, 21, "a", first+1)
		},
		"a renewal after the end and another's grant": func(s *story) {
			s.first(0, 2, "a", first)
			s.granted(3100, 3101, "b", first+1)
			s.renew(3200, 3201, first, done())
		},
		"a renewal after the end": func(s *story) {
			s.first(0, 2, "a", first)
			s.renew(3100, 3101, first, done())
		},
		"a renewal with an old token": func(s *story) {
			s.first(0, 2, "a", first)
			s.release(10, 11, "a", first, done())
			s.granted(20, 21, "a", first+1)
			s.renew(30, 31, first, done())
		},
		"a renewal refused to the holder": func(s *story) {
			s.first(0, 2, "a", first)
			s.renew(30, 31, first, refused(""))
		},
		"a release of another's lease": func(s *story) {
			s.first(0, 2, "a", first)
			s.release(10, 11, "b", first, done())
		},
		"a release that leaves the lease": func(s *story) {
			s.first(0, 2, "a", first)
			s.release(10, 11, "a", first, done())
			s.verify(20, 21, first, done())
		},
		"a poll that starts without a lease": func(s *story) {
			s.first(0, 2, "a", first)
			s.verify(3100, 3101, first, done())
		},
		"a poll of the former holder": func(s *story) {
			s.first(0, 2, "a", first)
			s.release(10, 11, "a", first, done())
			s.granted(20, 21, "b", first+1)
			s.verify(30, 31, first, done())
		},
		"a lease that ends early": func(s *story) {
			s.first(0, 2, "a", first)
			s.granted(2900, 2901, "b", first+1)
		},
		"a lease that ends late": func(s *story) {
			s.first(0, 2, "a", first)
			s.held(3100, 3101, first)
		},
		"a lease that nobody was granted": func(s *story) {
			s.held(0, 2, first)
		},
		"a renewal without answer that makes a lease": func(s *story) {
			s.first(0, 2, "a", first)
			s.renew(3100, 0, first, history.Answer{})
			s.held(3200, 3201, first)
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := &story{}
			tell(s)
			_, err := history.Check(s.entries, 10*time.Second)
			if err == nil || !strings.Contains(err.Error(), "no lease answers so") {
				t.Fatalf("accepted: %v", err)
			}
			if !strings.Contains(err.Error(), ".html") {
				t.Errorf("no picture is named: %v", err)
			}
		})
	}
}
