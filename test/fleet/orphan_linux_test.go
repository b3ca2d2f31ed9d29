package fleet

import "syscall"

// ownProcess has the kernel end a node whose test process has died, as by a timeout,
// in which no cleanup runs.
func ownProcess() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
