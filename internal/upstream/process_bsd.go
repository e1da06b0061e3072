//go:build unix && !linux

package upstream

import "syscall"

func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }
