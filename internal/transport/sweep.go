package transport

import (
	"context"
	"io"
	"net/http"
	"time"

	"github.com/mark3labs/mcp-go/server"
)

// sweep forgets clients of streamable HTTP that are silent for too long, until
// ctx ends. mcp-go's own sweep would also end those whose call is running.
func (h *HTTP) sweep(ctx context.Context) {
	ttl := h.options.ClientTTL
	if ttl <= 0 {
		return
	}
	ticker := time.NewTicker(max(ttl/4, time.Millisecond))
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-ticker.C:
			h.forgetSilent(ctx, now.Add(-ttl))
		}
	}
}

// forgetSilent forgets the clients of streamable HTTP that have not been busy since
// then.
func (h *HTTP) forgetSilent(ctx context.Context, then time.Time) {
	for _, silent := range h.peers.silent(then) {
		h.forget(ctx, silent, "it sent nothing for long")
	}
}

// forget removes what mcp-go and we keep of a client.
func (h *HTTP) forget(ctx context.Context, p *peer, why string) {
	h.log.Info("a client is forgotten: "+why, "session", shortened(p.id))
	caller := Caller{Principal: p.principal}
	if p.principal != "" {
		caller.Client = principalPrefix + p.principal
	}
	h.streamable.Handle(nowhere{http.Header{}}, &server.HTTPRequest{
		Method: http.MethodDelete, Header: http.Header{mcpSession: {p.id}}, Context: WithCaller(ctx, caller),
	})
	h.left(caller.ofSession(p.id), false)
}

// shortened is enough of a session's id to find it in the log, and too little
// to use it.
func shortened(id string) string { return id[:min(8, len(id))] }

// nowhere is a response that nobody reads.
type nowhere struct{ header http.Header }

func (n nowhere) Header() http.Header         { return n.header }
func (n nowhere) WriteHeader(int)             {}
func (n nowhere) Write(p []byte) (int, error) { return io.Discard.Write(p) }
func (n nowhere) Flush()                      {}
func (n nowhere) CanStream() bool             { return false }
