// Package emulator makes an embedded miniredis announce changes of keys as a real
// Redis does, so that demos and tests can live on events. No production store: a
// node never falls back to it.
//
// # Owns
//
// The server's pre-hook, its clock (ClockTTL on), and the answers to
// CONFIG GET and SET of notify-keyspace-events and to INFO server and replication,
// none of which miniredis has.
//
// # Invariants
//
//   - Flags work as in Redis: none are set at the start, and nothing is announced
//     that they do not cover. Keyspace comes before keyevent.
//   - A key that runs out is announced within 20 ms of its deadline; a change by a
//     command within about 2 ms of it; a change by a direct call on the miniredis
//     value within Options.Sweep, or at Sync.
//   - FLUSHDB, FLUSHALL and Restart announce nothing.
//   - It costs nothing while nothing happens, but for one sweep per Options.Sweep,
//     and works on the real clock and in a bubble of virtual time. Close leaves no
//     goroutine behind.
//
// # How
//
// The hook sees each command, those of scripts included, before it runs, and notes
// what it would announce under which condition. A millisecond later a goroutine
// plays the notes against its picture of the keys, announces what took effect, and
// compares the picture with the data. What differs twice, 10 ms apart, is announced
// as set, del or expired.
//
// # Not promised
//
// Events of failed commands other than conditional ones (wrong type, wrong number
// of arguments) may be announced, and commands inside MULTI are announced when
// they are queued. SWAPDB and MOVE show as the difference that they make. Event names for lists, sets, sorted sets and streams are rough.
//
// # On failure
//
// A subscriber that does not read blocks miniredis, and so the emulator.
package emulator
