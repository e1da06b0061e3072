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
		l.take(body, func(answer []byte) {
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

// postBatch takes the messages of an array over streamable HTTP: each as if it had come
// by itself, the requests at the same time. Notifications of their progress have no
// place in the answer.
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
	records := make([]*record, len(messages))
	var open sync.WaitGroup
	for i, one := range messages {
		records[i] = &record{header: http.Header{}}
		take := func() { h.postOfBatch(records[i], r, one) }
		if m, err := parse(one); err == nil && m.isRequest() {
			open.Go(take)
		} else {
			take() // what comes next may build on it
		}
	}
	open.Wait()
	answers := make([][]byte, len(messages))
	for i, one := range records {
		answers[i] = one.message()
		if answers[i] == nil && one.status >= http.StatusBadRequest { // which goes for all: there is no such session
			http.Error(w, string(bytes.TrimSpace(one.body)), one.status)
			return
		}
	}
	answer := joinBatch(answers)
	if answer == nil {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	writeJSON(w, http.StatusOK, answer)
}

// postOfBatch takes one message of an array.
func (h *HTTP) postOfBatch(to *record, r *http.Request, body []byte) {
	e := *exchangeFrom(r.Context())
	e.inBatch = true
	r = r.WithContext(context.WithValue(r.Context(), exchangeKey{}, &e))
	response := newResponder(to, r, &h.options)
	defer func() {
		h.recovered(recover(), response, r)
		response.end()
	}()
	h.postMessage(response, r, body)
}

// record is an answer that is not sent by itself.
type record struct {
	header http.Header
	status int
	body   []byte
}

func (a *record) Header() http.Header    { return a.header }
func (a *record) WriteHeader(status int) { a.status = status }

func (a *record) Write(p []byte) (int, error) {
	a.body = append(a.body, p...)
	return len(p), nil
}

// message is the one of JSON-RPC in the answer, nil if there is none.
func (a *record) message() []byte {
	if !json.Valid(a.body) {
		return nil
	}
	return a.body
}
