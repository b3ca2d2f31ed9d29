// Package keeper is the actor that leases sessions when its process asks for them,
// and has one leaseholder for each. It stands in membership's place where there is no
// plan: the process decides what it wants, and does the work by itself.
//
// # Owns
//
// The leaseholders of what was asked for, and who waits for an answer.
//
// # Invariants
//
//   - One leaseholder for each lease; a new one is made only after Terminated of the
//     one before, and after the answer to a release without one.
//   - A request leads to an attempt. The acquire script decides it; only what is held
//     and trusted already is answered from memory.
//   - Who asked is told that the lease is his once it can be seen to be so, and a
//     lease that nobody waits for any more is given back.
//   - A lease whose release had no answer is never taken up again under its token:
//     Redis may still carry the release out.
//   - After Redis was restarted or replaced, only what this keeper has just lost is
//     taken for one TTL: others may not know yet that theirs have gone. It hears of that
//     by a Gap, or by the name of the server in the answer to a claim, whichever comes
//     first; what it had claimed before is handed back. Just lost is what nobody else
//     can have had since: for a margin from the end of trust.
//   - While it drains nothing is claimed.
//
// # Not promised
//
// That a claim without an answer left nothing in Redis: the lease then runs out, or
// the next request finds it.
//
// That a keeper knows what Redis forgot before it started, unless somebody noted it, or
// from a server that does not say who it is (a cluster's answers do not, nor any where INFO is
// forbidden) before the Gap, which without INFO never says it.
//
// # On failure
//
// A leaseholder that failed is forgotten on Terminated and its lease given back. If
// the keeper fails, everybody who waits gets ErrFailed, and leases run out.
package keeper
