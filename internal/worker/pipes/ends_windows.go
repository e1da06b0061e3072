package pipes

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"time"
)

// tokenVariable holds what a worker sends first, so that no other process on
// the machine can take its place.
const tokenVariable = "UNDERSTUDY_FRAMES_TOKEN"

// tokenPatience is how long a stranger may keep the door shut.
const tokenPatience = time.Second

// Ends are the two sides of all that joins a worker to the server. Windows
// hands down no sockets, so the worker calls back.
type Ends struct {
	listener              net.Listener
	token                 string
	Stdout, Stderr, Fault *os.File // Fault stays nil: faults go to stderr
	Child                 []*os.File
}

func openEnds() (*Ends, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	var random [32]byte
	_, _ = rand.Read(random[:]) // never fails
	e := &Ends{listener: listener, token: hex.EncodeToString(random[:])}
	for _, ours := range []**os.File{&e.Stdout, &e.Stderr} {
		r, w, err := newPipe()
		if err != nil {
			e.Close()
			return nil, err
		}
		*ours = r
		e.Child = append(e.Child, w)
	}
	return e, nil
}

func newPipe() (r, w *os.File, err error) { return os.Pipe() }

func (e *Ends) Attach(cmd *exec.Cmd) []string {
	cmd.Stdout, cmd.Stderr = e.Child[0], e.Child[1]
	cmd.Env = append(cmd.Env, tokenVariable+"="+e.token)
	return []string{"--frames", "tcp:" + e.listener.Addr().String()}
}

func (e *Ends) Started() {
	CloseFiles(e.Child)
	e.Child = nil
}

// Connect waits for the worker's call.
func (e *Ends) Connect(ctx context.Context) (net.Conn, error) {
	defer e.listener.Close()
	stop := context.AfterFunc(ctx, func() { _ = e.listener.Close() })
	defer stop()
	for {
		conn, err := e.listener.Accept()
		if err != nil {
			return nil, errors.Join(ctx.Err(), err)
		}
		if e.knows(conn) {
			return conn, nil
		}
		_ = conn.Close()
	}
}

func (e *Ends) knows(conn net.Conn) bool {
	_ = conn.SetReadDeadline(time.Now().Add(tokenPatience))
	token := make([]byte, len(e.token))
	_, err := io.ReadFull(conn, token)
	_ = conn.SetReadDeadline(time.Time{})
	return err == nil && subtle.ConstantTimeCompare(token, []byte(e.token)) == 1
}

func (e *Ends) Close() {
	_ = e.listener.Close()
	CloseFiles(append(e.Child, e.Stdout, e.Stderr))
}

// CloseFiles closes files, of which some may be nil.
func CloseFiles(files []*os.File) {
	for _, file := range files {
		_ = file.Close()
	}
}
