package tools

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

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

// guard tells of the errors of a handler, and keeps its panic from ending the server and with
// it every session. Clients that get no records get none of refusals either.
func (b *toolbox) guard(tool string, handle server.ToolHandlerFunc) server.ToolHandlerFunc {
	return func(ctx context.Context, request mcp.CallToolRequest) (result *mcp.CallToolResult, err error) {
		began, call := time.Now(), &Call{Tool: tool}
		defer func() {
			if cause := recover(); cause != nil {
				err = fmt.Errorf("panic: %v\n%s", cause, debug.Stack())
			}
			if err != nil {
				result, err = b.failure(tool, err), nil
			}
			if refused, _ := result.StructuredContent.(map[string]any); result.IsError {
				call.Outcome, _ = refused["code"].(string)
			}
			call.Outcome, call.Took = cmp.Or(call.Outcome, string(sessions.StatusOK)), time.Since(began)
			if b.Observe != nil {
				b.Observe(ctx, *call)
			}
			if result.IsError && !b.answers.Profile(ctx, request).Record {
				result.StructuredContent = nil
			}
		}()
		return handle(context.WithValue(ctx, callKey{}, call), request)
	}
}

// Call is what a call of a tool came to, for who counts and logs calls. What was said,
// code and output, is not in it.
type Call struct {
	Tool string
	// Operation is run, or that of manage_interpreters; "" where its arguments can't be used.
	Operation string
	// InterpreterID is of the interpreter that answered, or what the client sent for one,
	// which may be anything.
	InterpreterID string
	Execution     int
	// Outcome is the status of a run, ok, or the code of a refusal.
	Outcome string
	Took    time.Duration
}

// callKey is under which handlers find their Call in the context.
type callKey struct{}

// note says what a call has asked the Manager for; what it notes further is told too.
func note(ctx context.Context, operation, id string) *Call {
	call, guarded := ctx.Value(callKey{}).(*Call)
	if !guarded {
		call = &Call{}
	}
	call.Operation, call.InterpreterID = operation, id
	return call
}
