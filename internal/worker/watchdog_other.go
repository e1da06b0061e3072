//go:build !linux

package worker

import (
	"context"
	"errors"
	"io"
	"log/slog"
)

// watchdog exists on Linux only: elsewhere there is no way to find the kin of a
// dead server's workers (Windows ends them by their job objects).
type watchdog struct{}

func startWatchdog([]string, nonce, *slog.Logger) (*watchdog, error) {
	return nil, errors.ErrUnsupported
}

func (*watchdog) alive() bool { return true }

func (*watchdog) close() {}

// WatchdogMain does nothing on this system.
func WatchdogMain(context.Context, io.Reader, *slog.Logger) int { return 0 }
