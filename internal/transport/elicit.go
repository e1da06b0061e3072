package transport

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/mark3labs/mcp-go/mcp"
)

// RequestElicitation asks the client's user and waits for what the user says.
func (s *stream) RequestElicitation(ctx context.Context, request mcp.ElicitationRequest) (*mcp.ElicitationResult, error) {
	m, err := s.ask(ctx, mcp.MethodElicitationCreate, request.Params)
	if err != nil {
		return nil, err
	}
	var result mcp.ElicitationResult
	if err := json.Unmarshal(m.Result, &result); err != nil {
		return nil, fmt.Errorf("reading the answer of the client's user: %w", err)
	}
	return &result, nil
}

// ListRoots asks the client for the directories that it works in.
func (s *stream) ListRoots(ctx context.Context, _ mcp.ListRootsRequest) (*mcp.ListRootsResult, error) {
	m, err := s.ask(ctx, mcp.MethodListRoots, nil)
	if err != nil {
		return nil, err
	}
	var result mcp.ListRootsResult
	if err := json.Unmarshal(m.Result, &result); err != nil {
		return nil, fmt.Errorf("reading the client's roots: %w", err)
	}
	return &result, nil
}

// ask sends the client a request of ours and waits for its answer.
func (s *stream) ask(ctx context.Context, method mcp.MCPMethod, params any) (message, error) {
	answered := make(chan message, 1)
	s.mu.Lock()
	s.count++
	number := s.count
	id := strconv.Itoa(number)
	s.asked[id] = answered
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.asked, id)
	}()
	text, err := json.Marshal(mcp.JSONRPCRequest{
		JSONRPC: mcp.JSONRPC_VERSION, ID: mcp.NewRequestId(int64(number)),
		Request: mcp.Request{Method: string(method)}, Params: params,
	})
	if err != nil {
		return message{}, fmt.Errorf("asking the client for %s: %w", method, err)
	}
	s.put(ctx, text)
	select {
	case m := <-answered:
		return m, m.refusal(method)
	case <-ctx.Done():
		s.withdraw(number)
		return message{}, context.Cause(ctx)
	}
}

// withdraw tells the client that nobody waits for its answer any more, so that it
// can take the form from its user. It waits for no client that reads nothing: the
// call has gone on.
func (s *stream) withdraw(number int) {
	withdrawn := mcp.JSONRPCNotification{JSONRPC: mcp.JSONRPC_VERSION, Notification: mcp.Notification{
		Method: methodCancelled,
		Params: mcp.NotificationParams{AdditionalFields: map[string]any{"requestId": number, "reason": "the code does not wait for it any more"}},
	}}
	select {
	case s.NotificationChannel() <- withdrawn:
	default:
	}
}

// refusal is the error that the client answered with, nil when there is none.
func (m message) refusal(method mcp.MCPMethod) error {
	var refused *rpcError
	if len(m.Error) == 0 || string(m.Error) == "null" {
		return nil
	}
	if json.Unmarshal(m.Error, &refused) != nil {
		return fmt.Errorf("the client refused %s", method)
	}
	return fmt.Errorf("the client refused %s: %s", method, refused.Message)
}

// deliver takes the client's answer to where it is waited for.
func (s *stream) deliver(m message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if answered := s.asked[string(m.ID)]; answered != nil {
		select {
		case answered <- m:
		default: // it was answered already
		}
	}
}
