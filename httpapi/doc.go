// Package httpapi serves a node's health, the leases of the fleet and its state over
// HTTP, and describes itself.
//
// # Owns
//
// The routes, their statuses and their bodies, and who may use them.
//
// # Invariants
//
//   - /healthz never depends on Redis: an outage must not have a fleet restarted.
//   - /readyz is 200 exactly when every check passes, and names each that fails.
//   - Leases are taken, renewed and released by the scripts that the nodes run, and
//     by nothing else. What may be leased is judged as the nodes judge it.
//   - A renewal or a release acts on one grant. Where a request names no version it is
//     that of the moment of asking; what changes after that is lost, not repeated.
//   - A request may be repeated when its answer was lost: the same holder gets the
//     same version again, and a lease that is released stays so.
//   - expires_at is never later than Redis ends the lease, by the node's clock.
//   - A status has one meaning. 404: not there, or lost. 409: held by another. 503:
//     unknown, so neither free nor lost.
//   - Few requests talk to Redis at a time, so that the node's own calls find a
//     connection. Whoever waits too long for a turn gets a 503, and nothing was done.
//     Who waits for a server of several that hangs takes no turns of others, and what
//     can't be read there is unknown by itself.
//   - However many wait for something free, or follow the changes, Redis is asked once
//     for all of them, or once for each kind of sessions that they wait for. Looks at all
//     sessions for one kind take a tenth of the time at most. Nobody is kept waiting when
//     the server is about to stop, and who is slow delays nobody.
//   - The description is made from the routes, and a test holds the server to it.
//   - No secret of a document is shown.
//   - No holder has the form of an instance ID: nobody acts for a node.
//   - An ID in a path is decoded once and never cleaned.
//   - Without a token only programs of this machine get an answer, and browsers never
//     write for a page of another origin.
//
// # Not promised
//
// That a change is told: the stream says where some may be missing. That a ready node
// holds leases: others may hold all. That what is listed as free
// still is. That a listing is complete over a restart of Redis.
//
// # On failure
//
// A check that does not answer in time fails. A panic in a request of the API is a
// 500 and one event.
package httpapi
