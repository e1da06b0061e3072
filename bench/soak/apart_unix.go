//go:build unix

package main

import "syscall"

// apart gives the server a process group of its own, so that a signal that
// goes to the wrong group by mistake spares the soak, which can tell of it.
func apart() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
