// Package cell holds one lease's deadline where the poller, the renewer and the
// leaseholder can all see it, so that safety never waits for a message.
//
// # Owns
//
// The trusted deadline of one grant, and the context of everything that may only
// happen under it.
//
// # Invariants
//
//   - [Cell.Context], and what [Cell.Use] returned, is canceled no later than the
//     trusted deadline, by the cell's own timer: nobody has to do anything for it.
//   - [Cell.Usable] is false from the deadline on, on the monotonic clock and on
//     the wall clock, whichever ends first: the monotonic clock of Linux stands
//     still while the machine sleeps.
//   - A cell that has ended, by either clock, never lives again; [Cell.Extend] then
//     answers false.
//   - Only the renewer moves a cell's deadline. It goes back only where the lease
//     gets a shorter TTL, and then before Redis hears of it.
//
// # Not promised
//
// That a process which the operating system froze ends its poll in time: the
// timer fires when the process runs again. The check in Redis before each poll,
// the token in the request and the fenced result cover that.
//
// # On failure
//
// A renewal that failed suspends the cell: polls in flight go on within the
// trust that is left, new ones do not start until a renewal succeeds.
package cell
