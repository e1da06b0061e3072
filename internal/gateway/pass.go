package gateway

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"understudy/internal/transport"
)

// reply is the answer to one request: the pod's, with what is said before it, or ours.
type reply struct {
	w           http.ResponseWriter
	f           transport.Forwarded
	version     string // of the protocol
	takesEvents bool
	began       time.Time

	mu        sync.Mutex
	streaming bool // events have been sent
	last      []byte
	status    int // of the pod's answer
}

func newReply(w http.ResponseWriter, r *http.Request, f transport.Forwarded) *reply {
	return &reply{
		w: w, f: f, version: r.Header.Get(mcp.HeaderProtocolVersion), began: time.Now(),
		takesEvents: r.URL.Path == transport.StreamablePath && strings.Contains(r.Header.Get("Accept"), eventStream),
	}
}

const eventStream = "text/event-stream"

// answered are the headers of a pod's answer that its client gets.
var answered = []string{"Content-Type", "Mcp-Session-Id", "Allow", "Retry-After"}

// pass gives the client what its pod answers. An error says that the answer is not whole.
func (a *reply) pass(response *http.Response, memory *memory, claim string) error {
	defer func() { _ = response.Body.Close() }()
	from := &kept{from: response.Body, memory: memory, claim: claim}
	defer from.passedOn()
	a.status = response.StatusCode
	kind, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type"))
	if kind == eventStream {
		return a.passEvents(response, from)
	}
	body, err := io.ReadAll(from)
	if err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.streaming && kind == "application/json":
		return a.event(asEvent(body))
	case a.streaming: // what is no message can't be told any more as it is
		return a.event(asEvent(answerOf(a.f.ID, "", a.version, strings.TrimSpace(string(body)))))
	}
	a.head(response)
	_, err = a.w.Write(body)
	return err
}

func (a *reply) head(of *http.Response) {
	for _, name := range answered {
		if values := of.Header.Values(name); len(values) > 0 {
			a.w.Header()[name] = values
		}
	}
	a.w.WriteHeader(of.StatusCode)
}

// passEvents passes on each event once it is whole: what is said to a client between two
// must not fall into one.
func (a *reply) passEvents(response *http.Response, from *kept) error {
	a.mu.Lock()
	if !a.streaming {
		a.streaming = true
		a.head(response)
		_ = http.NewResponseController(a.w).Flush()
	}
	a.mu.Unlock()
	lines := bufio.NewReaderSize(from, 32<<10)
	var event []byte
	for {
		line, err := lines.ReadBytes('\n')
		event = append(event, line...)
		switch {
		case errors.Is(err, io.EOF) && len(event) == 0:
			return nil
		case errors.Is(err, io.EOF):
			return io.ErrUnexpectedEOF
		case err != nil:
			return err
		case len(bytes.TrimRight(line, "\r\n")) > 0:
			continue
		}
		a.mu.Lock()
		err = a.event(event)
		a.mu.Unlock()
		if err != nil {
			return err
		}
		event = nil
		from.passedOn()
	}
}

// event sends one event to the client. The caller holds mu.
func (a *reply) event(text []byte) error {
	if !a.streaming {
		a.streaming = true
		a.w.Header().Set("Content-Type", eventStream)
	}
	a.last = text
	if _, err := a.w.Write(text); err != nil {
		return err
	}
	return http.NewResponseController(a.w).Flush()
}

// asEvent is a message as a stream of events carries it.
func asEvent(message []byte) []byte {
	var line bytes.Buffer
	if json.Compact(&line, message) != nil {
		line.Reset()
		line.Write(bytes.ReplaceAll(message, []byte("\n"), []byte(" ")))
	}
	return transport.Event(line.Bytes())
}

// refuse says why the request has no answer, or no whole one.
func (a *reply) refuse(why error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	text := sentence(why, time.Since(a.began))
	switch {
	case a.streaming && (a.f.ID == nil || a.f.IsStream || a.isAnswered()):
	case a.streaming:
		_ = a.event(asEvent(answerOf(a.f.ID, a.f.Method, a.version, text)))
	case a.f.ID == nil || errors.Is(why, errNoClaim):
		http.Error(a.w, text, status(why))
	default:
		a.w.Header().Set("Content-Type", "application/json")
		if a.f.Method != string(mcp.MethodToolsCall) { // whose result says it
			a.w.Header().Set("Retry-After", "5")
			a.w.WriteHeader(status(why))
		}
		_, _ = a.w.Write(answerOf(a.f.ID, a.f.Method, a.version, text)) // the client may be gone
	}
}

// isAnswered reports whether the last event was the answer. The caller holds mu.
func (a *reply) isAnswered() bool {
	id, err := json.Marshal(a.f.ID) // as the pod wrote it
	if err != nil {
		return false
	}
	for line := range bytes.Lines(a.last) {
		data, isData := bytes.CutPrefix(line, []byte("data:"))
		var message struct {
			ID            json.RawMessage
			Result, Error json.RawMessage
		}
		if isData && json.Unmarshal(data, &message) == nil && bytes.Equal(message.ID, id) && (message.Result != nil || message.Error != nil) {
			return true
		}
	}
	return false
}
