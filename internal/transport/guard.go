package transport

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
)

// guard keeps web pages out. A browser sends what any page asks it to, to any
// address it can reach, this machine's own included; what it says of the page
// (Origin, Sec-Fetch-Site) and of the name that the page used (Host) is all
// there is to tell its requests from a client's.
type guard struct {
	origins map[string]bool
	hosts   map[string]bool
}

func newGuard(origins, hosts []string) guard {
	g := guard{origins: map[string]bool{}, hosts: map[string]bool{}}
	for _, origin := range origins {
		g.origins[strings.ToLower(strings.TrimSuffix(origin, "/"))] = true
	}
	for _, host := range hosts {
		g.hosts[hostname(host)] = true
	}
	return g
}

// Guard keeps web pages out of routes that are served apart from an HTTP. Hosts
// are as in HTTPOptions.AllowHosts.
func Guard(hosts []string, next http.Handler) http.Handler {
	return newGuard(nil, hosts).protect(next)
}

// protect lets through what no foreign page has sent.
func (g guard) protect(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		known := g.isKnownHost(r)
		if !known && !g.hosts["*"] {
			http.Error(w, "the Host header names no host of this server; its operator can allow it with --allow-host", http.StatusForbidden)
			return
		}
		foreign, allowed := g.originAllowed(r, known)
		if !allowed {
			http.Error(w, "pages of this origin are not allowed here; the operator can allow it with --allow-origin", http.StatusForbidden)
			return
		}
		if foreign {
			allowReading(w.Header(), r.Header.Get("Origin"))
			if isPreflight(r) {
				allowSending(w, r)
				return
			}
		}
		next.ServeHTTP(w, r)
	})
}

// isKnownHost holds off DNS rebinding: a page whose own name was pointed at us
// sends that name. An address in place of a name can't be rebound.
func (g guard) isKnownHost(r *http.Request) bool {
	name := hostname(r.Host)
	if name == "" {
		return false
	}
	if g.hosts[name] || name == "localhost" {
		return true
	}
	local, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if local != nil && local.Network() == "unix" {
		return true // out of a browser's reach, and without a name
	}
	address, err := netip.ParseAddr(name)
	if err != nil {
		return false
	}
	return address.IsLoopback() || local != nil && !isLoopback(local)
}

func isLoopback(a net.Addr) bool {
	address, err := netip.ParseAddrPort(a.String())
	return err == nil && address.Addr().Unmap().IsLoopback()
}

// hostname is the name in HOST or HOST:PORT, in lower case, without the
// brackets of IPv6 and the dot of the root.
func hostname(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	return strings.ToLower(strings.TrimSuffix(host, "."))
}

// originAllowed reports whether the page that sent the request may; foreign says
// that it is a page of another origin, which needs the headers of CORS. That a
// page is our own means nothing when its host is not known to be ours.
func (g guard) originAllowed(r *http.Request, known bool) (foreign, allowed bool) {
	origins := r.Header.Values("Origin")
	switch {
	case len(origins) > 1:
		return false, false
	case len(origins) == 1 && g.origins[strings.ToLower(origins[0])]:
		return true, true
	case len(origins) == 1:
		return false, known && isSameOrigin(origins[0], r)
	}
	// Without an Origin a browser may still have been sent here, by an image,
	// say. Other ports of this machine count as the same site, not the same origin.
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "none":
		return false, true
	case "same-origin":
		return false, known
	}
	return false, false
}

// isSameOrigin is true for pages of this very server, of which there are none:
// only clients that set the header themselves come this way.
func isSameOrigin(origin string, r *http.Request) bool {
	scheme := "http"
	if r.TLS != nil {
		scheme = "https"
	}
	u, err := url.Parse(origin)
	return err == nil && u.Host != "" && u.Scheme == scheme && strings.EqualFold(u.Host, r.Host)
}

// allowReading lets the page of an allowed origin read the answer.
func allowReading(header http.Header, origin string) {
	header.Set("Access-Control-Allow-Origin", origin)
	header.Add("Vary", "Origin")
	header.Set("Access-Control-Expose-Headers", mcpSession+", WWW-Authenticate, Retry-After")
}

func isPreflight(r *http.Request) bool {
	return r.Method == http.MethodOptions && r.Header.Get("Access-Control-Request-Method") != ""
}

// allowSending answers the question whether a page of an allowed origin may
// send a request that is not a simple one.
func allowSending(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Access-Control-Allow-Methods", "GET, POST, DELETE")
	if asked := r.Header.Get("Access-Control-Request-Headers"); asked != "" {
		w.Header().Set("Access-Control-Allow-Headers", asked)
	}
	w.Header().Set("Access-Control-Max-Age", "600")
	w.WriteHeader(http.StatusNoContent)
}
