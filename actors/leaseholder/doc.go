// Package leaseholder is the actor of one owned session: the life of one lease
// cell, and of the poller that may work under it.
//
// # Owns
//
// One lease cell from the grant to its end, and one poller.
//
// # Invariants
//
//   - There is a poller exactly while the lease is held or uncertain, or while a
//     poll that began then is ending.
//   - The lease is released only after the poller has ended: cancel or finish the
//     poll, wait for its end, release. If it does not end, nothing is released and
//     the TTL runs out.
//   - A refused renewal and the end of trust kill the cell, and with it the poll's
//     context, before this actor hears of it: safety does not ride on messages.
//   - An answer to an older attempt changes nothing: answers are about a cell, and
//     a cell has one grant.
//   - The parent hears Ended before Terminated, unless the leaseholder failed.
//   - The actor never blocks.
//
// # Not promised
//
// That a lease which was given up has gone from Redis: a release without an
// answer is left to its TTL.
//
// # On failure
//
// A poller that failed is not replaced: the lease is given back and the session
// claimed anew, by whoever should have it.
//
//	            no answer
//	  ┌────── ◄─────────── ┐
//	uncertain ──────────► held ── release asked, poller failed ─► ending ─┐
//	  │        renewed      │                                             │ poller ended
//	  │ trust ran out,      │ refused, trust ran out                      ▼
//	  └──────► lost ◄───────┘                                         releasing
//	            │ poller ended                                            │ answered
//	            └───────────► over (reported; the parent stops it) ◄──────┘
package leaseholder
