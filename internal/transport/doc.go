// Package transport carries MCP between clients and the server: it knows who
// calls and keeps the wire clean, and nothing of Python.
//
// A request over HTTP passes, from outside in:
//
//	observed      a response that keeps time (responder.go); panics end here; counters
//	guard         Host, Origin, Sec-Fetch-Site; CORS for the origins that are allowed
//	routes        exact paths, methods
//	identified    the principal, with failures counted by address
//	bodies        type, size, time and memory of a message; message.go reads its head
//	peers, limits whose session it is, whether it is in use; calls, streams, rate
//	mcp-go        streamable HTTP          stream.go   SSE, on mcp-go's HandleMessage
//
// Streamable HTTP is mcp-go's, with what it leaves open around it: session ids are ours and
// belong to a principal; each call has a queue of notifications of its own, or some could be
// lost before an answer; our own sweep forgets silent clients, never one whose call runs; an
// id that mcp-go would change is an alias on its way there; an array of messages is taken
// apart; cancellations of the newest era are not passed on, as without sessions mcp-go would
// cancel any client's request of that number. Its SSE answers every origin, does not notice
// that a client left, and reorders: ours is sse.go. On stdio it has one session for all and
// handles the 101st call on the read loop; here a request is noted before the next line is
// read, so a cancel right behind it counts.
//
// Serve stops in this order: no new calls and streams; what runs has its grace; the manager
// ends all sessions, which answers their calls; streams; listeners, open so far for cancels
// and /readyz; connections.
package transport
