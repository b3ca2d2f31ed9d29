// Package sim runs whole fleets in virtual time under faults that are drawn from a
// seed, and judges them by what the poll target saw and what Redis holds.
package sim
