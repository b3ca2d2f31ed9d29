// Package httpapi serves a node's health over HTTP.
//
// # Owns
//
// The routes, their statuses and their bodies.
//
// # Invariants
//
//   - /healthz never depends on Redis: an outage must not have a fleet restarted.
//   - /readyz is 200 exactly when every check passes, and names each that fails.
//
// # Not promised
//
// That a ready node holds leases: others may hold all.
//
// # On failure
//
// A check that does not answer in time fails.
package httpapi
