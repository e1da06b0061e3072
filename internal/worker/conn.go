package worker

import (
	"bufio"
	"context"
	"log/slog"
	"net"
	"os"
	"sync"
	"time"
)

// readBuffer is the size in bytes of a connection's buffer: a usual done frame
// arrives with one read.
const readBuffer = 32 << 10

// conn is the frames' socket of one worker. One goroutine at a time sends and
// receives; shut and close may be called at any time.
type conn struct {
	stream net.Conn
	reader *bufio.Reader
	log    *slog.Logger
	logged int // messages so far
	once   sync.Once
}

// maxLogged is how many messages of one worker's reach the log: what a session's code
// forges must not fill the disk.
const maxLogged = 200

func newConn(stream net.Conn, log *slog.Logger) *conn {
	return &conn{stream: stream, reader: bufio.NewReaderSize(stream, readBuffer), log: log}
}

// newSmallConn returns the connection of a process that seldom speaks.
func newSmallConn(stream net.Conn, log *slog.Logger) *conn {
	return &conn{stream: stream, reader: bufio.NewReaderSize(stream, 512), log: log}
}

// ask sends a request and returns its answer, of the given type.
func (c *conn) ask(ctx context.Context, request []byte, descriptors []*os.File, kind string, answer any) error {
	if err := c.pass(request, descriptors); err != nil {
		return err
	}
	f, err := c.receive(ctx)
	if err != nil {
		return err
	}
	if f.kind != kind {
		return broken("turn", "it answered with %s in place of %s", f.kind, kind)
	}
	return f.decode(answer)
}

// send writes one frame.
func (c *conn) send(kind string, message any) error {
	data, err := encodeFrame(kind, message)
	if err != nil {
		return err
	}
	return c.write(data)
}

func (c *conn) write(data []byte) error {
	_, err := c.stream.Write(data)
	return err
}

// receive returns the next frame that is not for the log. When ctx ends first
// nothing is lost: the frame can still be received later.
func (c *conn) receive(ctx context.Context) (frame, error) {
	for {
		if err := c.await(ctx); err != nil {
			return frame{}, err
		}
		f, err := readFrame(c.reader)
		if err != nil || f.kind != typeLog {
			return f, err
		}
		if err := c.logFrame(f); err != nil {
			return frame{}, err
		}
	}
}

// await returns when a frame has begun to arrive, the stream has ended or ctx
// is done. Only the first byte is awaited, so a frame is never left half read.
func (c *conn) await(ctx context.Context) error {
	if ctx.Done() == nil {
		return nil
	}
	fired := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		_ = c.stream.SetReadDeadline(time.Unix(1, 0))
		close(fired)
	})
	_, err := c.reader.Peek(1)
	if stop() {
		return err
	}
	<-fired
	_ = c.stream.SetReadDeadline(time.Time{})
	if os.IsTimeout(err) {
		return ctx.Err()
	}
	return err
}

func (c *conn) logFrame(f frame) error {
	var message logMessage
	if err := f.decode(&message); err != nil {
		return err
	}
	switch c.logged++; {
	case c.logged <= maxLogged:
		c.log.Log(context.Background(), logLevel(message.Level), "worker says", "message", message.Message)
	case c.logged == maxLogged+1:
		c.log.Warn("a worker says too much; the rest is left out", "messages", maxLogged)
	}
	return nil
}

func logLevel(name string) slog.Level {
	var level slog.Level
	if level.UnmarshalText([]byte(name)) != nil {
		return slog.LevelInfo
	}
	return level
}

// shut ends the conversation but lets what has arrived be read, for the case
// that the worker is dead and a stray copy of its descriptor lives on.
func (c *conn) shut() {
	if half, ok := c.stream.(interface{ CloseRead() error }); ok {
		_ = half.CloseRead()
	}
}

// sayStop asks the worker to exit. It waits for nothing: a worker that does not
// read (stopped, hung) is dealt with otherwise.
func (c *conn) sayStop() {
	_ = c.stream.SetWriteDeadline(time.Now().Add(100 * time.Millisecond))
	_ = c.send(typeStop, emptyMessage{})
	if half, ok := c.stream.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
	}
}

func (c *conn) close() {
	c.once.Do(func() { _ = c.stream.Close() })
}
