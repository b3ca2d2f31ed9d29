// Package planner says which node should own which session.
//
// # Owns
//
// The preference of sessions and nodes for each other, and the division of all
// sessions among all live nodes.
//
// # Invariants
//
//   - With N nodes and S sessions each node gets ⌊S/N⌋ or ⌈S/N⌉ sessions.
//     A node that is limited to less leaves the rest to the others, as far as these
//     have room.
//   - Nobody gives up more than the shares force: a node keeps what it has up to its
//     share, and the S mod N nodes with one session more are chosen first among those
//     that have more. A fleet that is balanced keeps everything as it is.
//   - What is not kept is divided by the one stable matching: there is no such
//     session and node with room that both would rather have each other.
//   - The division depends on the names and on who has what, not on their order:
//     every node with the same view comes to the same division.
//
// # How
//
// Each name is hashed once with FNV-1a (Fowler, Noll and Vo). A node's weight for a
// session is both hashes mixed by the finaliser of MurmurHash3 (Appleby), as in
// rendezvous hashing (Thaler and Ravishankar, "Using name-based mappings to increase
// hit rates", IEEE/ACM Transactions on Networking 6(1), 1998). Without a finaliser,
// names that differ at the end alone get nearly the same weights, and one node all
// sessions.
//
// The highest weight alone leaves shares to chance. So nodes keep the heaviest of
// their sessions up to their share, and the others and the nodes with room are
// matched as in "College admissions and the stability of marriage" (Gale and
// Shapley, American Mathematical Monthly 69(1), 1962), with the shares as quotas.
// Both sides here go by the same weights, so their deferred acceptance has just one
// possible result, and taking the pairs from the heaviest down gives it without
// ever taking one back.
//
// # Not promised
//
// That all nodes see the same members and holders at the same moment: leases decide,
// the plan only prefers. What a node gives up depends little on it: on its own
// sessions, which it knows, and on whether a rest of one is its own. Names must differ from each other; with duplicates the shares still
// hold, but which of the equals gets what depends on their order.
//
// # On failure
//
// Nothing here fails. All functions are pure and may be called from any goroutine.
package planner
