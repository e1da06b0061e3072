package transport

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"
)

// splitBatch returns the messages of an array of a client that has agreed on the
// version, "" for none yet. Otherwise it returns the answer that refuses it.
func splitBatch(body []byte, version string) (messages []json.RawMessage, refusal []byte) {
	switch {
	case json.Unmarshal(body, &messages) != nil:
		return nil, errorText(nil, mcp.PARSE_ERROR, errNoJSON.Error())
	case version != mcp.ProtocolVersion20250326:
		if version == "" {
			version = "none yet"
		}
		return nil, errorText(nil, mcp.INVALID_REQUEST, fmt.Sprintf("messages in an array are part of protocol %s only, and the version agreed on is %s; send each by itself", mcp.ProtocolVersion20250326, version))
	case len(messages) == 0:
		return nil, errorText(nil, mcp.INVALID_REQUEST, "the array of messages is empty")
	case len(messages) > mostInflight:
		return nil, errorText(nil, mcp.INVALID_REQUEST, fmt.Sprintf("the array has %d messages, and at most %d are taken; nothing was done", len(messages), mostInflight))
	}
	return messages, nil
}

// noArrays refuses a message of the newest era in an array: one that listens would keep
// the others waiting for ever.
const noArrays = "this version of the protocol has no arrays of messages; send each by itself"

// joinBatch is the answer to a batch, nil when nothing in it wants one.
func joinBatch(answers [][]byte) []byte {
	answers = slices.DeleteFunc(answers, func(answer []byte) bool { return answer == nil })
	if len(answers) == 0 {
		return nil
	}
	return slices.Concat([]byte("["), bytes.Join(answers, []byte(",")), []byte("]"))
}

// receiveBatch handles the messages of an array, its requests at the same time, and
// answers them together, in their order.
func (l *lines) receiveBatch(line []byte) {
	messages, refusal := splitBatch(line, l.ProtocolVersion())
	if refusal != nil {
		l.put(l.open, refusal)
		return
	}
	answers := make([][]byte, len(messages))
	var open sync.WaitGroup
	open.Add(len(messages))
	for i, body := range messages {
		l.take(body, true, func(answer []byte) {
			answers[i] = answer
			open.Done()
		})
	}
	l.start(func() {
		open.Wait()
		if answer := joinBatch(answers); answer != nil {
			l.put(l.open, answer)
		}
	})
}

// postBatch takes the messages of an array over streamable HTTP, its requests at the same
// time. Notifications of their progress have no place in the answer.
func (h *HTTP) postBatch(w http.ResponseWriter, r *http.Request, body []byte) {
	version := r.Header.Get(mcp.HeaderProtocolVersion)
	if version == "" { // as the specification says
		version = mcp.ProtocolVersion20250326
	}
	messages, refusal := splitBatch(body, version)
	if refusal != nil {
		writeJSON(w, http.StatusBadRequest, refusal)
		return
	}
	one := &peer{session: newSession(r.Context(), "", h.log)} // for a client that names no session
	one.session.Initialize()
	exchangeFrom(r.Context()).Caller = h.withoutSession(r, message{})
	if r.Header.Get(mcpSession) != "" {
		known, leave, ok := h.enter(w, r)
		if !ok {
			return
		}
		defer leave()
		one = known
	}
	answers := make([][]byte, len(messages))
	var open sync.WaitGroup
	for i, body := range messages {
		h.takeOfBatch(r, one, body, &open, &answers[i])
	}
	open.Wait()
	answer := joinBatch(answers)
	if answer == nil {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	writeJSON(w, http.StatusOK, answer)
}

// takeOfBatch takes one message of an array. Its answer is there when open has ended.
func (h *HTTP) takeOfBatch(r *http.Request, one *peer, body []byte, open *sync.WaitGroup, answer *[]byte) {
	m, err := parse(body)
	if err != nil {
		*answer = errorText(nil, codeOf(err), err.Error())
		return
	}
	if m.isModern(r.Header) { // its headers must say what each message does
		*answer = errorText(m.ID, mcp.HEADER_MISMATCH, noArrays)
		return
	}
	refusal := &record{header: http.Header{}}
	c := h.take(context.WithoutCancel(r.Context()), refusal, r, one, m, body)
	if c == nil {
		*answer = refusal.body // nil for what was accepted
		return
	}
	open.Go(func() {
		defer c.end()
		defer context.AfterFunc(r.Context(), func() { c.cancel(errDropped) })()
		s := one.session.apart()
		*answer, _ = s.converse(c.ctx, h.mcp, s, m, body, func([]byte) {})
	})
}

// record is an answer that is not sent by itself.
type record struct {
	header http.Header
	body   []byte
}

func (a *record) Header() http.Header { return a.header }
func (a *record) WriteHeader(int)     {}

func (a *record) Write(p []byte) (int, error) {
	a.body = append(a.body, p...)
	return len(p), nil
}

// isBatch reports whether a body is several messages at once.
func isBatch(body []byte) bool {
	return bytes.HasPrefix(bytes.TrimLeft(body, " \t\r\n"), []byte("["))
}
