package app

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"understudy/internal/auth"
	"understudy/internal/gateway"
	"understudy/internal/metrics"
	"understudy/internal/phrase"
	"understudy/internal/transport"
	"understudy/sessions"
)

// The routes of who watches over the server.
const (
	healthPath  = "/healthz"
	readyPath   = "/readyz"
	metricsPath = "/metrics"
)

// watched is what shows who watches how a server does.
type watched struct {
	ready   http.Handler
	metrics *metrics.Metrics
	log     *slog.Logger
}

func (a *App) watched() watched { return watched{a.ready, a.metrics, a.log} }

// operate adds to the options who may come in, what is counted, and the routes
// of who watches.
func (n *network) operate(w watched, options *transport.HTTPOptions) {
	options.Routes = map[string]transport.Route{healthPath: {Handler: http.HandlerFunc(alive)}, readyPath: {Handler: w.ready}}
	n.door.admit(options)
	options.Observe = w.observe
	if n.watchers == nil {
		metrics := transport.Route{Handler: w.metrics.Handler()}
		if n.door != nil {
			metrics.Authenticator = n.door.gate(auth.ScopeMetrics)
		}
		options.Routes[metricsPath] = metrics
	}
}

// listenForWatchers takes the address of --metrics-addr; nil when there is none.
func listenForWatchers(addr string) (net.Listener, error) {
	if addr == "" {
		return nil, nil
	}
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("metrics-addr: %w", err)
	}
	return listener, nil
}

// watch answers at --metrics-addr until stop is called.
func (n *network) watch(w watched) (stop func()) {
	if n.watchers == nil {
		return func() {}
	}
	mux := http.NewServeMux()
	mux.HandleFunc(healthPath, alive)
	mux.Handle(readyPath, w.ready)
	mux.Handle(metricsPath, w.metrics.Handler())
	if address, ok := n.watchers.Addr().(*net.TCPAddr); ok && !address.IP.IsLoopback() {
		w.log.Warn("others than this machine can reach --metrics-addr, which asks for no token", "addr", address.String())
	}
	server := &http.Server{
		Handler: transport.Guard(n.hosts(n.who.MetricsAddr), mux), ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 30 * time.Second,
		WriteTimeout: time.Minute, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 16 << 10,
		ErrorLog: slog.NewLogLogger(w.log.Handler(), slog.LevelDebug),
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := server.Serve(n.watchers); err != http.ErrServerClosed {
			w.log.Error("the address of --metrics-addr is not served any more", "error", err)
		}
	}()
	w.log.Info("serving metrics", "addr", n.watchers.Addr().String())
	return func() {
		_ = server.Close() // whoever scrapes gets nothing more
		<-done
	}
}

// observe counts a request and writes it to the log: the usual ones for those
// who look closely only.
func (w watched) observe(x transport.Exchange) {
	w.metrics.Exchange(metrics.Exchange{
		Route: x.Route, Method: x.Method, Status: x.Status, Bytes: x.Sent, Duration: x.Duration,
		Stream: isStream(x),
	})
	w.log.Log(context.Background(), levelOf(x.Status), "request",
		"request", x.Caller.Request, "client", nameOf(x.Caller), "address", x.Address,
		"method", x.Method, "route", x.Route, "rpc", x.RPC, "status", x.Status,
		"received", x.Received, "sent", x.Sent, "seconds", rounded(x.Duration))
}

// isStream reports whether the answer stays open: the GETs of the older eras, and
// what listens in the newest one.
func isStream(x transport.Exchange) bool {
	switch x.Method {
	case http.MethodGet:
		return x.Route == transport.StreamablePath || x.Route == transport.SSEPath
	case http.MethodPost:
		return x.Route == transport.StreamablePath && x.RPC == string(mcp.MethodSubscriptionsListen)
	}
	return false
}

// newMetrics returns the counters of this server.
func (a *App) newMetrics() *metrics.Metrics {
	stats := func(ctx context.Context) sessions.Stats { return a.manager.Stats(ctx) }
	return metrics.New(metrics.Options{Version: Version(), Stats: stats, Logger: a.log})
}

// started is told of each fresh interpreter.
func (a *App) started(origin string, took time.Duration) {
	a.metrics.Start(origin, took)
	a.ready.prove()
}

// ended is told of each run that has ended.
func (a *App) ended(r sessions.Result) {
	if a.workspace != nil {
		a.workspace.ran.Store(true)
	}
	a.metrics.Ended(r)
}

func levelOf(status int) slog.Level {
	switch {
	case status >= http.StatusInternalServerError:
		return slog.LevelWarn
	case status == http.StatusUnauthorized, status == http.StatusForbidden, status == http.StatusTooManyRequests:
		return slog.LevelInfo
	}
	return slog.LevelDebug
}

// tellUsage says to a gateway whether the server is needed.
func (a *App) tellUsage(w http.ResponseWriter, _ *http.Request) {
	_, running := a.manager.Usage()
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(gateway.Usage{Running: running}) // who has left gets nothing
}

// tenancy says whose this server is, where a gateway has given it to a client.
func (a *App) tenancy() (introduction, lost string) {
	tenant := a.tenant.Load()
	if tenant == nil {
		return "", ""
	}
	lease, replaced := tenant.Lease()
	if lease == 0 {
		return "", ""
	}
	introduction = "this pod is yours alone; it ends, with its variables and files, " + phrase.Duration(lease) + " after your last call"
	if replaced {
		lost = "the pod that you had before is gone, with its interpreters, variables and files"
		introduction = lost + "; " + introduction
	}
	return introduction, lost
}
