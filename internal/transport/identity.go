package transport

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"understudy/internal/proc"
)

// Caller is who sent a request. Everything that decides it is in this file:
//
//	who calls                                     Client                   it has left when
//	a principal, on any connection and era        principal:NAME           never
//	the peer on stdio                             stdio                    its stream ends
//	a connection of ServeLines                    as its server says       its server says so
//	without authentication:
//	  an MCP session of SSE                       session:ID               its stream ends
//	  an MCP session of streamable HTTP           session:ID               it says so (DELETE), or was silent for long
//	  a request without a session (the newest
//	  era, or one of an older era that leaves
//	  the session out), from this machine
//	    its process is known                      process:PID.START NAME   the process has ended
//	    its user alone is known                   user:UID NAME            never
//	  one that a proxy has passed on, from
//	  another machine, or from this machine
//	  where that doesn't tell (not Linux)         "", anonymous            never: it owns nothing
//
// NAME of a process or user is what the client calls itself; requests of an older era
// without a session have none. START tells a process from a later one of the same
// number. Of processes that share a connection it is the one that started first: the
// others were forked from it. The user alone is known where the process is another
// user's, or in another container that shares the network.
//
// A principal may name a conversation in a request's metadata. It owns all the same:
// a conversation only has a default interpreter of its own.
//
// A proxy on this machine that adds no header and speaks HTTP/1.1 is one process, and
// whoever it passes on is one client. Such a server needs authentication, or --default-interpreter none.
type Caller struct {
	// Client is what sessions belong to, as in the table.
	Client string
	// Principal is the name of who authenticated; empty without authentication.
	Principal string
	// Conversation is what a principal's client names one of its conversations;
	// empty where it names none.
	Conversation string
	// Request names the request in the log.
	Request string
	// Trace is the span that the request names.
	Trace Trace
}

// Trace is a span of who sent a request, as W3C Trace Context names it; empty for none.
type Trace struct{ Parent, State string }

// Fields are the headers, or the metadata, that name it.
func (t Trace) Fields() map[string]string {
	return map[string]string{"traceparent": t.Parent, "tracestate": t.State}
}

// The prefixes of Caller.Client.
const (
	sessionPrefix   = "session:"
	principalPrefix = "principal:"
	processPrefix   = "process:"
	userPrefix      = "user:"
)

// conversationKeys are where clients say in the metadata of a request which of their
// conversations it belongs to.
var conversationKeys = []string{"openai/session"} // ChatGPT

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

// IsPrincipal reports whether a client has authenticated.
func IsPrincipal(client string) bool { return strings.HasPrefix(client, principalPrefix) }

// ofPrincipal is the caller once it has authenticated.
func (c Caller) ofPrincipal(name string) Caller {
	c.Principal, c.Client = name, principalPrefix+name
	return c
}

// ofSession is the caller once its MCP session is known: a principal stays one.
func (c Caller) ofSession(id string) Caller {
	if c.Principal == "" && id != "" {
		c.Client = sessionPrefix + id
	}
	return c
}

// of is the caller of one message: a principal in its conversation, in a span. What a proxy
// has put into the headers is below what the client has put into the message.
func (c Caller) of(m message) Caller {
	if c.Principal != "" {
		c.Conversation = m.conversation
	}
	if c.Trace.Parent == "" {
		c.Trace = m.trace
	}
	return c
}

// withoutSession is the caller of a message that belongs to no MCP session.
func (h *HTTP) withoutSession(r *http.Request, m message) Caller {
	c := CallerFrom(r.Context()).of(m)
	if c.Principal != "" || isForwarded(r) {
		return c
	}
	peer := peerFrom(r.Context())
	switch {
	case peer.process != (proc.ID{}):
		c.Client = processPrefix + peer.process.String() + " " + h.processes.name(peer.process, m.clientName)
	case peer.user != "":
		c.Client = userPrefix + peer.user + " " + shortName(m.clientName)
	}
	return c
}

// Origin returns where a request comes from, which a program can't choose as it can its
// name or MCP session: "process:PID.START" or "user:UID" on this machine where that is
// known and no proxy is between, else "address:IP"; "" outside HTTP.
func Origin(ctx context.Context) string {
	e := exchangeFrom(ctx)
	if !e.forwarded {
		switch peer := peerFrom(ctx); {
		case peer.process != (proc.ID{}):
			return processPrefix + peer.process.String()
		case peer.user != "":
			return userPrefix + peer.user
		}
	}
	if e.Address == "" {
		return ""
	}
	return "address:" + e.Address
}

// HasEnded reports whether an Origin is a process that has ended.
func HasEnded(origin string) bool {
	var p proc.ID
	text, ok := strings.CutPrefix(origin, processPrefix)
	if !ok {
		return false
	}
	_, err := fmt.Sscanf(text, "%d.%d", &p.PID, &p.Start)
	return err == nil && p.HasEnded()
}

// isForwarded reports whether a proxy has passed the request on: the process at the
// other end of the connection is not the client then. HTTP/1.0 is what proxies speak that
// add no header (nginx as it comes), and no client of MCP.
func isForwarded(r *http.Request) bool {
	if !r.ProtoAtLeast(1, 1) {
		return true
	}
	for name := range r.Header {
		if name == "Forwarded" || name == "Via" || name == "X-Real-Ip" || strings.HasPrefix(name, "X-Forwarded-") {
			return true
		}
	}
	return false
}

// shortName is what is kept of the name that a client gives itself.
func shortName(name string) string { return name[:min(len(name), 64)] }
