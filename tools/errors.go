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
	"understudy/tools/answer"
)

// failure tells the agent that nothing ran, and what to do. What it can't act
// on is logged with its cause and told as one plain sentence.
func (b *toolbox) failure(tool string, err error) *mcp.CallToolResult {
	var argument *schemas.ArgumentError
	var known *sessions.Error
	switch {
	case errors.As(err, &argument):
		return answer.Refusal(string(sessions.CodeInvalid), argument.Message)
	case errors.As(err, &known):
		if known.Err != nil {
			b.Logger.Warn("call refused", "tool", tool, "code", known.Code, "message", known.Message, "cause", known.Err)
		}
		return answer.Refusal(string(known.Code), b.inMode(known.Message))
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return answer.Refusal("cancelled", "the call was cancelled")
	}
	b.Logger.Error("call failed", "tool", tool, "error", err)
	return answer.Refusal("fault", fmt.Sprintf(
		"%s failed through a fault of the server, which has been logged; try once more, and if it fails again restart the interpreter with manage_interpreters", tool))
}

// guard keeps a panic of a handler from ending the server and with it every
// session. Clients that get no records get none of refusals either.
func (b *toolbox) guard(tool string, handle server.ToolHandlerFunc) server.ToolHandlerFunc {
	return func(ctx context.Context, request mcp.CallToolRequest) (result *mcp.CallToolResult, err error) {
		ctx, end := b.observed(ctx, tool)
		defer func() {
			if cause := recover(); cause != nil {
				result, err = b.failure(tool, fmt.Errorf("panic: %v\n%s", cause, debug.Stack())), nil
			}
			end(result, err)
			if result != nil && result.IsError && !b.answers.Profile(ctx, request).Record {
				result.StructuredContent = nil
			}
		}()
		return handle(ctx, request)
	}
}
