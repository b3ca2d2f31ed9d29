// Package heartbeat keeps the key by which other nodes know that this one lives.
//
// # Owns
//
// The heartbeat key of one instance, and the knowledge whether it can be trusted. What else
// a node tells the others: that it saw Redis lose data ([TellLoss]).
//
// # Invariants
//
//   - The key is written at least every interval, by a goroutine of its own that
//     waits for nothing else of the node.
//   - The node is fenced once the time of sending the last accepted beat + TTL −
//     margin has passed, also when its first beat fails, and unfenced by the next
//     accepted one.
//   - After Leave the key is not written again.
//
// # Not promised
//
// That Redis removes the key: Leave may have no answer, and then the TTL does it.
//
// # On failure
//
// A beat that failed is tried again after a short, growing wait.
package heartbeat
