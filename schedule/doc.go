// Package schedule says when a session is due for its next poll.
//
// # Owns
//
// The rhythm: slots counted from start to start, what an overrun and a failure do
// to it, and the spreading of many sessions over their interval.
//
// # Invariants
//
//   - Starts of successful polls are never closer than 0.95 intervals, and, as long
//     as every poll starts on time and ends within its interval, never further
//     apart than 1.02 intervals.
//   - A start that is late by no more than a twentieth of the interval keeps the
//     grid, so that small delays don't add up. Any later start begins a new grid.
//   - A poll that overruns drops the slots that it covered; the slot at the very
//     moment of its end counts as covered. There is never a burst.
//   - With each success the next slot moves toward the session's own phase, only
//     ever later and by no more than a fiftieth of the interval. Within 75 rounds on
//     time it is reached (50 where the interval is long enough for the millisecond
//     not to matter), and then kept exactly, for intervals of 100 ms or more. So sessions that started together
//     spread over the interval by their [Offset].
//   - A failure leaves the due time as it is; the retry comes 1, 2, 4 … s after the
//     end of the failed poll, but at most an interval after it.
//   - All times that come out are whole milliseconds, as Redis keeps them.
//
// # Not promised
//
// That a poll starts when it is due: that is up to the holder and the script that
// records the start. Intervals are rounded up to whole milliseconds.
//
// # On failure
//
// Nothing here fails: intervals of zero or less count as one millisecond, ends
// before their starts as no time, sums of absurd times as the largest there are.
// All times are of one clock, the Redis server's. All functions are pure and may be
// called from any goroutine.
package schedule
