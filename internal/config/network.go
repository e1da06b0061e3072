package config

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"
)

// Network are the settings of who listens for clients.
type Network struct {
	Addr                        string        `default:"127.0.0.1:8808" placeholder:"HOST:PORT" group:"Network" help:"Where HTTP and SSE listen; port 0 takes any free one."`
	Socket                      string        `type:"path" placeholder:"PATH" group:"Network" help:"Listen on this Unix socket instead, which only its owner may use."`
	TLSCert                     string        `name:"tls-cert" type:"path" placeholder:"FILE" group:"Network" help:"Certificate for HTTPS, with its chain, as PEM. It is read again when the file changes."`
	TLSKey                      string        `name:"tls-key" type:"path" placeholder:"FILE" group:"Network" help:"Private key of the certificate, as PEM."`
	AllowUnauthenticatedNetwork bool          `negatable:"" group:"Network" help:"Listen on other addresses than this machine's own without authentication. Whoever reaches the address then runs code here."`
	AllowOrigin                 []string      `type:"origins" placeholder:"ORIGIN,…" group:"Network" help:"Origins whose web pages may use the server, as https://example.com, separated by commas. Pages of all others are refused."`
	AllowHost                   []string      `type:"hosts" placeholder:"NAME,…" group:"Network" help:"Names of this server that clients may use, separated by commas, beside localhost, the name in --addr and plain addresses; * allows all. A proxy that passes its own name on needs it."`
	MaxCallsPerClient           int           `least:"0" default:"256" group:"Network" help:"How many calls one client may have open at once over HTTP and SSE, and how many streams; clients that can't be told apart have four times as many together for each address. 0 sets no limit."`
	MaxRequestsPerSecond        float64       `least:"0" default:"2000" group:"Network" help:"How many requests one client may send in a second over HTTP and SSE; clients that can't be told apart have four times as many together for each address. 0 sets no limit."`
	ClientTTL                   time.Duration `name:"client-ttl" default:"1h" group:"Network" help:"Forget a client of streamable HTTP of the older eras that has sent nothing for this long, and whose calls have ended; 0 never does."`
	StopGrace                   time.Duration `default:"10s" group:"Network" help:"How long running calls may go on when the server is asked to stop, before they are interrupted and answered (HTTP and SSE)."`
}

// The values of Serve.Transport.
const (
	TransportStdio = "stdio"
	TransportHTTP  = "http"
	TransportSSE   = "sse"
)

func parseTransport(name string) (string, error) {
	if !slices.Contains([]string{TransportStdio, TransportHTTP, TransportSSE}, name) {
		return "", fmt.Errorf("%q is no transport; write stdio, http, sse or http,sse", name)
	}
	return name, nil
}

// OverNetwork reports whether clients connect by HTTP or SSE.
func (s Serve) OverNetwork() bool { return !s.Has(TransportStdio) }

// Has reports whether clients may connect by the named transport.
func (s Serve) Has(transport string) bool { return slices.Contains(s.Transport, transport) }

// checkNetwork refuses a server that would be open to others by mistake.
func (s Serve) checkNetwork() error {
	var err error
	if s.Has(TransportStdio) && len(s.Transport) > 1 {
		err = errors.New("transport: stdio serves one client and stands alone; write stdio, http, sse or http,sse")
	}
	if !s.OverNetwork() {
		return err
	}
	return errors.Join(err, s.Network.check(s.Authenticates()))
}

// check refuses an address that is open to others by mistake.
func (s Network) check(authenticates bool) (err error) {
	if (s.TLSCert == "") != (s.TLSKey == "") {
		err = errors.Join(err, errors.New("tls-cert and tls-key belong together; give both, or neither for plain HTTP"))
	}
	if s.Socket != "" {
		if s.TLSCert != "" {
			err = errors.Join(err, errors.New("socket and tls-cert exclude each other: a Unix socket does not leave the machine"))
		}
		return err
	}
	local, wrong := isLocal(s.Addr)
	switch {
	case wrong != nil:
		err = errors.Join(err, wrong)
	case !local && !authenticates && !s.AllowUnauthenticatedNetwork:
		err = errors.Join(err, fmt.Errorf("addr is %s, which others than this machine can reach, and whoever reaches it runs code here; "+
			"listen on 127.0.0.1, set up authentication, or say --allow-unauthenticated-network", s.Addr))
	}
	return err
}

// isLocal reports whether only this machine can reach the address.
func isLocal(addr string) (bool, error) {
	host, port, err := net.SplitHostPort(addr)
	if err != nil || port == "" {
		return false, fmt.Errorf("addr is %q; write HOST:PORT, as 127.0.0.1:8808", addr)
	}
	if strings.EqualFold(host, "localhost") {
		return true, nil
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback(), nil
}

// parseOrigin takes what a browser sends as Origin.
func parseOrigin(text string) (string, error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme == "" || u.Host == "" || strings.ContainsAny(text, "*?#@") || strings.Trim(u.Path, "/") != "" {
		return "", fmt.Errorf("%q is no origin; write it as a browser sends it: https://example.com or http://localhost:3000", text)
	}
	return strings.TrimSuffix(text, "/"), nil
}

// parseHost takes a name, or * for all.
func parseHost(text string) (string, error) {
	if text == "" || strings.ContainsAny(text, "/ ") || strings.Contains(text, "*") && text != "*" {
		return "", fmt.Errorf("%q is no name of a host; write example.com, or * for all", text)
	}
	return text, nil
}
