//go:build !unix

package demo

import (
	"os"
	"syscall"
)

// attributes are none here.
func attributes() *syscall.SysProcAttr { return nil }

// askToStop ends the node: there is no way to ask it.
func askToStop(p *os.Process) { _ = p.Kill() }
