package transport

import "net"

// listenPrivately makes the socket with the rights of its directory: Windows
// has no modes.
func listenPrivately(path string) (net.Listener, error) { return net.Listen("unix", path) }
