//go:build unix

package pipes

import (
	"context"
	"net"
	"os"
	"os/exec"
	"syscall"
)

// Ends are the two sides of all that joins a worker to the server.
type Ends struct {
	Frames                net.Conn // ours, as the next three: reading ends
	Stdout, Stderr, Fault *os.File
	// Child holds the worker's side in the order of its descriptors: stdout,
	// stderr, frames and fault. It is closed once the worker has its copies.
	Child []*os.File
	// faultEnd is the worker's side of Fault, one of Child.
	faultEnd *os.File
}

// openEnds makes the socket and the pipes.
func openEnds() (*Ends, error) { return openEndsWith((*Ends).addSocket) }

// OpenOutputs makes the pipes alone, for a worker that has its socket already.
func OpenOutputs() (*Ends, *Outputs, error) {
	return read(openEndsWith(func(*Ends) error { return nil }))
}

func openEndsWith(addFrames func(*Ends) error) (*Ends, error) {
	e := &Ends{}
	for _, ours := range []**os.File{&e.Stdout, &e.Stderr} {
		if err := e.addPipe(ours); err != nil {
			e.Close()
			return nil, err
		}
		enlargePipe(*ours)
	}
	if err := addFrames(e); err != nil {
		e.Close()
		return nil, err
	}
	if err := e.addPipe(&e.Fault); err != nil {
		e.Close()
		return nil, err
	}
	e.faultEnd = e.Child[len(e.Child)-1]
	return e, nil
}

func (e *Ends) addPipe(ours **os.File) error {
	r, w, err := newPipe()
	if err != nil {
		return err
	}
	*ours = r
	e.Child = append(e.Child, w)
	return nil
}

func (e *Ends) addSocket() error {
	conn, theirs, err := FramesPair()
	if err != nil {
		return err
	}
	e.Frames, e.Child = conn, append(e.Child, theirs)
	return nil
}

// FramesPair makes a connection and the descriptor of its other end.
func FramesPair() (ours net.Conn, theirs *os.File, err error) {
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

// Attach gives the worker's side to a command and returns the arguments that
// tell the worker where it is.
func (e *Ends) Attach(cmd *exec.Cmd) []string {
	cmd.Stdout, cmd.Stderr = e.Child[0], e.Child[1]
	cmd.ExtraFiles = e.Child[2:]
	return []string{"--frames", "3", "--fault", "4"}
}

// Started closes the worker's side in this process.
func (e *Ends) Started() {
	// faulthandler writes to a pipe that nobody reads before the worker is
	// dead: a report longer than the pipe must be cut, not block for ever.
	_ = syscall.SetNonblock(int(e.faultEnd.Fd()), true)
	CloseFiles(e.Child)
	e.Child = nil
}

// Connect returns the frames' connection.
func (e *Ends) Connect(context.Context) (net.Conn, error) { return e.Frames, nil }

// Close closes everything, for a start that failed.
func (e *Ends) Close() {
	if e.Frames != nil {
		_ = e.Frames.Close()
	}
	CloseFiles(append(e.Child, e.Stdout, e.Stderr, e.Fault))
}

// CloseFiles closes files, of which some may be nil.
func CloseFiles(files []*os.File) {
	for _, file := range files {
		_ = file.Close()
	}
}
