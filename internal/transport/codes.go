package transport

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// mcp-go answers every error of a handler as an internal one. One that is
// mcp.ErrInvalidParams is the client's mistake and is told as such; so is one that is
// server.ErrResourceNotFound.

type errorCodeKey struct{}

// TellCodes has the errors of the server's handlers that are mcp.ErrInvalidParams or
// server.ErrResourceNotFound answered with the code of the specification for that.
func TellCodes(s *server.MCPServer) {
	hooks := s.GetHooks()
	if hooks == nil {
		hooks = &server.Hooks{}
		server.WithHooks(hooks)(s)
	}
	hooks.AddOnError(func(ctx context.Context, _ any, _ mcp.MCPMethod, _ any, err error) {
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

// watchCode returns a context in which code becomes that of the error which the request's
// handler returns; 0 is the one that mcp-go writes.
func watchCode(ctx context.Context) (watched context.Context, code *atomic.Int32) {
	code = &atomic.Int32{}
	return context.WithValue(ctx, errorCodeKey{}, code), code
}

// withCode replaces the code in an error that mcp-go has written.
func withCode(answer []byte, code int32) []byte {
	return bytes.Replace(answer, []byte(`"code":-32603`), fmt.Appendf(nil, `"code":%d`, code), 1)
}
