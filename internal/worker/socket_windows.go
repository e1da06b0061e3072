package worker

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

// ends are the two sides of all that joins a worker to the server. Windows
// hands down no sockets, so the worker calls back.
type ends struct {
	listener              net.Listener
	token                 string
	stdout, stderr, fault *os.File // fault stays nil: faults go to stderr
	child                 []*os.File
}

func openEnds() (*ends, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	var random [32]byte
	_, _ = rand.Read(random[:]) // never fails
	e := &ends{listener: listener, token: hex.EncodeToString(random[:])}
	for _, ours := range []**os.File{&e.stdout, &e.stderr} {
		r, w, err := newPipe()
		if err != nil {
			e.close()
			return nil, err
		}
		*ours = r
		e.child = append(e.child, w)
	}
	return e, nil
}

func newPipe() (r, w *os.File, err error) { return os.Pipe() }

func (e *ends) attach(cmd *exec.Cmd) []string {
	cmd.Stdout, cmd.Stderr = e.child[0], e.child[1]
	cmd.Env = append(cmd.Env, tokenVariable+"="+e.token)
	return []string{"--frames", "tcp:" + e.listener.Addr().String()}
}

func (e *ends) started() {
	closeFiles(e.child)
	e.child = nil
}

// connect waits for the worker's call.
func (e *ends) connect(ctx context.Context) (net.Conn, error) {
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

func (e *ends) knows(conn net.Conn) bool {
	_ = conn.SetReadDeadline(time.Now().Add(tokenPatience))
	token := make([]byte, len(e.token))
	_, err := io.ReadFull(conn, token)
	_ = conn.SetReadDeadline(time.Time{})
	return err == nil && subtle.ConstantTimeCompare(token, []byte(e.token)) == 1
}

func (e *ends) close() {
	_ = e.listener.Close()
	closeFiles(append(e.child, e.stdout, e.stderr))
}

func closeFiles(files []*os.File) {
	for _, file := range files {
		_ = file.Close() // a nil file says so and no more
	}
}
