// Package transport carries MCP between clients and the server: it knows who
// calls and keeps the wire clean, and nothing of Python.
//
// A request over HTTP passes, from outside in:
//
//	observed      a response that keeps time (exchange.go); panics end here; counters
//	guard         Host, Origin, Sec-Fetch-Site; CORS for the origins that are allowed
//	routes        exact paths, methods
//	identified    the principal, with failures counted by address
//	bodies        type, size, time and memory of a message; message.go reads its head
//	peers, limits whose session it is, whether it is in use; calls, streams, rate
//	session       what mcp-go's HandleMessage sees of a client (session.go, handle.go)
//
// Lines (stdio, a socket), SSE and streamable HTTP are our own, on HandleMessage: one kind
// of session, and an outbox for each stream, out of which a notification that was sent
// before an answer comes before it. mcp-go's transports answer every origin and do not
// notice that a client left (SSE), have one session for all and lose a cancellation right
// behind its call (stdio), mix the notifications of calls and have anybody's cancellation
// of a number end any client's request of it (streamable HTTP), and round ids everywhere.
// Here a request is noted before the next message is read, a call over HTTP has its own
// outbox, ids come back as they were sent, and silent clients are forgotten, never one
// whose call runs. Cancellations of the newest era over HTTP are not obeyed: it has no
// sessions to say whose request is meant, and its clients close the connection.
//
// Serve stops in this order: no new calls and streams; what runs has its grace; the manager
// ends all sessions, which answers their calls; streams; listeners, open so far for cancels
// and /readyz; connections.
package transport
