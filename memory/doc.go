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
//     less than a third: the most of it are sessions at rest. One that fills up, as in a
//     start, may double, whatever its size.
//
// # Not promised
//
// A bound on the memory of the process: that is GOMEMLIMIT's.
package memory
