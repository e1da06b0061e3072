package e2e

import (
	"bufio"
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
)

// sseClient speaks SSE as the protocol has it; mcp-go's answers no requests.
type sseClient struct {
	t       *testing.T
	message string // where messages go
	events  *bufio.Scanner
}

func newSSEClient(t *testing.T, r *remote) *sseClient {
	t.Helper()
	response, err := http.Get(r.url + "/sse")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = response.Body.Close() })
	s := &sseClient{t: t, events: bufio.NewScanner(response.Body)}
	s.message = r.url + s.data()
	return s
}

// data returns the data of the next event.
func (s *sseClient) data() string {
	s.t.Helper()
	for s.events.Scan() {
		if data, ok := strings.CutPrefix(s.events.Text(), "data: "); ok {
			return data
		}
	}
	s.t.Fatalf("the stream ended: %v", s.events.Err())
	return ""
}

func (s *sseClient) send(message map[string]any) {
	s.t.Helper()
	message["jsonrpc"] = "2.0"
	body, err := json.Marshal(message)
	if err != nil {
		s.t.Fatal(err)
	}
	response, err := http.Post(s.message, "application/json", bytes.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	_ = response.Body.Close()
}

// receive returns the next message that has the field.
func (s *sseClient) receive(field string) map[string]any {
	s.t.Helper()
	for {
		var message map[string]any
		if err := json.Unmarshal([]byte(s.data()), &message); err != nil {
			s.t.Fatal(err)
		}
		if message[field] != nil {
			return message
		}
	}
}

// TestInputOverSSE: the question comes over the stream while the call waits.
func TestInputOverSSE(t *testing.T) {
	t.Parallel()
	s := newSSEClient(t, startRemote(t))
	s.send(map[string]any{"id": 1, "method": "initialize", "params": map[string]any{
		"protocolVersion": "2025-06-18", "clientInfo": map[string]any{"name": "tester", "version": "1"},
		"capabilities": map[string]any{"elicitation": map[string]any{}},
	}})
	s.receive("result")
	s.send(map[string]any{"method": "notifications/initialized"})
	s.send(map[string]any{"id": 2, "method": "tools/call", "params": map[string]any{
		"name": "run_python_code", "arguments": map[string]any{"code": "print(input('name? ') * 2)"},
	}})
	question := s.receive("method")
	if question["method"] != "elicitation/create" {
		t.Fatalf("%v", question)
	}
	s.send(map[string]any{"id": question["id"], "result": map[string]any{"action": "accept", "content": map[string]any{"answer": "ada"}}})
	answer, err := json.Marshal(s.receive("result"))
	if err != nil || !strings.Contains(string(answer), `name? ada\nadaada\n`) {
		t.Errorf("%s, %v", answer, err)
	}
}
