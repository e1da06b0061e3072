package tools

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"understudy/schemas"
	"understudy/sessions"
)

// failure tells the agent that nothing ran, and what to do. What it can't act
// on is logged with its cause and told as one plain sentence.
func (b *toolbox) failure(tool string, err error) *mcp.CallToolResult {
	var argument *schemas.ArgumentError
	var known *sessions.Error
	switch {
	case errors.As(err, &argument):
		return refusal(argument.Message)
	case errors.As(err, &known):
		if known.Err != nil {
			b.Logger.Warn("call refused", "tool", tool, "code", known.Code, "message", known.Message, "cause", known.Err)
		}
		return refusal(b.inMode(known.Message))
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return mcp.NewToolResultError("the call was cancelled")
	}
	b.Logger.Error("call failed", "tool", tool, "error", err)
	return mcp.NewToolResultError(fmt.Sprintf(
		"%s failed through a fault of the server, which has been logged; try once more, and if it fails again restart the interpreter with manage_interpreters", tool))
}

// refusal is an answer that is an error. What to do stands at the end of a
// message, so its middle is what a long one can do without.
func refusal(message string) *mcp.CallToolResult {
	return mcp.NewToolResultError(cutBytes(message, mostError, mostBytes))
}

// guard keeps a panic of a handler from ending the server and with it every
// session.
func (b *toolbox) guard(tool string, handle server.ToolHandlerFunc) server.ToolHandlerFunc {
	return func(ctx context.Context, request mcp.CallToolRequest) (result *mcp.CallToolResult, err error) {
		defer func() {
			if cause := recover(); cause != nil {
				result, err = b.failure(tool, fmt.Errorf("panic: %v\n%s", cause, debug.Stack())), nil
			}
		}()
		return handle(ctx, request)
	}
}
