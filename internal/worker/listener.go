package worker

import (
	"net"

	"understudy/internal/worker/wire"
)

// takeListener takes the socket on which the session finds our proxy: it belongs to the
// session's own network, into which we could not open one. It comes as soon as the wall
// stands, so that the operator's initial code has the network too; nothing of the user's
// has run in the worker yet. It needs no right to look into a process of another user.
func (w *worker) takeListener(family string) error {
	f, files, err := w.conn.ReceiveFirst()
	defer closeFiles(files)
	if err != nil {
		return err
	}
	if f.Kind != wire.TypeListener {
		return wire.Errorf("turn", "it sent %s before its listener", f.Kind)
	}
	var message wire.Listener
	if err := f.Decode(&message); err != nil {
		return err
	}
	if message.Descriptors != 1 || len(files) != 1 {
		return wire.Errorf("descriptors", "its listener came with %d descriptors in place of one", len(files))
	}
	listener, err := net.FileListener(files[0]) // a copy
	if err != nil {
		return wire.Errorf("descriptors", "its listener is none: %v", err)
	}
	w.line.network = &shared{holders: 1, close: func() { _ = listener.Close() }} // whoever serves it may have closed it
	if serve := w.spawner.options.Serve; serve != nil {
		serve(family, listener)
	}
	return nil
}
