package transport

import (
	"context"
	"net/http"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

func (h *HTTP) newStreamable() *server.StreamableHTTPServer {
	return server.NewStreamableHTTPServer(h.mcp,
		server.WithSessionIdManagerResolver(h.peers),
		server.WithHTTPContextFunc(h.streamableContext),
		server.WithStreamableHTTPLogger(h.log),
		server.WithDisableLocalhostProtection(true), // our own check knows more hosts
	)
}

// streamableContext says who calls. mcp-go has decided the era by then: a
// request of the newest one has no session.
func (h *HTTP) streamableContext(ctx context.Context, _ *http.Request) context.Context {
	if session := server.ClientSessionFromContext(ctx); session != nil {
		ctx = withSession(ctx, session.SessionID())
	}
	return ctx
}

func (h *HTTP) serveStreamable(w http.ResponseWriter, r *http.Request) {
	caller := CallerFrom(r.Context())
	id := r.Header.Get(mcpSession)
	modern := mcp.IsModernProtocol(r.Header.Get(mcp.HeaderProtocolVersion))
	if id != "" && !modern {
		leave := h.peers.enter(id, caller.Principal)
		if leave == nil {
			http.Error(w, "no such session; initialize a new one", http.StatusNotFound)
			return
		}
		defer leave()
	}
	if r.Method == http.MethodGet && id == "" && !modern {
		http.Error(w, "a stream needs the header "+mcpSession, http.StatusBadRequest)
		return
	}
	h.streamable.ServeHTTP(w, r)
	if r.Method == http.MethodDelete && id != "" && !modern && h.peers.find(id, caller.Principal) == nil {
		h.left(caller.ofSession(id), true)
	}
}

const mcpSession = server.HeaderKeySessionID

// left tells that a client is gone, unless it is a principal.
func (h *HTTP) left(caller Caller, gone bool) {
	if caller.Principal == "" && h.options.Left != nil {
		h.options.Left(caller.Client, gone)
	}
}
