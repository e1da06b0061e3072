package connect

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"time"
)

// greeted is a connection after its hello, of which the reader may hold a part.
type greeted struct {
	net.Conn
	in *bufio.Reader
}

func (g greeted) Read(p []byte) (int, error) { return g.in.Read(p) }

// Peer says who the client at this end of the pipe is.
type Peer struct {
	Share string
	Build string
}

// errServerGone is what the client's program is told by the end of the pipe.
var errServerGone = errors.New("the server has ended; start the client's server again, which starts a new one")

// Pipe carries MCP between a client and the background server until one of them
// ends. It passes the bytes on as they are, so that nothing of the protocol is
// lost on the way. notes gets what the user should know.
func Pipe(ctx context.Context, s Starter, who Peer, in io.Reader, out, notes io.Writer) error {
	waiting, err := s.connection(ctx) // so that it starts while the client has said nothing
	if err != nil {
		return err
	}
	from := bufio.NewReaderSize(in, maxHello)
	first, err := from.ReadSlice('\n') // all of a very long one comes with the rest
	if len(first) == 0 && err != nil {
		return waiting.Close() // the client has left again
	}
	first = bytes.Clone(first)
	h := Hello{Role: RoleClient, Name: programName(first), Share: who.Share, Build: who.Build}
	conn, about, answers, err := s.enter(ctx, waiting, h)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	if about.Build != who.Build {
		fmt.Fprintf(notes, "understudy: the server that runs for this directory is another build (%s, this is %s); it ends when it has no interpreters and is not used, or by: kill %d\n", about.Build, who.Build, about.PID)
	}
	return s.carry(ctx, conn, answers, io.MultiReader(bytes.NewReader(first), from), out)
}

// enter says hello, on a new connection where the server behind the first is
// ending.
func (s Starter) enter(ctx context.Context, conn *net.UnixConn, h Hello) (*net.UnixConn, About, *bufio.Reader, error) {
	const tries = 5
	var err error
	for try := range tries {
		if try > 0 {
			if conn, err = s.connection(ctx); err != nil {
				return nil, About{}, nil, err
			}
		}
		stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Now()) })
		about, in, failed := greet(conn, s.Place.socket(), h)
		stop()
		if failed == nil && !about.Retiring {
			return conn, about, in, nil
		}
		_ = conn.Close()
		if err = failed; err != nil && !errors.Is(err, errEnded) {
			return nil, About{}, nil, err
		}
		if ctx.Err() != nil {
			return nil, About{}, nil, ctx.Err()
		}
		time.Sleep(time.Duration(try) * 50 * time.Millisecond) // its socket is gone in a moment
	}
	return nil, About{}, nil, errors.New("the server ends again and again before it takes a connection; its log is beside " + s.Place.socket())
}

// lastAnswers is how long a server may take for its last answers to a client that
// has left: one that hangs must not keep the pipe.
const lastAnswers = 10 * time.Second

// carry copies both ways. The client's end ends the conversation in good order:
// the server reads that nothing more comes, and answers what it still has.
func (s Starter) carry(ctx context.Context, conn *net.UnixConn, answers io.Reader, in io.Reader, out io.Writer) error {
	left := make(chan struct{})
	go func() {
		_, _ = io.Copy(conn, in) // an error is the server's end, which the other direction sees
		close(left)
		_ = conn.CloseWrite()
		_ = conn.SetReadDeadline(time.Now().Add(lastAnswers))
	}()
	defer context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Now()) })()
	_, err := io.Copy(out, answers)
	select {
	case <-left:
		return nil
	default:
	}
	if ctx.Err() != nil {
		return nil // we were asked to end
	}
	if broken := new(net.OpError); err != nil && !errors.As(err, &broken) {
		return fmt.Errorf("passing on what the server answers: %w", err)
	}
	return errServerGone
}
