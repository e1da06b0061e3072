package transport

import (
	"bytes"
	"context"
	"errors"
	"sync/atomic"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// mcp-go answers every error of a handler as an internal one. One that is
// mcp.ErrInvalidParams is the client's mistake and is told as such.

type invalidParamsKey struct{}

// TellInvalidParams has the errors of the server's handlers that are
// mcp.ErrInvalidParams answered with the code of JSON-RPC for that.
func TellInvalidParams(s *server.MCPServer) {
	hooks := s.GetHooks()
	if hooks == nil {
		hooks = &server.Hooks{}
		server.WithHooks(hooks)(s)
	}
	hooks.AddOnError(func(ctx context.Context, _ any, _ mcp.MCPMethod, _ any, err error) {
		if found, ok := ctx.Value(invalidParamsKey{}).(*atomic.Bool); ok && errors.Is(err, mcp.ErrInvalidParams) {
			found.Store(true)
		}
	})
}

// watchParams returns a context in which found becomes true when the request's
// handler finds its parameters invalid.
func watchParams(ctx context.Context) (watched context.Context, found *atomic.Bool) {
	found = &atomic.Bool{}
	return context.WithValue(ctx, invalidParamsKey{}, found), found
}

// withCode replaces the code in an error that mcp-go has written.
func withCode(answer []byte) []byte {
	return bytes.Replace(answer, []byte(`"code":-32603`), []byte(`"code":-32602`), 1)
}
