//go:build unix

package demo

import (
	"os"
	"syscall"
)

// askToStop asks a node to drain, and wakes it if it is frozen.
func askToStop(p *os.Process) {
	// An error says that it has ended by itself.
	_ = p.Signal(syscall.SIGTERM)
	_ = p.Signal(syscall.SIGCONT)
}
