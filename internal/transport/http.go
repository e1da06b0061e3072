package transport

import (
	"cmp"
	"crypto/tls"
	"log/slog"
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

// HTTPOptions say what an HTTP server offers and what it allows. The zero
// value of each field is a default that suits a server on this machine.
type HTTPOptions struct {
	Streamable bool // serve streamable HTTP at StreamablePath
	SSE        bool // serve HTTP with SSE at SSEPath and MessagePath

	// Authenticator says who sent a request; nil lets everybody in.
	Authenticator Authenticator
	// Forward, if set, has the messages of both answered elsewhere.
	Forward Forwarder
	// Headers are set in the answers to all who were let in.
	Headers map[string]string
	// Routes are served beside MCP, by path. They are behind the checks of Host
	// and Origin, and behind an authentication of their own if they have one.
	Routes map[string]Route
	// Left is called when a client is gone that has no principal: gone is true when
	// it said so, false when its stream broke, its process ended, or it was silent
	// for too long. It must not block for long.
	Left func(client string, gone bool)
	// Observe is called after each request; it must not block.
	Observe func(Exchange)

	// AllowOrigins are the origins whose pages may use the server, as
	// https://example.com.
	AllowOrigins []string
	// AllowHosts are the names, beside those of this machine itself, that the
	// Host header may have; "*" allows all.
	AllowHosts []string
	// TLS secures the listeners that are no Unix sockets; nil leaves them plain.
	TLS *tls.Config

	MaxRequest     int64         // bytes of one message; 0 is 64 MiB
	MaxConnections int           // at once, for each listener; 0 sets no limit
	MaxCalls       int           // of one client, at once; 0 sets no limit
	MaxRate        float64       // requests of one client, a second; 0 sets no limit
	ClientTTL      time.Duration // a silent client of an older era is forgotten after it; 0 is never

	// StopGrace is how long running calls may go on when the server stops.
	StopGrace time.Duration
	// Interrupt stops what runs, so that calls are answered; it is called once,
	// when StopGrace is over.
	Interrupt func()

	Logger *slog.Logger

	sending, reading, heartbeat, processSweep time.Duration // shorter in tests
}

// Route is a handler and who says who may use it; nil lets everybody.
type Route struct {
	http.Handler
	Authenticator Authenticator
}

func (o *HTTPOptions) setDefaults() {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.MaxRequest <= 0 {
		o.MaxRequest = maxLine
	}
	o.sending, o.reading = cmp.Or(o.sending, sending), cmp.Or(o.reading, reading)
	o.heartbeat, o.processSweep = cmp.Or(o.heartbeat, heartbeat), cmp.Or(o.processSweep, processSweep)
}

// HTTP serves MCP over HTTP, both streamable and with SSE.
type HTTP struct {
	options HTTPOptions
	log     *slog.Logger
	mcp     *server.MCPServer
	handler http.Handler

	peers     *peers
	processes processes
	bodies    *bodies
	limits    *limits
	failures  *failures
	work      *work
}

// NewHTTP returns a server of MCP over HTTP. Serve runs it.
func NewHTTP(s *server.MCPServer, options HTTPOptions) *HTTP {
	options.setDefaults()
	h := &HTTP{
		options: options, log: options.Logger, mcp: s, peers: newPeers(), work: newWork(),
		bodies: newBodies(options.MaxRequest, options.sending), limits: newLimits(options.MaxCalls, options.MaxRate, startBurst),
		failures: newFailures(),
	}
	guarded := newGuard(options.AllowOrigins, options.AllowHosts).protect(h.routes())
	h.handler = h.observed(guarded)
	return h
}

// routes finds the handler of a path, which must be exact: a path that is
// cleaned up first is one that a proxy's rules may have seen otherwise.
func (h *HTTP) routes() http.Handler {
	routes := map[string]http.Handler{}
	add := func(path string, handler methods) {
		if h.options.Forward != nil {
			handler = h.forwarding(handler)
		}
		routes[path] = h.identified(Route{handler, h.options.Authenticator})
	}
	if h.options.Streamable {
		add(StreamablePath, methods{http.MethodPost: h.post, http.MethodGet: h.listen, http.MethodDelete: h.goodbye})
	}
	if h.options.SSE {
		add(SSEPath, methods{http.MethodGet: h.openStream})
		add(MessagePath, methods{http.MethodPost: h.takeMessage})
	}
	for path, route := range h.options.Routes {
		routes[path] = h.identified(route)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if handler := routes[r.URL.Path]; handler != nil {
			exchangeFrom(r.Context()).Route = r.URL.Path
			handler.ServeHTTP(w, r)
			return
		}
		http.Error(w, "nothing is here", http.StatusNotFound)
	})
}

// methods are what can be done at one path.
type methods map[string]http.HandlerFunc

func (m methods) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if handler := m[r.Method]; handler != nil {
		handler(w, r)
		return
	}
	for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodDelete} {
		if m[method] != nil {
			w.Header().Add("Allow", method)
		}
	}
	http.Error(w, "this method is not allowed here", http.StatusMethodNotAllowed)
}
