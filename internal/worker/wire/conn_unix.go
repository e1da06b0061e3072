//go:build unix

package wire

import (
	"net"
	"os"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// Pass writes a frame with descriptors, of which the peer gets copies.
func (c *Conn) Pass(frame []byte, descriptors []*os.File) error {
	if len(descriptors) == 0 {
		return c.Write(frame)
	}
	fds := make([]int, len(descriptors))
	for i, file := range descriptors {
		fds[i] = int(file.Fd())
	}
	n, _, err := c.stream.(*net.UnixConn).WriteMsgUnix(frame, syscall.UnixRights(fds...), nil)
	if err != nil || n == len(frame) {
		return err
	}
	return c.Write(frame[n:])
}

// ReceiveFirst reads one frame and the descriptors that come with it, which are the
// caller's even with an error. It must be the first to read.
func (c *Conn) ReceiveFirst() (Frame, []*os.File, error) {
	reader := &rightsReader{stream: c.stream.(*net.UnixConn)}
	f, err := Read(reader)
	return f, reader.files, err
}

// mostRights is how many descriptors one frame brings at most.
const mostRights = 8

// rightsReader reads a stream with the descriptors that come with it, which a plain read
// loses. It must read frames alone: it reads no byte more than it is asked for, so that
// what follows is there for the buffered reader.
type rightsReader struct {
	stream *net.UnixConn
	files  []*os.File
}

func (r *rightsReader) Read(p []byte) (int, error) {
	space := make([]byte, unix.CmsgSpace(4*mostRights))
	n, extra, _, _, err := r.stream.ReadMsgUnix(p, space) // they are closed on exec
	if err != nil || extra == 0 {
		return n, err
	}
	messages, err := unix.ParseSocketControlMessage(space[:extra])
	if err != nil {
		return n, err
	}
	for _, m := range messages {
		fds, err := unix.ParseUnixRights(&m)
		if err != nil {
			return n, err
		}
		for _, fd := range fds {
			r.files = append(r.files, os.NewFile(uintptr(fd), "listener"))
		}
	}
	return n, nil
}

// Unread reports whether the other side has yet to read some of what was sent. It is known
// on Linux alone.
func (c *Conn) Unread() bool {
	raw, ok := c.stream.(syscall.Conn)
	if !ok || runtime.GOOS != "linux" {
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
