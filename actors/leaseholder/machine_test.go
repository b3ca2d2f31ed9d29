package leaseholder

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// phases lists all of them; a new one fails to compile into no row below, so the
// table counts its rows.
var phases = []phase{held, uncertain, ending, lost, releasing, over}

// answer is what a machine in one phase makes of a message.
type answer struct {
	do   action
	then phase
}

type message struct {
	name  string
	event func(m *machine) action
	// answers, by phase in the order of phases.
	answers [6]answer
}

// Where the action is nothing and the phase stays, the message is ignored on
// purpose; why is said beside the row.
var table = []message{
	{
		"release", func(m *machine) action { return m.onRelease(Rebalance) },
		// A second wish adds nothing; a lost or released lease can't be given back.
		[6]answer{
			{finishPoll, ending},
			{finishPoll, ending},
			{nothing, ending},
			{nothing, lost},
			{nothing, releasing},
			{nothing, over},
		},
	},
	{
		"release of a session that must not be polled any more", func(m *machine) action { return m.onRelease(Deleted) },
		[6]answer{
			{cancelPoll, ending},
			{cancelPoll, ending},
			{cancelPoll, ending},
			{nothing, lost},
			{nothing, releasing},
			{nothing, over},
		},
	},
	{
		"abort", func(m *machine) action { return m.onAbort() },
		// It is about a release under way. A lost lease's poll is canceled already.
		[6]answer{
			{nothing, held},
			{nothing, uncertain},
			{cancelPoll, ending},
			{nothing, lost},
			{nothing, releasing},
			{nothing, over},
		},
	},
	{
		"a poll failed", func(m *machine) action { return m.onPollFailed(time.Second) },
		// Once the poller was told to end, its wish to is granted.
		[6]answer{
			{finishPoll, ending},
			{finishPoll, ending},
			{nothing, ending},
			{nothing, lost},
			{nothing, releasing},
			{nothing, over},
		},
	},
	{
		"suspended", func(m *machine) action {
			m.onSuspended()
			return nothing
		},
		// The cell itself keeps polls from starting; the phase is for Resume alone.
		[6]answer{
			{nothing, uncertain},
			{nothing, uncertain},
			{nothing, ending},
			{nothing, lost},
			{nothing, releasing},
			{nothing, over},
		},
	},
	{
		"renewed", func(m *machine) action { return m.onRenewed() },
		// A held lease's poller was never blocked; a later phase starts no poll.
		[6]answer{
			{nothing, held},
			{resumePoll, held},
			{nothing, ending},
			{nothing, lost},
			{nothing, releasing},
			{nothing, over},
		},
	},
	{
		"the cell ended", func(m *machine) action { return m.onCellEnded() },
		// From releasing on nobody works under the cell.
		[6]answer{
			{cancelPoll, lost},
			{cancelPoll, lost},
			{cancelPoll, lost},
			{nothing, lost},
			{nothing, releasing},
			{nothing, over},
		},
	},
	{
		"the poller ended", func(m *machine) action { return m.onPollerEnded() },
		// It ends once, before anything is released.
		[6]answer{
			{giveBack, releasing},
			{giveBack, releasing},
			{giveBack, releasing},
			{end, over},
			{nothing, releasing},
			{nothing, over},
		},
	},
	{
		"released", func(m *machine) action { return m.onReleased() },
		// An answer to nothing that was asked.
		[6]answer{
			{nothing, held},
			{nothing, uncertain},
			{nothing, ending},
			{nothing, lost},
			{endReleased, over},
			{nothing, over},
		},
	},
}

var _ = Describe("a leaseholder's machine", func() {
	for _, row := range table {
		It("answers «"+row.name+"» in every phase", func() {
			for i, p := range phases {
				m := machine{phase: p}
				Expect(answer{row.event(&m), m.phase}).To(Equal(row.answers[i]), "in phase %d", p)
			}
		})
	}

	It("keeps the first reason of a release, unless a later one cancels the poll", func() {
		m := machine{}
		m.onRelease(Shutdown)
		m.onRelease(Rebalance)
		Expect(m.reason).To(Equal(Shutdown))
		m.onRelease(Deleted)
		Expect(m.reason).To(Equal(Deleted))
	})

	It("tells a poll that failed from a poller that did", func() {
		m := machine{}
		m.onPollFailed(7 * time.Second)
		m.onPollerEnded()
		Expect(m.reason).To(Equal(Failure))
		Expect(m.retryIn).To(Equal(7 * time.Second))
		Expect(m.fault).To(BeFalse())

		m = machine{}
		m.onPollerEnded()
		Expect(m.reason).To(Equal(Failure))
		Expect(m.fault).To(BeTrue())
	})

	It("gives no lease back in any order of messages while the poller lives, and reports its end once", func() {
		// Every sequence of six messages, the poller's end among them at any place.
		var walk func(m machine, poller bool, depth, ends int)
		walk = func(m machine, poller bool, depth, ends int) {
			if depth == 0 {
				return
			}
			for _, row := range table {
				if row.name == "the poller ended" && !poller {
					continue
				}
				next, alive, reports := m, poller, ends
				do := row.event(&next)
				if row.name == "the poller ended" {
					alive = false
				}
				switch do {
				case giveBack, end, endReleased:
					if alive {
						Fail("gave up under a living poller")
					}
				case finishPoll, cancelPoll, resumePoll:
					if !alive {
						Fail("told a poller that has ended")
					}
				case nothing:
				}
				if do == end || do == endReleased {
					reports++
				}
				if reports > 1 {
					Fail("reported its end twice")
				}
				walk(next, alive, depth-1, reports)
			}
		}
		walk(machine{}, true, 6, 0)
	})
})
