package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"leasehold/config"
	"leasehold/eventlog"
)

// node is what one node is made from.
type node struct {
	cfg      config.Config
	instance string
	log      *eventlog.Log
	// stderr is for what a person must read when a start fails.
	stderr io.Writer
}

// nodeRunner runs a node until it has stopped by itself or has handed back its
// leases after stop was closed. Before it is closed, stop holds one value, which
// names the reason.
type nodeRunner func(ctx context.Context, stop <-chan string, n node) exitCode

// runNode is the nodeRunner of the program.
func runNode(ctx context.Context, stop <-chan string, n node) exitCode {
	client, err := newRedis(n.cfg)
	if err != nil {
		fmt.Fprintf(n.stderr, "leasehold: %v\n", err)
		return exitUsage
	}
	defer func() { _ = client.Close() }() // nothing is left to lose
	if err := firstContact(ctx, stop, client); errors.Is(err, errStopped) {
		return exitOK
	} else if err != nil {
		fmt.Fprint(n.stderr, explainNoContact(n.cfg, err))
		return exitFailure
	}
	<-stop
	return exitOK
}
