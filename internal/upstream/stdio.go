package upstream

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
)

// A stdioLink speaks to a process over its standard input and output. mcp-go's own
// transport has no limit for a line, copies it several times, and is held up for ever by
// a server that doesn't read.
type stdioLink struct {
	ending
	process *process
	queue   chan []byte // to be written
	loops   sync.WaitGroup

	mu       sync.Mutex
	waiting  map[string]chan stdioAnswer // by request id
	onNotice func(mcp.JSONRPCNotification)
}

type stdioAnswer struct {
	response *transport.JSONRPCResponse
	err      error
}

// writeLimit is how long a server may leave what it is sent unread.
const writeLimit = 30 * time.Second

func newStdioLink(p *process) *stdioLink {
	return &stdioLink{ending: newEnding(), process: p, queue: make(chan []byte, 16), waiting: map[string]chan stdioAnswer{}}
}

func (l *stdioLink) Start(context.Context) error {
	l.loops.Go(l.write)
	l.loops.Go(l.read)
	return nil
}

// Close ends the process and all that it has started.
func (l *stdioLink) Close() error {
	l.end(errors.New("the connection was closed"))
	l.process.close()
	l.loops.Wait()
	return nil
}

func (l *stdioLink) GetSessionId() string { return "" } //nolint:staticcheck // mcp-go's name

func (l *stdioLink) SetNotificationHandler(handler func(mcp.JSONRPCNotification)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.onNotice = handler
}

func (l *stdioLink) SendNotification(ctx context.Context, notification mcp.JSONRPCNotification) error {
	return l.send(ctx, notification)
}

func (l *stdioLink) SendRequest(ctx context.Context, request transport.JSONRPCRequest) (*transport.JSONRPCResponse, error) {
	id, err := json.Marshal(request.ID)
	if err != nil {
		return nil, err
	}
	answer := make(chan stdioAnswer, 1)
	l.mu.Lock()
	l.waiting[string(id)] = answer
	l.mu.Unlock()
	defer func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.waiting, string(id))
	}()
	if err := l.send(ctx, request); err != nil {
		return nil, err
	}
	select {
	case a := <-answer:
		if a.err == nil {
			keepRaw(ctx, a.response, false)
		}
		return a.response, a.err
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-l.Ended():
		select {
		case a := <-answer: // came just before the end
			if a.err == nil {
				keepRaw(ctx, a.response, false)
			}
			return a.response, a.err
		default:
			return nil, l.Reason()
		}
	}
}

func (l *stdioLink) send(ctx context.Context, message any) error {
	line, err := json.Marshal(message)
	if err != nil {
		return err
	}
	select {
	case l.queue <- append(line, '\n'):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-l.Ended():
		return l.Reason()
	}
}

// write writes what is queued. Who leaves it unread for long is given up: half a
// message is written, so none can follow.
func (l *stdioLink) write() {
	for {
		select {
		case <-l.Ended():
			return
		case line := <-l.queue:
			_ = l.process.in.SetWriteDeadline(time.Now().Add(writeLimit)) // there is none on Windows
			if _, err := l.process.in.Write(line); err != nil {
				l.end(l.process.lastWords("it reads nothing any more"))
				return
			}
		}
	}
}

func (l *stdioLink) read() {
	lines := bufio.NewReaderSize(l.process.out, 64<<10)
	for {
		line, err := readLine(lines)
		switch {
		case errors.Is(err, errTooLong):
			if !l.answer(idOf(line), stdioAnswer{err: errTooLong}) {
				l.end(errors.New("it wrote a line of more than 32 MiB"))
				return
			}
		case err != nil:
			l.process.awaitEnd()
			l.end(l.process.lastWords("it has ended"))
			return
		default:
			l.handle(line)
		}
	}
}

// readLine reads a line. Of one that is too long it returns the beginning and the end,
// with errTooLong: what is between never takes memory.
func readLine(from *bufio.Reader) (line []byte, err error) {
	const kept = 4 << 10
	var tail []byte
	for {
		part, err := from.ReadSlice('\n')
		switch {
		case tail != nil:
			tail = append(tail, part...)
			tail = append([]byte{}, tail[max(0, len(tail)-kept):]...)
		case len(line)+len(part) > messageLimit:
			line, tail = append([]byte{}, line[:min(kept, len(line))]...), append([]byte{}, part[max(0, len(part)-kept):]...)
		default:
			line = append(line, part...)
		}
		switch {
		case err == nil && tail != nil:
			return append(append(line, '\n'), tail...), errTooLong
		case err == nil:
			return line, nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, io.ErrUnexpectedEOF
		}
	}
}

var (
	idAhead  = regexp.MustCompile(`^\s*\{[^{\[]*"id"\s*:\s*("[^"]*"|\d+)`)
	idBehind = regexp.MustCompile(`[}\]]\s*,[^{\[}\]]*"id"\s*:\s*("[^"]*"|\d+)[^{\[}\]]*\}\s*$`)
)

// idOf finds which request a line that is too long would have answered, before or
// behind its result.
func idOf(ends []byte) string {
	for _, pattern := range []*regexp.Regexp{idAhead, idBehind} {
		if found := pattern.FindSubmatch(ends); found != nil {
			return string(found[1])
		}
	}
	return ""
}

func (l *stdioLink) answer(id string, a stdioAnswer) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	waiting, found := l.waiting[id]
	if found {
		delete(l.waiting, id)
		waiting <- a // has room for one
	}
	return found
}

// handle takes one message. What is none is left: some servers print to their output.
func (l *stdioLink) handle(line []byte) {
	var message struct {
		ID     json.RawMessage          `json:"id"`
		Method string                   `json:"method"`
		Result json.RawMessage          `json:"result"`
		Error  *mcp.JSONRPCErrorDetails `json:"error"`
	}
	line = bytes.TrimSpace(line)
	if len(line) == 0 || line[0] != '{' {
		return
	}
	if json.Unmarshal(line, &message) != nil {
		l.answer(idOf(line), stdioAnswer{err: errors.New("its answer is not JSON that can be read")})
		return
	}
	hasID := len(message.ID) > 0 && string(message.ID) != "null"
	switch {
	case message.Method == "" && hasID:
		l.answer(string(message.ID), stdioAnswer{response: &transport.JSONRPCResponse{
			JSONRPC: mcp.JSONRPC_VERSION, Result: message.Result, Error: message.Error,
		}})
	case message.Method != "" && hasID:
		l.refuse(message.ID, message.Method)
	case message.Method != "":
		l.mu.Lock()
		handler := l.onNotice
		l.mu.Unlock()
		if handler != nil {
			handler(mcp.JSONRPCNotification{Notification: mcp.Notification{Method: message.Method}})
		}
	}
}

// longestID is how many bytes the id of a server's request may have to be answered.
const longestID = 1 << 10

// refuse answers a request of the server's, for which nothing waits: a server that floods
// its client and doesn't read gets no answers.
func (l *stdioLink) refuse(id json.RawMessage, method string) {
	if len(id) > longestID {
		return
	}
	reply := fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":"this client does not offer it"}}`, id, mcp.METHOD_NOT_FOUND)
	if method == string(mcp.MethodPing) {
		reply = fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{}}`, id)
	}
	select {
	case l.queue <- []byte(reply + "\n"):
	default:
	}
}
