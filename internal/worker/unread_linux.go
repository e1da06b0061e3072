package worker

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// unread reports whether the other side has yet to read some of what was sent.
func (c *conn) unread() bool {
	raw, ok := c.stream.(syscall.Conn)
	if !ok {
		return false
	}
	control, err := raw.SyscallConn()
	if err != nil {
		return false
	}
	left := 0
	_ = control.Control(func(fd uintptr) { left, err = unix.IoctlGetInt(int(fd), unix.TIOCOUTQ) })
	return err == nil && left > 0
}
