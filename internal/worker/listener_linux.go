package worker

import (
	"net"
	"os"

	"golang.org/x/sys/unix"
)

// takeListener takes the socket on which the session finds our proxy: it belongs to the
// session's own network, into which we could not open one. It comes as soon as the wall
// stands, so that the operator's initial code has the network too; nothing of the user's
// has run in the worker yet. It needs no right to look into a process of another user.
func (w *worker) takeListener(family string) error {
	reader := &rightsReader{stream: w.conn.stream.(*net.UnixConn)}
	defer reader.close()
	f, err := readFrame(reader)
	if err != nil {
		return err
	}
	if f.kind != typeListener {
		return broken("turn", "it sent %s before its listener", f.kind)
	}
	var message listenerMessage
	if err := f.decode(&message); err != nil {
		return err
	}
	if message.Descriptors != 1 || len(reader.files) != 1 {
		return broken("descriptors", "its listener came with %d descriptors in place of one", len(reader.files))
	}
	listener, err := net.FileListener(reader.files[0]) // a copy
	if err != nil {
		return broken("descriptors", "its listener is none: %v", err)
	}
	w.line.network = &network{listener: listener, holders: 1}
	if serve := w.spawner.options.Serve; serve != nil {
		serve(family, listener)
	}
	return nil
}

// mostRights is how many descriptors one frame brings at most.
const mostRights = 8

// rightsReader reads a stream with the descriptors that come with it, which a plain read
// loses. It must read frames alone: it reads no byte more than it is asked for, so that
// what follows is there for the buffered reader.
type rightsReader struct {
	stream *net.UnixConn
	files  []*os.File
}

func (r *rightsReader) Read(p []byte) (int, error) {
	space := make([]byte, unix.CmsgSpace(4*mostRights))
	n, extra, _, _, err := r.stream.ReadMsgUnix(p, space) // they are closed on exec
	if err != nil || extra == 0 {
		return n, err
	}
	messages, err := unix.ParseSocketControlMessage(space[:extra])
	if err != nil {
		return n, err
	}
	for _, m := range messages {
		fds, err := unix.ParseUnixRights(&m)
		if err != nil {
			return n, err
		}
		for _, fd := range fds {
			r.files = append(r.files, os.NewFile(uintptr(fd), "listener"))
		}
	}
	return n, nil
}

func (r *rightsReader) close() { closeFiles(r.files) }
