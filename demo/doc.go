// Package demo shows a whole fleet at work on one machine: a Redis, a poll target,
// several nodes as processes of their own, and a running account of what they do.
//
// # Owns
//
// The embedded Redis and the poll target, which end with it; the processes of the
// nodes; the session documents and all other keys under the demo's own prefix.
//
// # Invariants
//
//   - A node is the same program with the same settings as in a real fleet, and gets
//     nothing of the user's environment but where certificates are.
//   - What is said about polls comes from the target's own record, never from a node.
//   - In a Redis of the user's, no key outside of a new random prefix is read or
//     written, and no key of the demo stays behind: they are removed at the end, and
//     run out by themselves if the demo is killed. Notification flags that the nodes
//     had to add are taken away again.
//   - No node outlives the demo. On Linux the kernel sees to that even if the demo is
//     killed. Elsewhere a node then dies of its next log line, which it writes as
//     soon as the embedded Redis is missed.
//
// # Not promised
//
// That many sessions are polled often: the whole fleet shares the machine, so that
// polls become rarer as there are more sessions. The embedded Redis bears only
// [MaxSessionsEmbedded].
//
// # On failure
//
// A node that does not start ends the demo with what it said. Later the demo goes on
// with the nodes that are left, and ends when none is.
package demo
