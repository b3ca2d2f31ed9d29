package check

import (
	"fmt"
	"strings"
	"time"

	"leasehold/lease"
	"leasehold/target"
)

// Overlap is two polls of one session in flight at once.
type Overlap struct {
	First, Second target.Record
	For           time.Duration
}

// StaleToken is a poll that started after one of the same session with a newer token.
type StaleToken struct{ Poll, Newer target.Record }

// SharedToken is one token of one session in the hands of two instances.
type SharedToken struct{ First, Second target.Record }

// Unnamed is a poll without an instance or a token.
type Unnamed struct{ Poll target.Record }

// WrongOwner is a poll whose lease another had, in every sample near its start.
type WrongOwner struct {
	Poll target.Record
	Near []LeaseSample
}

// Gap is a stretch without a poll that is longer than the bound.
type Gap struct {
	Session         string
	From, To, Bound time.Duration
}

// Late is a session that was not polled again in time; First is zero if it was not
// polled at all.
type Late struct {
	Session             string
	After, Bound, First time.Duration
}

// Count is a session that was polled too often or not often enough.
type Count struct {
	Session        string
	Got, Low, High int
}

// TooSoon is a poll that followed a successful one by less than the least distance.
type TooSoon struct {
	First, Second target.Record
	Least         time.Duration
}

// Moved is a session that more than one instance polled.
type Moved struct {
	Session   string
	Instances []string
}

// Reacquired is a session with more than one token.
type Reacquired struct {
	Session string
	Tokens  []lease.Token
}

// Uneven is a round of samples in which one node had more leases above another than
// allowed.
type Uneven struct {
	At     time.Duration
	Counts map[string]int
	Most   int
}

// Unleased is a session whose lease nobody had, or somebody else than the nodes.
type Unleased struct{ Sample LeaseSample }

func poll(p target.Record) string {
	end := short(p.To)
	switch {
	case p.Live:
		end = "still in flight"
	case p.Gone:
		end += ", given up"
	}
	return fmt.Sprintf("%s (token %d, %s to %s)", p.Instance, p.Token, short(p.From), end)
}

func (v Overlap) String() string {
	return fmt.Sprintf("%q: polls by %s and by %s overlap by %s", v.First.Session, poll(v.First), poll(v.Second), short(v.For))
}

func (v StaleToken) String() string {
	return fmt.Sprintf("%q: poll by %s starts after the newer one by %s", v.Poll.Session, poll(v.Poll), poll(v.Newer))
}

func (v SharedToken) String() string {
	return fmt.Sprintf("%q: one token for %s and %s", v.First.Session, poll(v.First), poll(v.Second))
}

func (v Unnamed) String() string {
	return fmt.Sprintf("%q: poll by %q with token %d at %s", v.Poll.Session, v.Poll.Instance, v.Poll.Token, short(v.Poll.From))
}

func (v WrongOwner) String() string {
	near := make([]string, len(v.Near))
	for i, s := range v.Near {
		near[i] = s.String()
	}
	return fmt.Sprintf("%q: poll by %s, but the lease was with %s", v.Poll.Session, poll(v.Poll), strings.Join(near, ", "))
}

func (v Gap) String() string {
	return fmt.Sprintf("%q: no poll for %s, from %s to %s; at most %s", v.Session, short(v.To-v.From), short(v.From), short(v.To), short(v.Bound))
}

func (v Late) String() string {
	if v.First == 0 {
		return fmt.Sprintf("%q: not polled after %s", v.Session, short(v.After))
	}
	return fmt.Sprintf("%q: polled %s after %s; at most %s", v.Session, short(v.First-v.After), short(v.After), short(v.Bound))
}

func (v Count) String() string {
	return fmt.Sprintf("%q: %d polls, not %d to %d", v.Session, v.Got, v.Low, v.High)
}

func (v TooSoon) String() string {
	return fmt.Sprintf("%q: polls by %s and by %s start %s apart; at least %s",
		v.First.Session, poll(v.First), poll(v.Second), short(v.Second.From-v.First.From), short(v.Least))
}

func (v Moved) String() string {
	return fmt.Sprintf("%q: polled by %s", v.Session, strings.Join(v.Instances, ", "))
}

func (v Reacquired) String() string {
	return fmt.Sprintf("%q: tokens %v", v.Session, v.Tokens)
}

func (v Uneven) String() string {
	return fmt.Sprintf("at %s: leases %v differ by more than %d", short(v.At), v.Counts, v.Most)
}

func (v Unleased) String() string {
	return fmt.Sprintf("%q: the lease was with %s", v.Sample.Session, v.Sample)
}

func (Overlap) isViolation()     {}
func (StaleToken) isViolation()  {}
func (SharedToken) isViolation() {}
func (Unnamed) isViolation()     {}
func (WrongOwner) isViolation()  {}
func (Gap) isViolation()         {}
func (Late) isViolation()        {}
func (Count) isViolation()       {}
func (TooSoon) isViolation()     {}
func (Moved) isViolation()       {}
func (Reacquired) isViolation()  {}
func (Uneven) isViolation()      {}
func (Unleased) isViolation()    {}
