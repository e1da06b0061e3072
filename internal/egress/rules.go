package egress

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// rule is one host of the operator's list.
type rule struct {
	name string     // "" for an address
	wild bool       // what ends in .name, but not name itself
	addr netip.Addr // of a rule for an address
	port uint16     // 0: 443 and 80
}

// parseRule reads HOST, HOST:PORT, or either with *. before it.
func parseRule(text string) (rule, error) {
	r, err := readRule(text)
	if err != nil {
		return rule{}, fmt.Errorf("host %q: %w; write pypi.org, *.example.com or localhost:8080", text, err)
	}
	return r, nil
}

func readRule(text string) (r rule, err error) {
	host, wild := strings.CutPrefix(text, "*.")
	r.wild = wild
	if addr, notAddress := netip.ParseAddr(host); notAddress != nil || !addr.Is6() {
		if host, r.port, err = splitHost(host); err != nil {
			return rule{}, err
		}
	}
	if r.name, r.addr, err = canonical(host); err != nil {
		return rule{}, err
	}
	if wild && r.name == "" {
		return rule{}, errors.New("*. stands before names, not before addresses")
	}
	return r, nil
}

// hasHost reports whether the rule is about the target's host, whatever the port.
func (r rule) hasHost(t target) bool {
	if t.name == "" || r.name == "" {
		return t.name == r.name && t.addr == r.addr
	}
	if r.wild {
		return strings.HasSuffix(t.name, "."+r.name)
	}
	return t.name == r.name
}

func (r rule) hasPort(port uint16) bool {
	return r.port == port || r.port == 0 && (port == 443 || port == 80)
}

// rules are the operator's list.
type rules []rule

// leave says how a target may be reached.
type leave struct {
	// anything is for a port that a rule names: what is spoken on it is the
	// operator's business.
	anything bool
	// loopback is for names that mean this machine, listed as such.
	loopback bool
}

// allow holds a target against the rules; the error is a *refusal.
func (all rules) allow(t target) (leave, error) {
	var given leave
	var known, allowed bool
	for _, r := range all {
		if !r.hasHost(t) {
			continue
		}
		known = true
		if !r.hasPort(t.port) {
			continue
		}
		allowed = true
		given.anything = given.anything || r.port != 0
		given.loopback = given.loopback || !r.wild && meansThisMachine(r.name)
	}
	switch {
	case allowed:
		return given, nil
	case known:
		return leave{}, refuse(t, "the server's --allow-net lists this host, but not this port (443 and 80 where it names none)")
	default:
		return leave{}, refuse(t, "the server's --allow-net does not list this host")
	}
}

func meansThisMachine(name string) bool {
	return name == "localhost" || strings.HasSuffix(name, ".localhost")
}

// lists reports whether an address is listed as such.
func (all rules) lists(place netip.AddrPort) bool {
	t := target{addr: place.Addr(), port: place.Port()}
	return slices.ContainsFunc(all, func(r rule) bool { return r.hasHost(t) && r.hasPort(t.port) })
}

// Bypass is for the variable NO_PROXY of a session: the names by which a program in
// it reaches its own servers, less those that the hosts list, which are the proxy's.
// Hosts that New would refuse are passed over.
func Bypass(hosts []string) string {
	var all rules
	for _, host := range hosts {
		if r, err := parseRule(host); err == nil {
			all = append(all, r)
		}
	}
	var own []string
	for _, host := range []string{"localhost", "127.0.0.1", "::1"} {
		name, addr, _ := canonical(host)
		if !slices.ContainsFunc(all, func(r rule) bool { return r.hasHost(target{name: name, addr: addr}) }) {
			own = append(own, host)
		}
	}
	return strings.Join(own, ",")
}
