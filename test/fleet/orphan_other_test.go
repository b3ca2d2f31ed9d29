//go:build !linux

package fleet

import "syscall"

func ownProcess() *syscall.SysProcAttr { return nil }
