package demo

import "syscall"

// attributes keep the terminal's Ctrl-C from the node, which the demo stops in its
// turn, and end the node with the demo however that ends.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
