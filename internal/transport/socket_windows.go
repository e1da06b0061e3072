package transport

import (
	"errors"
	"net"

	"golang.org/x/sys/windows"
)

// listenPrivately makes the socket with the rights of its directory: Windows
// has no modes.
func listenPrivately(path string) (net.Listener, error) { return net.Listen("unix", path) }

// isRefused reports whether nobody listens where a connection was tried.
func isRefused(err error) bool { return errors.Is(err, windows.WSAECONNREFUSED) }
