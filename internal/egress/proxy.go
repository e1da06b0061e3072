package egress

import (
	"context"
	"crypto/x509"
	"errors"
	"log/slog"
	"net"
	"net/netip"
	"sync"
	"time"
)

// Bounds of what sessions can take of the server.
const (
	perSession = 64               // connections of one listener
	ofItsOwn   = 8                // of these, that no other listener's can take the place of
	inAll      = 512              // connections of all listeners beyond their own
	patience   = 10 * time.Second // of a connection that waits for another to end
	idling     = 10 * time.Minute // without a byte in either direction
	heading    = 30 * time.Second // for the head of a request to come
	headBytes  = 64 << 10
)

// Options are what a Proxy is made of.
type Options struct {
	// Hosts are the rules: pypi.org, *.example.com (not example.com itself), either
	// with :PORT behind it, which otherwise is 443 or 80. Names that lead to this
	// machine or into a private network need the address listed as well, but for
	// localhost, which may stand alone.
	Hosts []string
	// Own are the addresses at which the server itself listens; nobody reaches them
	// through the proxy, whatever the hosts say. Nil: it has none.
	Own func() []netip.AddrPort
	// Secrets are put into requests to their hosts, which must be among Hosts.
	Secrets []Secret
	Logger  *slog.Logger // nil discards
}

// Proxy serves sessions on listeners that it is handed.
type Proxy struct {
	rules   rules
	secrets *secrets
	own     func() []netip.AddrPort
	log     *slog.Logger
	// Ways to the world, others in tests: names, connections, this machine's addresses.
	lookup  func(context.Context, string) ([]netip.Addr, error)
	dial    func(context.Context, netip.AddrPort) (net.Conn, error)
	machine func() ([]netip.Addr, error)
	roots   *x509.CertPool // nil: the system's

	perSession     int64
	ofItsOwn       int64
	places         chan struct{} // for the connections of any listener beyond its own
	patience, idle time.Duration

	life    context.Context // ends with Close
	endLife context.CancelFunc
	mu      sync.Mutex // of what follows, and of work.Go against work.Wait
	closed  bool
	open    map[*served]string // their names
	work    sync.WaitGroup
}

// New makes a proxy; the error names the host that is none.
func New(o Options) (*Proxy, error) {
	p := &Proxy{
		own: o.Own, log: o.Logger, lookup: lookup, dial: dial, machine: machineAddresses,
		perSession: perSession, ofItsOwn: ofItsOwn, places: make(chan struct{}, inAll), patience: patience, idle: idling,
		open: map[*served]string{},
	}
	var errs []error
	for _, host := range o.Hosts {
		r, err := parseRule(host)
		errs = append(errs, err)
		p.rules = append(p.rules, r)
	}
	err := errors.Join(errs...)
	if err == nil {
		p.secrets, err = newSecrets(o.Secrets)
	}
	if err != nil {
		return nil, err
	}
	if p.log == nil {
		p.log = slog.New(slog.DiscardHandler)
	}
	p.life, p.endLife = context.WithCancel(context.Background())
	return p, nil
}

func lookup(ctx context.Context, name string) ([]netip.Addr, error) {
	return net.DefaultResolver.LookupNetIP(ctx, "ip", name)
}

func dial(ctx context.Context, place netip.AddrPort) (net.Conn, error) {
	return new(net.Dialer).DialContext(ctx, "tcp", place.String())
}

// Serve answers what comes to l until l is closed, by whomever, or its name released;
// connections end with it. It takes l over and returns at once. Several listeners may
// have a name.
func (p *Proxy) Serve(name string, l net.Listener) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		_ = l.Close()
		return
	}
	s := newServed(p, name, l)
	p.open[s] = name
	p.work.Go(func() {
		s.run()
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.open, s)
	})
}

// Release closes the listeners that have the name, and their connections end. It does
// not wait for them. A Proxy that is nil has none.
func (p *Proxy) Release(name string) {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for s, its := range p.open {
		if its == name {
			s.endLife()
		}
	}
}

// Close closes all listeners and connections, and waits for them. A Proxy that is
// nil has nothing to close.
func (p *Proxy) Close() {
	if p == nil {
		return
	}
	p.mu.Lock()
	p.closed = true
	p.mu.Unlock()
	p.endLife()
	p.work.Wait()
}
