//go:build unix

package transport

import (
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"syscall"
)

// listenPrivately makes the socket with the mode 0600 from the beginning. The
// mask is the whole process's, so it must be called before anything else runs.
func listenPrivately(path string) (net.Listener, error) {
	mask := syscall.Umask(0o177)
	defer syscall.Umask(mask)
	l, err := net.Listen("unix", path)
	if err != nil {
		return nil, err
	}
	return ownSocket(l.(*net.UnixListener), path)
}

// socket removes its file at the end if the file is still its own: another
// server may have been given the path meanwhile.
type socket struct {
	*net.UnixListener
	path  string
	file  os.FileInfo
	close func() error // once: when it is closed, its number may be another file's
}

func ownSocket(l *net.UnixListener, path string) (net.Listener, error) {
	l.SetUnlinkOnClose(false)
	file, err := os.Lstat(path)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("socket: %w", err), l.Close())
	}
	s := &socket{UnixListener: l, path: path, file: file}
	s.close = sync.OnceValue(s.end)
	return s, nil
}

// Close ends listening.
func (s *socket) Close() error { return s.close() }

func (s *socket) end() error {
	// The file goes first: nobody can take the path as long as we listen.
	if now, err := os.Lstat(s.path); err == nil && os.SameFile(now, s.file) {
		_ = os.Remove(s.path) // one that stays is removed as stale
	}
	return s.UnixListener.Close()
}

// isRefused reports whether nobody listens where a connection was tried.
func isRefused(err error) bool { return errors.Is(err, syscall.ECONNREFUSED) }
