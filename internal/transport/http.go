package transport

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/mark3labs/mcp-go/server"
)

// The routes of MCP.
const (
	StreamablePath = "/mcp"
	SSEPath        = "/sse"
	MessagePath    = "/message"
)

// HTTPOptions say what an HTTP server offers and what it allows.
type HTTPOptions struct {
	Streamable bool // serve streamable HTTP at StreamablePath
	SSE        bool // serve HTTP with SSE at SSEPath and MessagePath

	// Authenticator says who sent a request; nil lets everybody in.
	Authenticator Authenticator
	// Routes are served beside MCP, by path. They are behind the checks of Host
	// and Origin, and not behind authentication.
	Routes map[string]http.Handler
	// Left is called when a client of an older era is gone: gone is true when it
	// said so, false when its stream broke or it was silent for too long. It is
	// not called for principals, whom a lost connection says nothing about. It
	// must not block for long.
	Left func(client string, gone bool)

	Logger *slog.Logger
}

// HTTP serves MCP over HTTP, both streamable and with SSE.
type HTTP struct {
	options    HTTPOptions
	log        *slog.Logger
	mcp        *server.MCPServer
	streamable *server.StreamableHTTPServer
	peers      *peers
	handler    http.Handler
}

// NewHTTP returns a server of MCP over HTTP. Serve runs it; Handler is for who
// brings an http.Server along.
func NewHTTP(s *server.MCPServer, options HTTPOptions) *HTTP {
	if options.Logger == nil {
		options.Logger = slog.New(slog.DiscardHandler)
	}
	h := &HTTP{options: options, log: options.Logger, mcp: s, peers: newPeers()}
	h.streamable = h.newStreamable()
	h.handler = h.routes()
	return h
}

// Handler returns the whole surface, its checks included.
func (h *HTTP) Handler() http.Handler { return h.handler }

func (h *HTTP) routes() http.Handler {
	mux := http.NewServeMux()
	if h.options.Streamable {
		mux.Handle(StreamablePath, h.identified(http.HandlerFunc(h.serveStreamable)))
	}
	if h.options.SSE {
		mux.Handle("GET "+SSEPath, h.identified(http.HandlerFunc(h.serveStream)))
		mux.Handle("POST "+MessagePath, h.identified(http.HandlerFunc(h.serveMessage)))
	}
	for path, handler := range h.options.Routes {
		mux.Handle(path, handler)
	}
	return noOrigin(mux)
}

// noOrigin refuses what a page in a browser sends.
func noOrigin(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Origin") != "" {
			http.Error(w, "this origin is not allowed", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// Serve answers on the listeners until ctx ends. It closes them.
func (h *HTTP) Serve(ctx context.Context, listeners ...net.Listener) error {
	streams, endStreams := context.WithCancel(context.Background())
	defer endStreams()
	s := &http.Server{
		Handler:           h.handler,
		ReadHeaderTimeout: 10 * time.Second,
		IdleTimeout:       2 * time.Minute,
		BaseContext:       func(net.Listener) context.Context { return streams },
		ErrorLog:          slog.NewLogLogger(h.log.Handler(), slog.LevelDebug),
	}
	ended := make(chan error, len(listeners))
	for _, l := range listeners {
		h.log.Info("serving MCP over HTTP", "addr", l.Addr().String())
		go func() { ended <- s.Serve(l) }()
	}
	var err error
	select {
	case <-ctx.Done():
	case err = <-ended:
	}
	endStreams()
	_ = s.Close()
	return err
}
