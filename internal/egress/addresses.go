package egress

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
)

// special are the networks that no public host is in, beside those that netip
// knows: RFC 6890 and its registry.
var special = []netip.Prefix{
	netip.MustParsePrefix("0.0.0.0/8"),
	netip.MustParsePrefix("100.64.0.0/10"), // carriers', and some clouds' metadata
	netip.MustParsePrefix("192.0.0.0/24"),
	netip.MustParsePrefix("192.0.2.0/24"),
	netip.MustParsePrefix("192.88.99.0/24"),
	netip.MustParsePrefix("198.18.0.0/15"),
	netip.MustParsePrefix("198.51.100.0/24"),
	netip.MustParsePrefix("203.0.113.0/24"),
	netip.MustParsePrefix("240.0.0.0/4"),
}

// publicSix is all that IPv6 gives to hosts; specialSix are the parts of it that
// carry IPv4 addresses or are for examples.
var (
	publicSix  = netip.MustParsePrefix("2000::/3")
	specialSix = []netip.Prefix{
		netip.MustParsePrefix("2001::/23"), // Teredo and more
		netip.MustParsePrefix("2001:db8::/32"),
		netip.MustParsePrefix("2002::/16"), // 6to4
		netip.MustParsePrefix("3fff::/20"),
	}
	// translated is how a host without IPv4 reaches it (RFC 6052).
	translated = netip.MustParsePrefix("64:ff9b::/96")
)

// kind says what an address is that is not public, "" for one that is.
func kind(a netip.Addr) string {
	a = a.Unmap()
	if translated.Contains(a) {
		bytes := a.As16()
		return kind(netip.AddrFrom4([4]byte(bytes[12:])))
	}
	contains := func(p netip.Prefix) bool { return p.Contains(a) }
	switch {
	case a.IsLoopback():
		return "an address of this machine"
	case a.IsPrivate():
		return "an address of a private network"
	case a.IsLinkLocalUnicast():
		return "a link-local address"
	case a.Is4() && (a.IsMulticast() || slices.ContainsFunc(special, contains)),
		a.Is6() && (!publicSix.Contains(a) || slices.ContainsFunc(specialSix, contains)):
		return "not a public address"
	}
	return ""
}

// machineAddresses are those of this machine's interfaces, which change.
func machineAddresses() ([]netip.Addr, error) {
	all, err := net.InterfaceAddrs()
	if err != nil {
		return nil, fmt.Errorf("the addresses of this machine: %w", err)
	}
	var addrs []netip.Addr
	for _, one := range all {
		if prefix, ok := one.(*net.IPNet); ok {
			if addr, ok := netip.AddrFromSlice(prefix.IP); ok {
				addrs = append(addrs, addr.Unmap())
			}
		}
	}
	return addrs, nil
}
