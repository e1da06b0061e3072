package wire

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
// arrives with one read, and a thousand copies that sleep take little.
const readBuffer = 4 << 10

// Conn is the frames' socket of one worker. One goroutine at a time sends and
// receives; Shut and Close may be called at any time.
type Conn struct {
	stream net.Conn
	reader *bufio.Reader
	log    *slog.Logger
	logged int // messages so far
	once   sync.Once
}

// maxLogged is how many messages of one worker's reach the log: what a session's code
// forges must not fill the disk.
const maxLogged = 200

// NewConn returns the connection of a worker.
func NewConn(stream net.Conn, log *slog.Logger) *Conn {
	return &Conn{stream: stream, reader: bufio.NewReaderSize(stream, readBuffer), log: log}
}

// LimitWrites has later writes fail that are not done within the time.
func (c *Conn) LimitWrites(patience time.Duration) {
	_ = c.stream.SetWriteDeadline(time.Now().Add(patience))
}

// Ask sends a request and returns its answer, of the given type.
func (c *Conn) Ask(ctx context.Context, request []byte, descriptors []*os.File, kind string, answer any) error {
	if err := c.Pass(request, descriptors); err != nil {
		return err
	}
	return c.Expect(ctx, kind, answer)
}

// Expect receives a frame of the given type.
func (c *Conn) Expect(ctx context.Context, kind string, message any) error {
	f, err := c.Receive(ctx)
	if err != nil {
		return err
	}
	if f.Kind != kind {
		return Errorf("turn", "it answered with %s in place of %s", f.Kind, kind)
	}
	return f.Decode(message)
}

// Send writes one frame.
func (c *Conn) Send(kind string, message any) error {
	data, err := Encode(kind, message)
	if err != nil {
		return err
	}
	return c.Write(data)
}

// Write writes what Encode has made.
func (c *Conn) Write(data []byte) error {
	_, err := c.stream.Write(data)
	return err
}

// Receive returns the next frame that is not for the log. When ctx ends first
// nothing is lost: the frame can still be received later.
func (c *Conn) Receive(ctx context.Context) (Frame, error) {
	for {
		if err := c.await(ctx); err != nil {
			return Frame{}, err
		}
		f, err := Read(c.reader)
		if err != nil || f.Kind != typeLog {
			return f, err
		}
		if err := c.logFrame(f); err != nil {
			return Frame{}, err
		}
	}
}

// await returns when a frame has begun to arrive, the stream has ended or ctx
// is done. Only the first byte is awaited, so a frame is never left half read.
func (c *Conn) await(ctx context.Context) error {
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

func (c *Conn) logFrame(f Frame) error {
	var message Log
	if err := f.Decode(&message); err != nil {
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

// Shut ends the conversation but lets what has arrived be read, for the case
// that the worker is dead and a stray copy of its descriptor lives on.
func (c *Conn) Shut() {
	if half, ok := c.stream.(interface{ CloseRead() error }); ok {
		_ = half.CloseRead()
	}
}

// SayStop asks the worker to exit. It waits for nothing: a worker that does not
// read (stopped, hung) is dealt with otherwise.
func (c *Conn) SayStop() {
	c.LimitWrites(100 * time.Millisecond)
	_ = c.Send(typeStop, Empty{})
	if half, ok := c.stream.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
	}
}

// Close closes the stream. It may be called again.
func (c *Conn) Close() {
	c.once.Do(func() { _ = c.stream.Close() })
}
