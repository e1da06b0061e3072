//go:build unix

package door

import (
	"net"
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"understudy/internal/worker/pipes"
)

// A socket is a datagram socket between the server and a worker. What comes through it are
// connections: the descriptor of one with each datagram. Forked children of the worker's
// have it too.
type socket struct{ conn *net.UnixConn }

// openSocket returns both ends.
func openSocket() (ours socket, theirs *os.File, err error) {
	syscall.ForkLock.RLock() // no child gets them by chance
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_DGRAM, 0)
	if err == nil {
		unix.CloseOnExec(pair[0])
		unix.CloseOnExec(pair[1])
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return socket{}, nil, os.NewSyscallError("socketpair", err)
	}
	theirs = os.NewFile(uintptr(pair[1]), "door")
	file := os.NewFile(uintptr(pair[0]), "door")
	defer file.Close() // FileConn makes a copy
	conn, err := net.FileConn(file)
	if err != nil {
		_ = theirs.Close()
		return socket{}, nil, err
	}
	return socket{conn.(*net.UnixConn)}, theirs, nil
}

// accept returns the next connection. What else the worker's code may send is closed.
func (s socket) accept() (net.Conn, error) {
	for {
		files, err := s.receive()
		if err != nil {
			return nil, err
		}
		conn := connectionOf(files)
		pipes.CloseFiles(files)
		if conn != nil {
			return conn, nil
		}
	}
}

// receive returns the descriptors of the next datagram.
func (s socket) receive() (files []*os.File, err error) {
	space := make([]byte, unix.CmsgSpace(4))
	_, extra, _, _, err := s.conn.ReadMsgUnix(make([]byte, 1), space) // they are closed on exec
	if err != nil {
		return nil, err
	}
	messages, _ := unix.ParseSocketControlMessage(space[:extra]) // none of what is broken
	for _, m := range messages {
		fds, _ := unix.ParseUnixRights(&m)
		for _, fd := range fds {
			// A TCP socket that lingers would have Close wait for as long as the code likes.
			_ = unix.SetsockoptLinger(fd, unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{})
			files = append(files, os.NewFile(uintptr(fd), "request"))
		}
	}
	return files, nil
}

// request is the socket of one. Code that has kept its other descriptors can have reads of
// it block in the kernel, where neither deadline nor Close would reach them: a shutdown
// does.
type request struct{ *net.UnixConn }

func (r request) Close() error {
	_, _ = r.CloseRead(), r.CloseWrite() // who has gone already needs none
	return r.UnixConn.Close()
}

// connectionOf returns a copy of the one stream socket among files, nil if that is not all
// that there is.
func connectionOf(files []*os.File) net.Conn {
	if len(files) != 1 {
		return nil
	}
	conn, err := net.FileConn(files[0])
	if err != nil {
		return nil
	}
	if stream, ok := conn.(*net.UnixConn); ok && stream.LocalAddr().Network() == "unix" {
		return request{stream}
	}
	_ = conn.Close()
	return nil
}

func (s socket) close() { _ = s.conn.Close() }
