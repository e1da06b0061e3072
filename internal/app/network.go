package app

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"log/slog"
	"net"
	"net/http"
	"slices"

	"understudy/internal/auth"
	"understudy/internal/config"
	"understudy/internal/connect"
	"understudy/internal/gateway"
	"understudy/internal/transport"
	"understudy/sessions"
)

// network is where clients connect, before there is a server to answer them.
type network struct {
	settings config.Network
	who      config.Auth
	listener net.Listener
	tls      *tls.Config  // nil for plain HTTP
	door     *door        // nil: everybody may come in
	watchers net.Listener // nil: they come the clients' way
}

func openNetwork(settings config.Network, who config.Auth, log *slog.Logger) (_ *network, err error) {
	n := &network{settings: settings, who: who}
	defer func() {
		if err != nil {
			n.close()
		}
	}()
	if n.door, err = openDoor(who, log); err != nil {
		return nil, err
	}
	if settings.TLSCert != "" {
		if n.tls, err = transport.TLSConfig(settings.TLSCert, settings.TLSKey, log); err != nil {
			return nil, err
		}
	}
	if n.watchers, err = listenForWatchers(who.MetricsAddr); err != nil {
		return nil, err
	}
	if settings.Socket != "" {
		n.listener, err = connect.ListenSocket(settings.Socket)
	} else {
		n.listener, err = net.Listen("tcp", settings.Addr)
	}
	if err != nil {
		return nil, err
	}
	return n, nil
}

// close frees the address, if it was not done already.
func (n *network) close() {
	if n.listener != nil {
		_ = n.listener.Close()
	}
	n.door.close()
	if n.watchers != nil {
		_ = n.watchers.Close()
	}
}

// serve answers clients until ctx ends and their calls have been answered.
func (n *network) serve(ctx context.Context, a *App) error {
	w := a.watched()
	options := n.options(a.config.Serve.Transport, w, nil)
	if n.door != nil && n.door.tokens != nil {
		a.tenant.Store(n.door.tenant)
		gateways := &auth.Gate{Tokens: n.door.tokens, Scope: auth.ScopeGateway} // no issuer makes them
		options.Routes[gateway.UsagePath] = transport.Route{Handler: http.HandlerFunc(a.tellUsage), Authenticator: gateways}
	}
	options.Left, options.Interrupt = a.left, a.interrupt
	defer n.watch(w)()
	defer context.AfterFunc(ctx, a.ready.stop)()
	listener := n.listener
	if n.settings.Socket != "" {
		listener = a.keepCodeOut(listener)
	}
	return transport.NewHTTP(a.server, options).Serve(ctx, listener)
}

// options are the settings in the words of transport, with the routes of who watches. To
// is where messages are answered, nil for here.
func (n *network) options(transports []string, w watched, to transport.Forwarder) transport.HTTPOptions {
	s := n.settings
	o := transport.HTTPOptions{
		Forward:    to,
		Streamable: slices.Contains(transports, config.TransportHTTP), SSE: slices.Contains(transports, config.TransportSSE),
		AllowOrigins: s.AllowOrigin, AllowHosts: n.hosts(s.Addr), TLS: n.tls,
		MaxRequest: 64 << 20, MaxConnections: 2048,
		MaxCalls: s.MaxCallsPerClient, MaxRate: s.MaxRequestsPerSecond,
		ClientTTL: s.ClientTTL, StopGrace: s.StopGrace, Logger: w.log,
	}
	n.operate(w, &o)
	return o
}

// hosts are the names that clients may use for an address of ours.
func (n *network) hosts(addr string) []string {
	hosts := n.settings.AllowHost
	if host, _, err := net.SplitHostPort(addr); err == nil && host != "" {
		hosts = append([]string{host}, hosts...)
	}
	return hosts
}

// left treats the sessions of a client that is gone. When it said so itself they
// are ended, for which nobody waits here.
func (a *App) left(client string, bye bool) {
	a.shown.Leave(sessions.Client(client))
	if !bye {
		a.manager.Leave(context.Background(), sessions.Client(client), false)
		return
	}
	a.leaving.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), closeTime)
		defer cancel()
		a.manager.Leave(ctx, sessions.Client(client), true)
	})
}

// interrupt ends all sessions, so that their calls are answered with what they
// have come to.
func (a *App) interrupt() {
	ctx, cancel := context.WithTimeout(context.Background(), closeTime)
	defer cancel()
	a.manager.Close(ctx)
}

// door is who may come in over a network.
type door struct {
	tenant   *auth.Tenant   // whose this server is, if a gateway comes in
	tokens   *auth.Tokens   // nil without --auth-tokens
	resource *auth.Resource // nil without --auth-issuer
}

// openDoor reads what the settings name. It returns nil when everybody may
// come in.
func openDoor(s config.Auth, log *slog.Logger) (d *door, err error) {
	if !s.Authenticates() {
		return nil, nil
	}
	d = &door{tenant: auth.NewTenant(rand.Text())}
	if s.AuthTokens != "" {
		if d.tokens, err = auth.OpenTokens(s.AuthTokens, log); err != nil {
			return nil, err
		}
		log.Info("clients come in with a token of the file", "file", s.AuthTokens, "tokens", d.tokens.Count())
	}
	if s.AuthIssuer == "" {
		return d, nil
	}
	d.resource, err = auth.NewResource(auth.ResourceOptions{
		Issuer: s.AuthIssuer, Audience: s.AuthAudience, Scopes: s.AuthScopes, JWKSURL: s.AuthJWKSURL,
		PrincipalClaim: s.AuthPrincipalClaim, PublicURL: s.PublicURL, Logger: log,
	})
	if err != nil {
		return nil, err
	}
	log.Info("clients come in with a token of the issuer", "issuer", s.AuthIssuer)
	return d, nil
}

func (d *door) close() {
	if d != nil && d.resource != nil {
		d.resource.Close()
	}
}

// gate lets in who has a token for scope.
func (d *door) gate(scope string) *auth.Gate {
	return &auth.Gate{Tokens: d.tokens, Resource: d.resource, Scope: scope}
}

// admit has the transport ask who sends a request, and tells clients where
// tokens are to be had.
func (d *door) admit(options *transport.HTTPOptions) {
	if d == nil {
		return
	}
	gate := d.gate(auth.ScopeMCP)
	options.Authenticator = gate
	if options.Forward == nil { // no gateway speaks for a client of another
		gate.Tenant = d.tenant
		options.Headers = map[string]string{auth.HeaderInstance: d.tenant.Instance()}
	}
	if d.resource == nil {
		return
	}
	var served []string
	if options.Streamable {
		served = append(served, transport.StreamablePath)
	}
	if options.SSE {
		served = append(served, transport.SSEPath)
	}
	for path, handler := range d.resource.Metadata(served) {
		options.Routes[path] = transport.Route{Handler: handler}
	}
}
