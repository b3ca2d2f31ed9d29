// Package memory keeps a process small that holds much and allocates little.
//
// # Owns
//
// The percentage by which the heap may grow before garbage is collected, where GOGC does
// not set it. GOMEMLIMIT holds besides.
//
// # Invariants
//
//   - A small heap may double, as by Go's default: a node that polls a lot collects no
//     more often for this. A large one, which is a node with many sessions, may grow by
//     a seventh: the most of it are sessions at rest. One that fills up, as in a
//     start, may double, whatever its size.
//
//   - What a start needed besides is given back to the system when a large heap has stood
//     still for ten seconds. Left to itself the runtime takes its time for the last of it.
//
// # Not promised
//
// A bound on the memory of the process: that is GOMEMLIMIT's.
package memory
