package membership

import (
	"time"

	"leasehold/lease"
	"leasehold/planner"
	"leasehold/session"
)

// entry is what this node knows of one session.
type entry struct {
	session   *session.Session
	name      planner.Name
	read      time.Time // when its document was read that counts
	since     time.Time // when it was first known as one to poll
	touchedAt time.Time // when it was last heard that its document was written, or went

	// owner is who should have the session by the plan, since ownedAt.
	owner   string
	ownedAt time.Time

	// wakeAt and wakeWhy are the appointment that counts.
	wakeAt  time.Time
	wakeWhy trigger
	peeking trigger // its lease is being looked at, since this node would claim it

	// holder is the other who had the lease when last heard of, until heldUntil.
	holder    string
	heldUntil time.Time
	freedAt   time.Time // when an event said that it went
	givenUpAt time.Time // when its holder deleted it, until another has it
	// ranOutOf is the node whose lease ran out by an event, until somebody has it.
	ranOutOf string

	// unbounded is a holder whose lease has no expiry, seen since then.
	unbounded      string
	unboundedSince time.Time

	// oursUntil is how long, once the lease is lost, it is believed that this node was the
	// last holder: later another may have come and gone. Zero while it is held.
	oursUntil time.Time
	// surplusAt is when the plan last gave the session, held here, to another.
	surplusAt time.Time
	// keptUntil is how long it is not given up for its owner, who let it pass.
	keptUntil time.Time
	// ledAt is when somebody was last known to have the lease; zero: nobody ever was.
	ledAt time.Time
	// notBefore keeps this node from claiming: it stands back, or backs off.
	notBefore time.Time
	failures  int // leaseholders in a row that ended by a fault
	// doubtUntil is how long this node may have the lease by a claim without an answer.
	doubtUntil time.Time

	// Together they take one word: there is an entry for each session of the fleet.
	mine    bool // owner is this node
	foreign bool // a key of the session has a foreign type
	// orphan says that the lease that ran out last may have been of a node that went, until
	// somebody has it.
	orphan bool
	ours   bool // this node was the last known holder
}

func newEntry(s *session.Session, read time.Time) *entry {
	return &entry{session: s, name: planner.NewName(s.ID), read: read, since: read, touchedAt: read}
}

// ask is an acquire in flight. It belongs to the session's ID, not to its entry:
// a document that was removed and put again must not lead to a second one.
type ask struct {
	why trigger
	ttl time.Duration // as sent, whatever the document says by now
	// freed says that an event told of the lease's end meanwhile: an answer that
	// another has it may be older.
	freed bool
}

// own books that this node has the lease.
func (e *entry) own(now time.Time) {
	e.ours, e.oursUntil, e.ledAt, e.givenUpAt = true, time.Time{}, now, time.Time{}
}

// lose books that this node lost the lease, which somebody had at led for all that is
// known. The session counts as its own until then.
func (e *entry) lose(led, now, until time.Time) {
	e.ours, e.oursUntil, e.ledAt = now.Before(until), until, later(e.ledAt, led)
}

// stillOurs reports whether nobody can have had the lease after this node.
func (e *entry) stillOurs(now time.Time) bool {
	return e.ours && (e.oursUntil.IsZero() || now.Before(e.oursUntil))
}

// doubtful reports whether this node may have the lease and not know it.
func (e *entry) doubtful(now time.Time) bool { return now.Before(e.doubtUntil) }

// free forgets who held the lease.
func (e *entry) free() {
	e.holder, e.heldUntil = "", time.Time{}
	e.unbounded, e.unboundedSince = "", time.Time{}
}

// heldBy books another holder. It returns when a new attempt makes sense; zero
// when none is known.
func (e *entry) heldBy(holder string, remaining, ttl time.Duration, now time.Time) time.Time {
	e.ours, e.holder, e.freedAt, e.givenUpAt, e.ledAt = false, holder, time.Time{}, time.Time{}, now
	if remaining != lease.NoExpiry {
		e.unbounded, e.unboundedSince = "", time.Time{}
		e.heldUntil = now.Add(remaining)
		return e.heldUntil.Add(touchAfter)
	}
	if e.unbounded != holder {
		e.unbounded, e.unboundedSince = holder, now
	}
	e.heldUntil = e.unboundedSince.Add(abandonedAfter(ttl))
	return e.heldUntil.Add(touchAfter)
}

// abandoned returns the holder whose lease without expiry may be taken over.
// A live holder's renewal restores the expiry within half a TTL.
func (e *entry) abandoned(ttl time.Duration, now time.Time) string {
	if e.unbounded == "" || now.Before(e.unboundedSince.Add(abandonedAfter(ttl))) {
		return ""
	}
	return e.unbounded
}

// abandonedAfter is how long a lease without expiry must have gone unrenewed to
// be taken over: its holder's trust ended half a TTL ago.
func abandonedAfter(ttl time.Duration) time.Duration { return ttl + ttl/2 }

// child is one leaseholder, from its making to its end.
type child struct {
	id      uint64
	session string
	token   lease.Token
	ttl     time.Duration
	// leaving is set once it was told to release, moving if that was for balance.
	leaving, moving bool
	// ended is set when it reported its end, released if the lease was given back.
	ended, released bool
	unheard         bool // the release had no answer
	taken           bool // another had the lease
	forgot          bool // its state went with it
	failure         bool // it was released after a failed poll
	fault           bool // its poller failed
	retryIn         time.Duration
	trusted         time.Time // when its trust ended at the latest
	// aloneFrom is when no poll of a holder before can be in flight any more, though
	// Redis may forget that there was one.
	aloneFrom time.Time
}

// oursUntil is how long a session whose lease was lost counts as its node's own: for a
// margin after the lease was last this node's for sure. A process that was frozen hears
// late of the end. Zero where a poll of the holder before may be in flight, another had
// the lease or may have got it since, or nothing is known.
func (c *child) oursUntil(now time.Time, margin time.Duration) time.Time {
	if c.taken || c.released {
		return time.Time{}
	}
	end := c.trusted
	if end.After(now) {
		end = now
	}
	if end.Before(c.aloneFrom) {
		return time.Time{}
	}
	return end.Add(margin)
}
