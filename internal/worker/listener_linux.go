package worker

import (
	"fmt"
	"net"
	"os"

	"golang.org/x/sys/unix"
)

// takeListener takes the socket that the worker listens on for our proxy: it belongs to
// the session's own network, into which we could not open one. Nothing of the user's
// has run in the worker yet, so what it says is true.
func (w *worker) takeListener(family string) error {
	if w.listener == 0 {
		return nil
	}
	process, err := unix.PidfdOpen(w.process.pid, 0)
	if err != nil {
		return fmt.Errorf("opening the session's network: %w", err)
	}
	defer unix.Close(process)
	fd, err := unix.PidfdGetfd(process, w.listener, 0)
	if err != nil {
		return fmt.Errorf("opening the session's network: %w", err)
	}
	file := os.NewFile(uintptr(fd), "listener")
	defer file.Close()
	listener, err := net.FileListener(file)
	if err != nil {
		return fmt.Errorf("opening the session's network: %w", err)
	}
	if w.spawner.options.Serve == nil {
		return listener.Close()
	}
	w.spawner.options.Serve(family, listener)
	return nil
}
