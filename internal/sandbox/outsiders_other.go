//go:build !linux

package sandbox

import (
	"log/slog"
	"net"
)

// Outsiders returns the listener: elsewhere the wall itself keeps code from it, or there
// is none.
func Outsiders(l net.Listener, _ *slog.Logger) net.Listener { return l }
