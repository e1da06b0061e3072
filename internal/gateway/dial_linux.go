package gateway

import (
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// boundSilence has a connection break when what was sent is not acknowledged for so long:
// while something is under way the kernel asks for no sign of life, and would wait for a
// quarter of an hour.
func boundSilence(silence time.Duration) func(network, address string, conn syscall.RawConn) error {
	return func(_, _ string, conn syscall.RawConn) (err error) {
		set := func(fd uintptr) {
			err = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(silence.Milliseconds()))
		}
		if failed := conn.Control(set); failed != nil {
			return failed
		}
		return err
	}
}
