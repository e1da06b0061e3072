//go:build !linux

package connect

import "fmt"

// shorten refuses a path that the system does not take for a socket.
func shorten(path string) (short string, done func(), err error) {
	if len(path) > maxSocketPath {
		return "", nil, fmt.Errorf("the path of the socket, %s, is longer than the %d bytes that the system takes; choose a shorter path", path, maxSocketPath)
	}
	return path, func() {}, nil
}
