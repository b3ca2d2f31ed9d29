// Package sim runs whole fleets in virtual time under faults that are drawn from a
// seed, and judges them by what the poll target saw and what Redis holds.
//
// # How
//
// [Draw] makes a [Scenario] of a seed: settings, sessions, and every fault with its
// time, all up front. [Run] plays one in a synctest bubble. Storms of overlapping
// faults alternate with calms, at whose ends everything must have settled.
//
// # Profiles
//
// What an hour of a fleet costs is given by its events, so lengths and intervals
// follow the TTL: dense fleets have TTLs of seconds, sparse ones of minutes. All
// take the same paths.
//
// # What still varies
//
// The same seed gives the same scenario, always. Two runs of it can differ, since Go
// picks at random between ready cases of a select and in the order of a map, proto.actor
// and go-redis do both, and the scheduler orders goroutines that are ready at the
// same virtual instant. Workers run with one P and without asynchronous preemption,
// which leaves little of the last. A failure is therefore repeated several times
// before it counts as gone.
package sim
