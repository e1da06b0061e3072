package transport

import (
	"bytes"
	"encoding/json"
	"fmt"
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
		l.answer(refusal)
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
			l.answer(answer)
		}
	})
}
