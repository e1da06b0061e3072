//go:build unix

package worker

import (
	"context"
	"net"
	"os"
	"os/exec"
	"syscall"
)

// ends are the two sides of all that joins a worker to the server.
type ends struct {
	frames                net.Conn // ours, as the next three: reading ends
	stdout, stderr, fault *os.File
	// child holds the worker's side in the order of its descriptors: stdout,
	// stderr, frames and fault. It is closed once the worker has its copies.
	child []*os.File
	// faultEnd is the worker's side of fault, one of child.
	faultEnd *os.File
}

// openEnds makes the socket and the pipes.
func openEnds() (*ends, error) { return openEndsWith((*ends).addSocket) }

// openPipes makes the pipes alone, for a worker that has its socket already.
func openPipes() (*ends, error) { return openEndsWith(func(*ends) error { return nil }) }

func openEndsWith(addFrames func(*ends) error) (*ends, error) {
	e := &ends{}
	for _, ours := range []**os.File{&e.stdout, &e.stderr} {
		if err := e.addPipe(ours); err != nil {
			e.close()
			return nil, err
		}
		enlargePipe(*ours)
	}
	if err := addFrames(e); err != nil {
		e.close()
		return nil, err
	}
	if err := e.addPipe(&e.fault); err != nil {
		e.close()
		return nil, err
	}
	e.faultEnd = e.child[len(e.child)-1]
	return e, nil
}

func (e *ends) addPipe(ours **os.File) error {
	r, w, err := newPipe()
	if err != nil {
		return err
	}
	*ours = r
	e.child = append(e.child, w)
	return nil
}

func (e *ends) addSocket() error {
	conn, theirs, err := framesPair()
	if err != nil {
		return err
	}
	e.frames, e.child = conn, append(e.child, theirs)
	return nil
}

// framesPair makes a connection and the descriptor of its other end.
func framesPair() (ours net.Conn, theirs *os.File, err error) {
	pair, err := socketPair()
	if err != nil {
		return nil, nil, os.NewSyscallError("socketpair", err)
	}
	theirs = os.NewFile(uintptr(pair[1]), "frames")
	file := os.NewFile(uintptr(pair[0]), "frames")
	defer file.Close() // FileConn makes a copy
	if ours, err = net.FileConn(file); err != nil {
		_ = theirs.Close()
	}
	return ours, theirs, err
}

// attach gives the worker's side to a command and returns the arguments that
// tell the worker where it is.
func (e *ends) attach(cmd *exec.Cmd) []string {
	cmd.Stdout, cmd.Stderr = e.child[0], e.child[1]
	cmd.ExtraFiles = e.child[2:]
	return []string{"--frames", "3", "--fault", "4"}
}

// started closes the worker's side in this process.
func (e *ends) started() {
	// faulthandler writes to a pipe that nobody reads before the worker is
	// dead: a report longer than the pipe must be cut, not block for ever.
	_ = syscall.SetNonblock(int(e.faultEnd.Fd()), true)
	closeFiles(e.child)
	e.child = nil
}

// connect returns the frames' connection.
func (e *ends) connect(context.Context) (net.Conn, error) { return e.frames, nil }

// close closes everything, for a start that failed.
func (e *ends) close() {
	if e.frames != nil {
		_ = e.frames.Close()
	}
	closeFiles(append(e.child, e.stdout, e.stderr, e.fault))
}

func closeFiles(files []*os.File) {
	for _, file := range files {
		_ = file.Close() // a nil file says so and no more
	}
}
