//go:build unix && !linux

package demo

import "syscall"

// attributes keep the terminal's Ctrl-C from the node, which the demo stops in its
// turn. If the demo is killed, a node ends with its next log line: nobody reads it.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}
