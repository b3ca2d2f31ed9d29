package sim

import (
	"strconv"
	"time"
)

// rules are those of a session that has always had the same calendar.
type rules struct {
	calendar
	skip bool          // what was missed
	ttl  time.Duration // of the document's own
}

// grace is how late a slot may be served where what was missed is skipped.
func (r rules) grace() time.Duration { return max(time.Minute, r.ttl) }

// plan is what is known of the slots of a calendar.
type plan struct {
	due   string // the slot that is due; empty: nobody knows
	seen  time.Time
	first time.Time // the slot that was the first one, when nothing was known of others
	done  int64     // the last slot for which a run succeeded, in ms
	ended time.Time // when it did
}

// set takes in when the session is due. What begin makes of it is judged when it begins.
func (p *plan) set(at string, finished bool, now time.Time) {
	if !finished {
		ms, _ := strconv.ParseInt(at, 10, 64)
		p.first = time.UnixMilli(ms)
	}
	if finished || p.due == "" {
		p.due, p.seen = at, now
	}
}

// wish is that a task be run now. Nobody asked where seen is zero.
type wish struct {
	at    string // in ms, as Redis keeps it
	seen  time.Time
	taken bool // by a begin that goes on
}

// asked books a wish.
func (j *judge) asked(l *ledger, at string) {
	if j.running.name != "ask" {
		j.convict(l, "foreign", "%s asked for a run", j.running.name)
	}
	j.saw(l, "run asked for", "", 0)
	l.wish = wish{at: at, seen: j.now()}
}

// taken books that a wish is being granted.
func (j *judge) taken(l *ledger) {
	if j.running.name != "begin" {
		j.convict(l, "run now", "%s forgot what was asked for", j.running.name)
	}
	l.wish.taken = true
}

// kept checks that a wish is forgotten with a start alone.
func (j *judge) kept(l *ledger, cmd string, args []string) {
	if l.wish.taken && (cmd != "HSET" || args[0] != "last") {
		l.wish.taken = false
		j.convict(l, "run now", "what was asked for was forgotten, and nothing begun")
	}
}

// granted checks a start for which somebody asked, and reports whether this is one: also
// when the run before died or failed. Its slot is the moment of the wish.
func (j *judge) granted(l *ledger, slot string, at int64) bool {
	if !l.wish.taken {
		return l.start.wished && l.start.slot == slot
	}
	w := l.wish
	wished, _ := strconv.ParseInt(w.at, 10, 64)
	if w.at != "" && slot != strconv.FormatInt(min(wished, at), 10) { // Redis' clock may have been set back
		j.doubt(l, j.byData(l, w.seen), "run now", "begun for %s, and asked for at %s", slot, w.at)
	}
	l.wish = wish{}
	return true
}

// called checks which slot of a calendar a start serves, unless somebody asked for it.
func (j *judge) called(l *ledger, slot string, at int64, wished bool) {
	if args := j.running.args; wished || len(args) < 7 || args[6] == "" {
		return
	}
	ms, _ := strconv.ParseInt(slot, 10, 64)
	p, s, when := l.plan, l.start, time.UnixMilli(ms)
	suspect := func(from time.Time, wrong func(rules) bool, check, format string, args ...any) {
		data := j.byData(l, from)
		j.doubt(l, func() (string, bool) {
			r, ok := j.facts.calendar(l.id)
			if !ok || !wrong(r) {
				return "another document, or all is well", true
			}
			return data()
		}, check, format, args...)
	}
	// One that skips counts a run that was given back from then on: its slot may be late by now.
	suspect(s.seen, func(r rules) bool { return !r.has(when) && (!r.skip || slot != p.due) }, "calendar", "%s is no slot", when.UTC())
	if p.done > 0 && ms <= p.done {
		suspect(p.ended, func(rules) bool { return true }, "calendar", "the slot %s was served before", when.UTC())
	}
	if p.due != "" && p.due != slot {
		suspect(p.seen, func(r rules) bool { return !r.skip }, "misfire", "the slot %s was due, and %s is served", p.due, slot)
	}
	if late := time.Duration(at-ms) * time.Millisecond; late > time.Minute && s.slot != slot {
		suspect(s.seen, func(r rules) bool { return r.skip && late > r.grace() }, "misfire", "a slot is served %s late, and was to be skipped", late)
	}
}

// punctual checks that each slot since a moment was served in time, or was covered by a
// run that went on. While runs fail they are tried again, within one more period.
func (j *judge) punctual(l *ledger, d sessionDoc, since time.Time, late time.Duration) {
	now := j.now()
	if d.release { // whoever released it stands back
		late += 3 * time.Second
	}
	for slot := d.calendar.next(since); !slot.Add(late).After(now); slot = d.calendar.next(slot) {
		if slot.Before(l.plan.first) {
			continue // of a node whose clock is ahead, after all was forgotten
		}
		until := slot.Add(late)
		served := false
		for _, p := range l.polls {
			switch {
			case p.Start.After(until):
			case !p.Start.Before(slot.Add(-blur)), p.Over.IsZero(), !p.Over.Before(slot):
				served = true
			case !p.OK:
				until = slot.Add(d.calendar.period() + late)
			default:
				until = slot.Add(late)
			}
		}
		if !served && !until.After(now) {
			j.convict(l, "calendar", "the slot %s was not served", slot.UTC())
		}
	}
}
