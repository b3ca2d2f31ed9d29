package sim

import (
	"slices"
	"strconv"
	"time"

	"leasehold/internal/nodetest"
)

// receipt is what became of a poll's result.
type receipt struct {
	poll     *nodetest.Poll
	at       string // the start that begin recorded, in ms
	canceled bool   // a result that nobody waits for
	recorded bool   // in the state
	streamed bool
}

// patience is how long after a poll's end its result may be on its way in a calm.
const patience = time.Second

// reported returns the receipt that the finish which runs is about, nil if there is none.
func (j *judge) reported(l *ledger) *receipt {
	const started = 12 // of finish's arguments
	token, args := j.running.caller(0).token, j.running.args
	if j.running.name != "finish" || len(args) <= started {
		return nil
	}
	for _, r := range slices.Backward(l.receipts) {
		if r.at == args[started] && strconv.FormatInt(int64(r.poll.Token), 10) == token {
			return r
		}
	}
	return nil
}

// over takes in how a poll ended: a target that is deaf says later that nobody canceled it.
func (l *ledger) over(p *nodetest.Poll) {
	for _, r := range l.receipts {
		if r.poll == p {
			r.canceled = p.Canceled
		}
	}
}

// lost checks that the result of each poll that ended since a moment was recorded, unless
// it died with its process or data was changed under it. A task whose run was not recorded
// is run again, which is judged by its slots.
func (j *judge) lost(l *ledger, since time.Time) {
	if ever, _ := j.facts.task(l.id); ever {
		return
	}
	until := j.now().Add(-patience)
	for _, r := range l.receipts {
		p := r.poll
		if r.canceled || p.Over.Before(since) || p.Over.After(until) || j.still(p.Instance, p.Over) {
			continue
		}
		if _, changed := j.byData(l, p.Start)(); changed {
			continue
		}
		if !r.recorded {
			j.convict(l, "result", "that of the poll of %s at %s was not recorded", p.Instance, clock(p.Start))
		} else if !r.streamed {
			j.convict(l, "result", "that of the poll of %s at %s is not in the stream", p.Instance, clock(p.Start))
		}
	}
}
