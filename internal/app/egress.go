package app

import (
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"slices"

	"understudy/internal/config"
	"understudy/internal/egress"
)

// newEgress returns the proxy for the hosts of --allow-net; nil where sessions reach
// nothing, or all. The addresses are those at which this server listens.
func newEgress(hosts []string, own []netip.AddrPort, log *slog.Logger) (*egress.Proxy, error) {
	if len(hosts) == 0 {
		return nil, nil
	}
	if slices.Contains(hosts, config.NetAll) {
		if len(hosts) > 1 {
			return nil, fmt.Errorf("allow-net: %s stands alone, without hosts beside it", config.NetAll)
		}
		return nil, nil
	}
	p, err := egress.New(egress.Options{Hosts: hosts, Own: func() []netip.AddrPort { return own }, Logger: log})
	if err != nil {
		return nil, fmt.Errorf("allow-net: %w", err)
	}
	return p, nil
}

// serving is what a worker's listener for the proxy is handed to, nil without one.
func serving(p *egress.Proxy) func(family string, l net.Listener) {
	if p == nil {
		return nil
	}
	return p.Serve
}

// ownPlaces are the addresses at which a server with these settings listens. A port
// that the system chooses isn't among them: nobody can list it beforehand.
func ownPlaces(s config.Serve) []netip.AddrPort {
	var texts []string
	if s.OverNetwork() && s.Socket == "" {
		texts = append(texts, s.Addr)
	}
	if s.OverNetwork() && s.MetricsAddr != "" {
		texts = append(texts, s.MetricsAddr)
	}
	var all []netip.AddrPort
	for _, text := range texts {
		// What can't be resolved can't be listened on, which Serve says.
		if addr, err := net.ResolveTCPAddr("tcp", text); err == nil && addr.Port != 0 {
			ip, _ := netip.AddrFromSlice(addr.IP)
			if !ip.IsValid() { // all of them, as :8808 says
				ip = netip.IPv6Unspecified()
			}
			all = append(all, netip.AddrPortFrom(ip.Unmap(), uint16(addr.Port)))
		}
	}
	return all
}
