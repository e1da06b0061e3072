package config

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

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
func (s Serve) OverNetwork() bool { return !slices.Contains(s.Transport, TransportStdio) }

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
	case !local && !s.Authenticates() && !s.AllowUnauthenticatedNetwork:
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
