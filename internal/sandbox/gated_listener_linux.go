package sandbox

import (
	"errors"
	"log/slog"
	"net"
	"os"
	"sync"

	"golang.org/x/sys/unix"

	"understudy/internal/proc"
)

// RefuseSandboxed returns a listener that takes no connections of code in the sandbox: a Unix
// socket of the server's that code may have the right to open, as the server's user, and
// that no layer keeps it from. All that code starts descends from this process, which
// adopts orphans. Connections whose process has ended are not taken either: it may have
// left them to others.
func RefuseSandboxed(l net.Listener, log *slog.Logger) net.Listener {
	return &gatedListener{Listener: l, log: log}
}

type gatedListener struct {
	net.Listener
	log  *slog.Logger
	told sync.Once
}

func (l *gatedListener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if pid, ok := peerOf(conn); ok && isOutsider(pid) {
			return conn, nil
		}
		_ = conn.Close()
		l.told.Do(func() {
			l.log.Warn("code in the sandbox tries to use the server's own socket; it gets no answer, and this is not told again")
		})
	}
}

// peerOf returns the process that made a connection, 0 for one of elsewhere, as on the
// host of a container.
func peerOf(conn net.Conn) (pid int, ok bool) {
	it, isUnix := conn.(*net.UnixConn)
	if !isUnix {
		return 0, true
	}
	raw, err := it.SyscallConn()
	if err != nil {
		return 0, false
	}
	var peer *unix.Ucred
	var failed error
	err = raw.Control(func(fd uintptr) {
		peer, failed = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	})
	if err != nil || failed != nil {
		return 0, false
	}
	return int(peer.Pid), true
}

// isOutsider reports whether a process is there and doesn't descend from this one.
func isOutsider(pid int) bool {
	if pid == 0 || pid == os.Getpid() {
		return true
	}
	if errors.Is(unix.Kill(pid, 0), unix.ESRCH) {
		return false
	}
	const tries = 10
	for range tries { // a parent may end while it is looked for, and its child gets another
		if above, known := hasAbove(pid, os.Getpid()); known {
			return !above
		}
	}
	return false
}

// hasAbove reports whether a process descends from another, if that can be told. One
// that can't be seen is another user's, as root's where /proc is for one's own only.
func hasAbove(pid, ancestor int) (above, known bool) {
	for pid > 1 {
		p, ok := proc.Read(pid)
		if !ok {
			return false, errors.Is(unix.Kill(pid, 0), unix.EPERM)
		}
		if p.Parent == ancestor {
			return true, true
		}
		pid = p.Parent
	}
	return false, true
}
