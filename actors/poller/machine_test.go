package poller

import (
	"errors"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"leasehold/session"
)

const (
	every = 10 * time.Second
	rest  = 7 * time.Second // what an attempt says of the next slot
)

func doc(interval time.Duration, onFailure session.OnFailure) *session.Session {
	return &session.Session{ID: "s", Interval: interval, OnFailure: onFailure}
}

// The states of a machine, each as it is reached.
func waiting() machine  { return machine{session: doc(every, session.Keep)} }
func yielding() machine { return machine{session: doc(every, session.Release)} }

func with(m machine, change func(*machine)) machine {
	change(&m)
	return m
}

func blocked() machine { return with(waiting(), func(m *machine) { m.blocked = true }) }

func heldOff() machine {
	return with(waiting(), func(m *machine) { m.heldOff, m.later = true, rest })
}

func heldOffLonger() machine {
	return with(waiting(), func(m *machine) { m.heldOff = true })
}

func running() machine  { return with(waiting(), func(m *machine) { m.running = true }) }
func asking() machine   { return with(running(), func(m *machine) { m.ask = true }) }
func stopping() machine { return with(running(), func(m *machine) { m.stopping = true }) }
func ended() machine    { return with(waiting(), func(m *machine) { m.stopping = true }) }

// row is one (state, message) pair. What has no row can't happen: an attempt ends
// only where one runs.
type row struct {
	state   func() machine
	message string
	event   func(m *machine) effect
	want    effect
	then    func() machine
}

func startIn(first, heldOff time.Duration) func(*machine) effect {
	return func(m *machine) effect { return m.onStart(first, heldOff) }
}

func tickWhen(usable bool) func(*machine) effect {
	return func(m *machine) effect { return m.onTick(usable) }
}

func resumeWhen(usable bool) func(*machine) effect {
	return func(m *machine) effect { return m.onResume(usable) }
}

func stopBy(abort bool) func(*machine) effect {
	return func(m *machine) effect { return m.onStop(abort) }
}

func update(interval time.Duration, usable bool) func(*machine) effect {
	return func(m *machine) effect { return m.onUpdate(doc(interval, session.Keep), usable) }
}

func end1(r ran, usable bool) func(*machine) effect {
	return func(m *machine) effect { return m.onRan(&r, usable) }
}

func edited(state func() machine) func() machine {
	return func() machine {
		return with(state(), func(m *machine) { m.session.Interval = time.Minute })
	}
}

func missed(n int) func() machine {
	return func() machine { return with(waiting(), func(m *machine) { m.misses = n }) }
}

func runningMissed(n int) func() machine {
	return func() machine { return with(running(), func(m *machine) { m.misses = n }) }
}

func rows() []row {
	ignored := effect{}
	started := effect{do: start}
	slot := effect{do: arm, wait: rest}
	done := ran{kind: polled, wait: rest}
	fault := ran{kind: deferred, err: errors.New("no answer")}

	return []row{
		{waiting, "tick, usable", tickWhen(true), started, running},
		{waiting, "tick, not usable", tickWhen(false), ignored, blocked},
		{waiting, "resume", resumeWhen(true), ignored, waiting},
		{waiting, "update", update(every, true), ignored, waiting},
		{waiting, "update of the interval, usable", update(time.Minute, true), started, edited(running)},
		{waiting, "update of the interval, not usable", update(time.Minute, false), ignored, edited(blocked)},
		{waiting, "stop", stopBy(false), effect{do: end}, ended},
		{waiting, "stop with abort", stopBy(true), effect{do: end}, ended},

		{waiting, "start", startIn(rest, 0), slot, waiting},
		{waiting, "start, held off for less", startIn(every, every-rest), effect{do: arm, wait: every - rest}, heldOff},
		{waiting, "start, held off for longer", startIn(rest, every), effect{do: arm, wait: every}, heldOffLonger},

		{heldOff, "tick", tickWhen(true), slot, waiting},
		{heldOff, "tick, not usable", tickWhen(false), slot, waiting},
		{heldOff, "resume", resumeWhen(true), ignored, heldOff},
		{heldOff, "update", update(every, true), ignored, heldOff},
		{heldOff, "update of the interval", update(time.Minute, true), ignored, edited(heldOffLonger)},
		{heldOff, "stop", stopBy(false), effect{do: end}, func() machine {
			return with(heldOff(), func(m *machine) { m.stopping = true })
		}},
		{heldOffLonger, "tick", tickWhen(true), started, running},

		{blocked, "tick, usable", tickWhen(true), started, running},
		{blocked, "tick, not usable", tickWhen(false), ignored, blocked},
		{blocked, "resume, usable", resumeWhen(true), started, running},
		{blocked, "resume, not usable", resumeWhen(false), ignored, blocked},
		{blocked, "update", update(every, true), ignored, blocked},
		{blocked, "update of the interval", update(time.Minute, false), ignored, edited(blocked)},
		{blocked, "stop", stopBy(false), effect{do: end}, func() machine {
			return with(blocked(), func(m *machine) { m.stopping = true })
		}},

		{running, "tick", tickWhen(true), ignored, running},
		{running, "resume", resumeWhen(true), ignored, running},
		{running, "update", update(every, true), effect{do: hold}, running},
		{running, "update of the interval", update(time.Minute, true), effect{do: hold}, edited(asking)},
		{running, "stop", stopBy(false), effect{do: hold}, stopping},
		{running, "stop with abort", stopBy(true), effect{do: abort}, stopping},
		{running, "polled", end1(done, true), slot, waiting},
		{running, "polled, failed", end1(ran{kind: polled, wait: rest, failed: true}, true), slot, waiting},
		{running, "not due", end1(ran{kind: notDue, wait: rest}, true), slot, waiting},
		{running, "not due, by less than a timer's tick", end1(ran{kind: notDue}, true), effect{do: arm, wait: time.Millisecond}, waiting},
		{running, "unusable, and usable again", end1(ran{kind: unusable}, true), started, running},
		{running, "unusable", end1(ran{kind: unusable}, false), ignored, blocked},
		{running, "deferred", end1(fault, true), effect{do: arm, wait: 250 * time.Millisecond}, missed(1)},
		{runningMissed(1), "deferred", end1(fault, true), effect{do: arm, wait: 500 * time.Millisecond}, missed(2)},
		{runningMissed(2), "deferred", end1(fault, true), effect{do: arm, wait: time.Second}, missed(3)},
		{runningMissed(3), "deferred", end1(fault, true), effect{do: arm, wait: 2 * time.Second}, missed(4)},
		{runningMissed(1000), "deferred", end1(fault, true), effect{do: arm, wait: 2 * time.Second}, missed(1001)},
		{runningMissed(4), "polled", end1(done, true), slot, waiting},
		{running, "lost", end1(ran{kind: lost}, false), ignored, waiting},

		{asking, "polled", end1(done, true), started, running},
		{asking, "polled, not usable", end1(done, false), ignored, blocked},
		{asking, "not due", end1(ran{kind: notDue, wait: rest}, true), started, running},
		{asking, "deferred", end1(fault, true), effect{do: arm, wait: 250 * time.Millisecond}, missed(1)},
		{asking, "lost", end1(ran{kind: lost}, false), ignored, waiting},

		{stopping, "tick", tickWhen(true), ignored, stopping},
		{stopping, "resume", resumeWhen(true), ignored, stopping},
		{stopping, "stop with abort", stopBy(true), effect{do: abort}, stopping},
		{stopping, "polled", end1(done, true), effect{do: end}, ended},
		{stopping, "polled, failed", end1(ran{kind: polled, failed: true}, true), effect{do: end}, ended},
		{stopping, "not due", end1(ran{kind: notDue}, true), effect{do: end}, ended},
		{stopping, "unusable", end1(ran{kind: unusable}, true), effect{do: end}, ended},
		{stopping, "deferred", end1(fault, true), effect{do: end}, ended},
		{stopping, "lost", end1(ran{kind: lost}, false), effect{do: end}, ended},

		{ended, "tick", tickWhen(true), ignored, ended},
		{ended, "resume", resumeWhen(true), ignored, ended},
		{ended, "update of the interval", update(time.Minute, true), ignored, edited(ended)},
		{ended, "stop", stopBy(false), ignored, ended},
		{ended, "stop with abort", stopBy(true), ignored, ended},

		{
			func() machine { return with(yielding(), func(m *machine) { m.running = true }) },
			"polled, failed, in a session that is released then",
			end1(ran{kind: polled, wait: rest, failed: true}, true),
			effect{do: yield, wait: rest},
			yielding,
		},
		{
			func() machine { return with(yielding(), func(m *machine) { m.running = true }) },
			"polled, in a session that is released on a failure",
			end1(done, true), slot, yielding,
		},
	}
}

var _ = Describe("a poller's machine", func() {
	for _, r := range rows() {
		It("answers «"+r.message+"»", func() {
			m := r.state()
			Expect(r.event(&m)).To(Equal(r.want))
			Expect(m).To(Equal(r.then()))
		})
	}
})

// FuzzMachine runs random events against the machine as the actor would, and
// checks what must hold whatever their order.
func FuzzMachine(f *testing.F) {
	f.Add([]byte{0, 7, 0, 8, 3, 0, 9, 5, 10})
	f.Add([]byte{1, 2, 3, 4, 12, 11, 6})
	f.Fuzz(func(t *testing.T, events []byte) {
		m := waiting()
		attempts, ends, stopAsked := 0, 0, false
		for _, b := range events {
			usable := b&64 != 0
			var e effect
			switch b % 14 {
			case 0, 1:
				e = m.onTick(usable)
			case 2:
				e = m.onResume(usable)
			case 3:
				e = m.onUpdate(doc(time.Duration(b)*time.Second, session.Keep), usable)
			case 4:
				e = m.onUpdate(doc(every, session.Release), usable)
			case 5:
				stopAsked, e = true, m.onStop(false)
			case 6:
				stopAsked, e = true, m.onStop(true)
			default:
				if attempts == 0 {
					continue
				}
				attempts--
				e = m.onRan(&ran{kind: kind(b % 5), wait: rest, failed: b&32 != 0}, usable)
			}
			switch e.do {
			case start:
				attempts++
				if stopAsked {
					t.Fatal("started after stop")
				}
				if !usable {
					t.Fatal("started under a cell that is not usable")
				}
			case hold, abort:
				if attempts != 1 {
					t.Fatal("held an attempt that does not run")
				}
			case end:
				ends++
				if !stopAsked || attempts != 0 {
					t.Fatalf("ended with %d attempts, stop asked %t", attempts, stopAsked)
				}
			case arm, yield:
				if stopAsked || attempts != 0 || e.wait < 0 {
					t.Fatalf("%+v with %d attempts, stop asked %t", e, attempts, stopAsked)
				}
			case nothing:
			}
			if attempts > 1 || ends > 1 {
				t.Fatalf("%d attempts, %d ends", attempts, ends)
			}
		}
		if stopAsked && attempts == 0 && ends != 1 {
			t.Fatalf("stopped, nothing runs, %d ends", ends)
		}
	})
}
