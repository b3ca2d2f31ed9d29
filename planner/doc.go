// Package planner says which node should own which session.
//
// # Owns
//
// The preference of sessions and nodes for each other, and the division of all
// sessions among all live nodes.
//
// # Invariants
//
//   - With N nodes and S sessions each node gets ⌊S/N⌋ sessions; the S mod N nodes
//     that rank highest among themselves get one more.
//   - The division is the one stable matching: there is no session and node that
//     both would rather have each other than what they got.
//   - It depends on the names alone, not on their order nor on what was before:
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
// The highest weight alone leaves shares to chance. So sessions and nodes are
// matched as in "College admissions and the stability of marriage" (Gale and
// Shapley, American Mathematical Monthly 69(1), 1962), with the shares as quotas.
// Both sides here go by the same weights, so their deferred acceptance has just one
// possible result, and taking the pairs from the heaviest down gives it without
// ever taking one back.
//
// # Not promised
//
// The fewest moves. A node that joins or leaves moves its own sessions and those
// that make room or fill up for it: with up to eight nodes of 30 sessions or more
// less than 1.6 times what the shares force. The factor grows with the number of
// nodes and falls with the sessions a node has: 100 nodes with 100 sessions each
// came to 1.9 times, with 1,000 each to 1.3.
//
// That all nodes see the same members at the same moment: leases decide, the plan
// only prefers. Names must differ from each other; with duplicates the shares still
// hold, but which of the equals gets what depends on their order.
//
// # On failure
//
// Nothing here fails. All functions are pure and may be called from any goroutine.
package planner
