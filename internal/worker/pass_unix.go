//go:build unix

package worker

import (
	"net"
	"os"
	"syscall"
)

// pass writes a frame with descriptors, of which the peer gets copies.
func (c *conn) pass(frame []byte, descriptors []*os.File) error {
	if len(descriptors) == 0 {
		return c.write(frame)
	}
	fds := make([]int, len(descriptors))
	for i, file := range descriptors {
		fds[i] = int(file.Fd())
	}
	n, _, err := c.stream.(*net.UnixConn).WriteMsgUnix(frame, syscall.UnixRights(fds...), nil)
	if err != nil || n == len(frame) {
		return err
	}
	return c.write(frame[n:])
}
