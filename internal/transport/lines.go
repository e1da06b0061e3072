package transport

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// Messages as lines are our own: mcp-go's stdio has one session for the whole
// process, loses a cancellation that comes right behind its request, and rounds
// ids.

// StdioClient is the one client of a server on stdio.
const StdioClient = "stdio"

const (
	// maxLine is how many bytes one message of a client's may have. Code is
	// refused from a sixth of it on, which is what JSON makes of bytes it escapes.
	maxLine = 64 << 20
	// mostInflight is how many requests one connection may have open at once; it
	// bounds what a client can take that sends and never reads.
	mostInflight = 1000
	// patience is how long the last answers may take to be written when the
	// conversation is over: a client that no longer reads must not keep us, and
	// with us every interpreter, alive.
	patience = 5 * time.Second
)

// ServeStdio answers MCP on the two streams until in ends, out can't be
// written to any more, or ctx ends. Calls in flight are cancelled then and
// have ended when it returns, unless the client does not take their answers.
func ServeStdio(ctx context.Context, s *server.MCPServer, in io.Reader, out io.Writer, log *slog.Logger) error {
	return converse(ctx, s, in, out, conversation{id: "stdio", caller: Caller{Client: StdioClient}, lost: context.Canceled, log: log})
}

// ServeLines answers MCP on a connection whose messages are lines, of which a
// process may serve many, until in ends, out can't be written to any more, or ctx
// ends. The calls in flight have ended when it returns, unless the client does not
// take their answers. When it was the connection that ended, their contexts end
// because it was lost, which is no wish to cancel: their cause is Disconnected. A read from in
// may still be waiting when it returns: close the connection.
func ServeLines(ctx context.Context, s *server.MCPServer, in io.Reader, out io.Writer, caller Caller, log *slog.Logger) error {
	return converse(ctx, s, in, out, conversation{id: rand.Text(), caller: caller, lost: errDropped, log: log})
}

// conversation says what converse is to know of a connection.
type conversation struct {
	id     string // of the MCP session
	caller Caller
	lost   error // why the calls end when the connection does
	log    *slog.Logger
}

func converse(ctx context.Context, s *server.MCPServer, in io.Reader, out io.Writer, c conversation) error {
	ctx, end := context.WithCancelCause(WithCaller(ctx, c.caller))
	defer end(nil)
	open, silence := context.WithCancel(context.WithoutCancel(ctx))
	defer silence()
	l := &lines{session: newSession(open, c.id, c.log), mcp: s, ctx: ctx, limit: maxLine}
	if err := s.RegisterSession(ctx, l.session); err != nil {
		return fmt.Errorf("opening the MCP session: %w", err)
	}
	defer s.UnregisterSession(ctx, c.id)

	l.out, l.broken = out, func() {
		silence() // nobody reads any more: nobody is to wait for that
		end(c.lost)
	}
	l.direct = l.write
	written := make(chan struct{})
	go func() {
		defer close(written)
		l.writeQueue()
	}()
	ended := make(chan error, 1)
	go func() {
		ended <- l.read(in)
		end(c.lost)
	}()
	<-ctx.Done()
	if !l.finish(silence, written) {
		c.log.Warn("the client does not read its last answers")
	}
	select {
	case err := <-ended:
		if !errors.Is(err, io.EOF) {
			return fmt.Errorf("reading from the client: %w", err)
		}
	default: // we were asked to stop, or nobody reads our answers
	}
	return nil
}

// lines is a connection whose messages are lines.
type lines struct {
	*session
	mcp   *server.MCPServer
	ctx   context.Context // of its calls
	limit int             // bytes of one message
	calls inflight

	writing sync.Mutex // one line at a time
	out     io.Writer
	broken  func() // called when out can't be written to any more

	mu    sync.Mutex
	over  bool // nothing more is begun
	tasks sync.WaitGroup
}

// finish waits until what was begun is answered and written, and lets nothing
// begin any more. It returns false when that takes longer than patience.
func (l *lines) finish(silence func(), written <-chan struct{}) bool {
	l.mu.Lock()
	l.over = true
	l.mu.Unlock()
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		l.tasks.Wait()
		silence()
		<-written
	}()
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-answered:
		return true
	case <-timer.C:
		return false
	}
}

// start runs a task in the background; false when the conversation is over.
func (l *lines) start(task func()) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over {
		return false
	}
	l.tasks.Go(task)
	return true
}

// writeQueue writes what the client is told until nothing is left to tell, or it can't
// be written.
func (l *lines) writeQueue() {
	for ok := true; ok; {
		var texts [][]byte
		if texts, ok = l.next(l.open); !ok {
			texts = l.pending()
		}
		for _, text := range texts {
			l.write(text)
		}
	}
}

func (l *lines) write(text []byte) {
	l.writing.Lock()
	defer l.writing.Unlock()
	if _, err := l.out.Write(append(text, '\n')); err != nil {
		l.broken()
	}
}

// read takes messages until there are none.
func (l *lines) read(in io.Reader) error {
	for r := bufio.NewReaderSize(in, 64<<10); ; {
		line, err := readLine(r, l.limit)
		switch {
		case errors.Is(err, errLongLine):
			l.log.Warn("a message is too long", "limit", l.limit)
			l.put(l.open, errorText(nil, mcp.PARSE_ERROR, fmt.Sprintf("the message is longer than %d bytes, the limit; nothing was done", l.limit)))
		case len(line) > 0:
			l.receive(line)
		}
		if err != nil && !errors.Is(err, errLongLine) {
			return err
		}
	}
}

var errLongLine = errors.New("the line is too long")

// readLine returns the next line without its end and without white space around
// it. It may return the last one together with an error. Of a line that is too long
// nothing is kept.
func readLine(r *bufio.Reader, limit int) (line []byte, err error) {
	tooLong := false
	for {
		part, err := r.ReadSlice('\n')
		if tooLong = tooLong || len(line)+len(bytes.TrimRight(part, "\r\n")) > limit; tooLong {
			line = nil
		} else {
			line = append(line, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
		case tooLong && err == nil:
			return nil, errLongLine
		default:
			return bytes.TrimSpace(line), err
		}
	}
}

// receive handles one line: a message, or a batch of them.
func (l *lines) receive(line []byte) {
	if line[0] == '[' {
		l.receiveBatch(line)
		return
	}
	l.take(line, false, func(answer []byte) {
		if answer != nil {
			l.put(l.open, answer)
		}
	})
}

// take handles a message, which may be one of an array, a request in the background.
// reply is called once, with nil when there is nothing to answer.
func (l *lines) take(body []byte, ofArray bool, reply func(answer []byte)) {
	m, err := parse(body)
	switch {
	case err != nil && (m.Result != nil || m.Error != nil):
		l.log.Debug("an answer of the client's is not understood", "error", err)
		reply(nil)
	case err != nil:
		reply(errorText(nil, codeOf(err), err.Error()))
	case m.isRequest() && ofArray && m.isModern(nil):
		reply(errorText(m.ID, mcp.INVALID_REQUEST, noArrays))
	case m.isRequest():
		l.begin(m, body, reply)
	case m.isAnswer():
		l.deliver(m)
		reply(nil)
	case m.isCancellation(): // mcp-go has nothing to do with it
		l.calls.cancel(m.cancelled)
		reply(nil)
	default:
		l.handle(l.mcp.WithContext(l.ctx, l.session), l.mcp, m, body) // what comes after a notification may build on it
		reply(nil)
	}
}

// begin handles a request. It can be cancelled before this returns.
func (l *lines) begin(m message, body []byte, reply func(answer []byte)) {
	if l.calls.count() >= mostInflight {
		reply(errorText(m.ID, codeRefused, fmt.Sprintf("%d requests of this connection are open, the limit; wait for their answers", mostInflight)))
		return
	}
	ctx, cancel := context.WithCancel(WithCaller(l.ctx, CallerFrom(l.ctx).of(m)))
	forget, _ := l.calls.begin(string(m.ID), cancel)
	handle := func() {
		defer cancel()
		answer := l.respond(ctx, l.mcp, m, body)
		if cancelled := forget(); cancelled {
			answer = nil // as the specification wants it
		}
		reply(answer)
	}
	switch {
	case m.Method == string(mcp.MethodInitialize):
		handle() // what comes next depends on what is agreed on
	case !l.start(handle):
		cancel()
		forget()
	}
}
