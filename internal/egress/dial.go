package egress

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"time"
)

// Times for a connection to be made.
const (
	resolving  = 10 * time.Second
	connecting = 30 * time.Second // all addresses together
)

// way is a target that may be reached, and how.
type way struct {
	target target
	leave  leave
	places []netip.AddrPort
}

// find resolves a target once, and leaves out what must not be dialed. The error is
// a *refusal if nothing is left.
func (p *Proxy) find(ctx context.Context, t target) (*way, error) {
	given, err := p.rules.allow(t)
	if err != nil {
		return nil, err
	}
	addrs := []netip.Addr{t.addr}
	if t.name != "" {
		ctx, cancel := context.WithTimeout(ctx, resolving)
		defer cancel()
		if addrs, err = p.lookup(ctx, t.name); err != nil {
			return nil, fmt.Errorf("%s can't be resolved: %w", t.name, err)
		}
	}
	machine, err := p.machine()
	if err != nil {
		return nil, err
	}
	found := &way{target: t, leave: given}
	var refused error
	for _, addr := range addrs {
		place := netip.AddrPortFrom(addr.Unmap().WithZone(""), t.port)
		if why := p.forbidden(place, given, machine); why != "" {
			refused = refuse(t, why)
			continue
		}
		found.places = append(found.places, place)
	}
	if len(found.places) > 0 {
		return found, nil
	}
	if refused == nil {
		refused = fmt.Errorf("%s has no address", t.host())
	}
	return nil, refused
}

// forbidden says why a place must not be dialed, "" if it may be.
func (p *Proxy) forbidden(place netip.AddrPort, given leave, machine []netip.Addr) string {
	addr := place.Addr()
	ours := addr.IsLoopback() || addr.IsUnspecified() || slices.Contains(machine, addr)
	if p.isOwn(place, ours) {
		return "it is a server of understudy's own, which no session may reach"
	}
	if given.loopback && addr.IsLoopback() || p.rules.lists(place) {
		return ""
	}
	what := kind(addr)
	if what == "" && ours {
		what = "an address of this machine"
	}
	if what == "" {
		return ""
	}
	return fmt.Sprintf("it leads to %s, %s, which the server's --allow-net would have to list, too", addr, what)
}

// isOwn reports whether one of the server's own listeners is at the place; ours says
// that the address is one of this machine.
func (p *Proxy) isOwn(place netip.AddrPort, ours bool) bool {
	if p.own == nil {
		return false
	}
	for _, at := range p.own() {
		addr := at.Addr().Unmap()
		if at.Port() == place.Port() && (addr == place.Addr() || ours && (addr.IsUnspecified() || place.Addr().IsUnspecified())) {
			return true
		}
	}
	return false
}

// connect dials the places in their order, and nothing else. Each has its part of the time.
func (p *Proxy) connect(ctx context.Context, w *way) (net.Conn, error) {
	var errs []error
	for _, place := range w.places {
		one, cancel := context.WithTimeout(ctx, connecting/time.Duration(len(w.places)))
		conn, err := p.dial(one, place)
		cancel()
		if err == nil {
			return conn, nil
		}
		errs = append(errs, err)
	}
	return nil, errors.Join(errs...)
}
