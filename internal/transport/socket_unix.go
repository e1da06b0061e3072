//go:build unix

package transport

import (
	"errors"
	"net"
	"syscall"
)

// listenPrivately makes the socket with the mode 0600 from the beginning. The
// mask is the whole process's, so it must be called before anything else runs.
func listenPrivately(path string) (net.Listener, error) {
	mask := syscall.Umask(0o177)
	defer syscall.Umask(mask)
	return net.Listen("unix", path)
}

// isRefused reports whether nobody listens where a connection was tried.
func isRefused(err error) bool { return errors.Is(err, syscall.ECONNREFUSED) }
