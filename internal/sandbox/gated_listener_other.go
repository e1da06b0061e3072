//go:build !linux

package sandbox

import (
	"log/slog"
	"net"
)

// RefuseSandboxed returns the listener: elsewhere the wall itself keeps code from it, or there
// is none.
func RefuseSandboxed(l net.Listener, _ *slog.Logger) net.Listener { return l }
