// Package poller is the actor that polls one session while its lease is held.
//
// # Owns
//
// The timer of the next slot and the one poll in flight of one session under one
// grant. A new grant gets a new poller.
//
// # Invariants
//
//   - At most one poll is in flight.
//   - Before each poll, holder, token, due time and the absence of another poll
//     are checked in Redis, by the script that records the start.
//   - No poll starts once the lease cell is not usable, and one in flight is
//     canceled when the cell ends: its context comes from the cell.
//   - The actor ends only when no poll is in flight: after Terminated nothing is
//     sent and nothing runs. So it is then that the lease may be given back.
//   - A poll waits for its host's turn first, where hosts are bounded, then for a place
//     among the polls of the node, and is checked in Redis only then: slots that pass
//     meanwhile are skipped, and none piles up.
//   - A panic in a poll is a failed poll.
//
// # Not promised
//
// A target may go on working on a request that was canceled.
//
// # On failure
//
// A failed poll leaves the due time and is retried with a growing gap, kept in
// Redis for the whole fleet. If Redis does not answer, the poll does not start
// and is tried again. A poll whose lease was lost ends, and its result is refused
// by the fence.
//
//	        tick, usable          done, wait
//	 ┌─────────────────► running ───────────┐
//	 │                      │               ▼
//	waiting ◄───────────────┼─────────── waiting
//	 │  tick, not usable    │ Stop: the poll ends by itself; Abort: canceled
//	 ▼                      ▼
//	blocked ── Resume ──► …  └──► ended (Terminated)
package poller
