// Package gate bounds how many do something at once. Who waits costs no goroutine: a
// node that starts with 100,000 sessions has that many polls waiting.
//
// # Owns
//
// The places of each [Gate], and the line of those who wait for one.
//
// # Invariants
//
//   - No more places are taken at once than the gate has.
//   - First come, first served.
//   - Who was told to wait is called once, when he has his place, unless he left before.
//
// # Not promised
//
// That who waits is called on a goroutine of his own: it is that of who left.
package gate
