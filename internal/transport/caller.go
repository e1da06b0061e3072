package transport

import "context"

// Caller is who sent a request, as far as the transport can tell.
type Caller struct {
	// Client is what sessions belong to: StdioClient, an MCP session, or a
	// principal. It is empty for a caller that can't be told from others: one of
	// the era 2026-07-28 over HTTP that did not authenticate. Such a caller
	// reaches a session by its handle alone.
	Client string
	// Principal is the name of who authenticated; empty without authentication.
	Principal string
	// Request names the request in the log.
	Request string
}

type callerKey struct{}

// WithCaller returns a context that says who calls.
func WithCaller(ctx context.Context, c Caller) context.Context {
	return context.WithValue(ctx, callerKey{}, c)
}

// CallerFrom returns who calls. A context that says nothing has an anonymous
// caller, who owns nothing.
func CallerFrom(ctx context.Context) Caller {
	c, _ := ctx.Value(callerKey{}).(Caller)
	return c
}
