package transport

import (
	"context"
	"encoding/json"
	"errors"
	"runtime/debug"
	"sync/atomic"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// handle has mcp-go handle a message of the client's. It returns the answer, nil
// when there is none, and the code of the error that it is, 0 for a result. A fault in
// a handler ends its request and nothing else.
func (s *session) handle(ctx context.Context, to *server.MCPServer, m message, body []byte) (answer []byte, code int) {
	defer func() {
		if fault := recover(); fault != nil {
			s.log.Error("a message made the server panic", "method", m.Method, "panic", fault, "stack", string(debug.Stack()))
			code = mcp.INTERNAL_ERROR
			answer = errorText(m.ID, code, "internal error")
		}
		if !m.isRequest() {
			answer = nil
		}
	}()
	told := &atomic.Int32{}
	ctx = context.WithValue(ctx, errorCodeKey{}, told)
	own := &ownMethod{of: m}
	ctx = context.WithValue(ctx, ownMethodKey{}, own)
	response := to.HandleMessage(ctx, json.RawMessage(body))
	if own.answer != nil {
		response = own.answer
	}
	switch r := response.(type) { // the id as the client wrote it: mcp-go makes a float64 of a number
	case nil:
		return nil, 0
	case mcp.JSONRPCResponse:
		r.ID = mcp.NewRequestId(m.ID)
		if listened, ok := r.Result.(mcp.SubscriptionsListenResult); ok {
			listened.EnsureResultMeta().SetSubscriptionID(m.ID)
			r.Result = listened
		}
		response = r
	case mcp.JSONRPCError:
		r.ID = mcp.NewRequestId(m.ID)
		if told := told.Load(); told != 0 {
			r.Error.Code = int(told)
		}
		response, code = r, r.Error.Code
	}
	answer, err := json.Marshal(response)
	if err != nil {
		s.log.Error("an answer can't be sent", "method", m.Method, "error", err)
		return errorText(m.ID, mcp.INTERNAL_ERROR, "the answer can't be written as JSON"), mcp.INTERNAL_ERROR
	}
	return answer, code
}

// converse is handle for a request whose session has an outbox of its own, which is
// open until ended is called: what comes into it goes to tell until the request is
// answered. As is how mcp-go sees the session.
func (s *session) converse(
	ctx context.Context, to *server.MCPServer, as server.ClientSession, m message, body []byte, tell func(text []byte),
) (answer []byte, code int) {
	handled, done := context.WithCancel(context.Background())
	s.open = handled
	go func() {
		defer done()
		answer, code = s.handle(to.WithContext(ctx, as), to, m, body)
	}()
	for {
		texts, ok := s.next(handled)
		if !ok {
			texts = s.pending()
		}
		for _, text := range texts {
			tell(text)
		}
		if !ok {
			return answer, code
		}
	}
}

// respond handles a request of a client that is told everything over one stream, and
// returns the answer. A request that listens has an outbox of its own, as what goes
// through that names it.
func (s *session) respond(ctx context.Context, to *server.MCPServer, m message, body []byte) (answer []byte) {
	if !m.isListening() {
		answer, _ = s.handle(to.WithContext(ctx, s), to, m, body)
		return answer
	}
	own := s.apart()
	own.subscription = m.ID
	answer, _ = own.converse(ctx, to, own, m, body, func(text []byte) { s.put(s.open, text) })
	return answer
}

// mcp-go answers every error of a handler as an internal one. One that is
// mcp.ErrInvalidParams is the client's mistake and is told as such; so is one that is
// server.ErrResourceNotFound.

type errorCodeKey struct{}

// TellCodes has the errors of the server's handlers that are mcp.ErrInvalidParams or
// server.ErrResourceNotFound answered with the code of the specification for that.
func TellCodes(s *server.MCPServer) {
	hooksOf(s).AddOnError(func(ctx context.Context, _ any, _ mcp.MCPMethod, _ any, err error) {
		code, ok := ctx.Value(errorCodeKey{}).(*atomic.Int32)
		switch {
		case !ok:
		case errors.Is(err, mcp.ErrInvalidParams):
			code.Store(mcp.INVALID_PARAMS)
		case errors.Is(err, server.ErrResourceNotFound) && mcp.IsModernProtocol(server.RequestProtocolVersion(ctx)):
			code.Store(mcp.INVALID_PARAMS)
		case errors.Is(err, server.ErrResourceNotFound):
			code.Store(mcp.RESOURCE_NOT_FOUND)
		}
	})
}

func hooksOf(s *server.MCPServer) *server.Hooks {
	if s.GetHooks() == nil {
		server.WithHooks(&server.Hooks{})(s)
	}
	return s.GetHooks()
}

// ownMethod is a request that may be of a method of ours, and its answer if it is.
type ownMethod struct {
	of     message
	answer mcp.JSONRPCMessage
}

type ownMethodKey struct{}

// errAnswered ends mcp-go's part in a request that has its answer.
var errAnswered = errors.New("answered")

// AddMethods has the server answer methods that mcp-go does not know, as an extension has
// them. An error that is mcp.ErrInvalidParams is the client's mistake.
func AddMethods(s *server.MCPServer, methods map[string]func(params json.RawMessage) (any, error)) {
	hooksOf(s).AddOnRequestInitialization(func(ctx context.Context, _, _ any) error {
		own, ok := ctx.Value(ownMethodKey{}).(*ownMethod)
		if !ok || methods[own.of.Method] == nil {
			return nil
		}
		result, err := methods[own.of.Method](own.of.params)
		switch {
		case errors.Is(err, mcp.ErrInvalidParams):
			own.answer = mcp.NewJSONRPCError(mcp.RequestId{}, mcp.INVALID_PARAMS, err.Error(), nil)
		case err != nil:
			own.answer = mcp.NewJSONRPCError(mcp.RequestId{}, mcp.INTERNAL_ERROR, err.Error(), nil)
		default:
			own.answer = mcp.NewJSONRPCResultResponse(mcp.RequestId{}, result)
		}
		return errAnswered
	})
}
