// Package nodetest runs whole nodes in a bubble of virtual time: every actor,
// go-redis, the scripts and the events, over an in-memory Redis whose links can
// fail, against a target that remembers every poll.
package nodetest
