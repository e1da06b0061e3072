//go:build !linux

package gateway

import (
	"syscall"
	"time"
)

// boundSilence does nothing here.
func boundSilence(time.Duration) func(network, address string, conn syscall.RawConn) error {
	return nil
}
