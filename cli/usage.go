package cli

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"leasehold/config"
	"leasehold/rediskey"
)

// oneID are the arguments of a command that reads documents: one ID at most. What
// stands behind it is often a document, as redis-cli takes it.
func oneID(_ *cobra.Command, args []string) error {
	if len(args) > 1 {
		return errors.New("takes one ID at most: a document is read from a file (-f FILE) or from standard input (-f -)")
	}
	return nil
}

// noID are the arguments of the list of sessions, for who means one of them.
func noID(_ *cobra.Command, args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("takes no ID: -l KEY=VALUE, --state and --owner say which sessions are listed; to show one: leasehold sessions get %s",
			rediskey.Display(config.Quoted(args[0])))
	}
	return nil
}
