// Package tree holds the rules that every actor of a node obeys.
//
// # Owns
//
// The props of an actor: its supervision, its guard, its mailbox, and how it works
// asynchronously.
//
// # Invariants
//
//   - A failed actor is stopped, never restarted, resumed or escalated: its parent
//     hears of it by Terminated and makes a new one under a new name. (A restart
//     would keep the name, and a message to a name may reach a later incarnation.)
//   - A panic in a life-cycle handler is recovered and reported: without the guard
//     it resurrects an actor that is stopping, or keeps its parent from ending.
//   - A mailbox is unbounded, keeps the order of each sender, and takes next to no memory
//     while it is empty: a node has two actors for each of its sessions.
//   - An actor's context never leaves its goroutine. [Async] captures the address
//     and sends the answer as a message.
//
// # On failure
//
// Every panic is reported once, with its stack, to the function given to [Props].
package tree
