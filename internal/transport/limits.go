package transport

import (
	"fmt"
	"math"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// anonymousShare is how much more than one client those get together that
// can't be told apart but by the address they share.
const anonymousShare = 4

// startBurst is how many seconds' worth of requests a client may send at once: one that
// starts asks for much.
const startBurst = 2

// limits bound what one client may ask for: calls and streams at once, and
// requests a second.
type limits struct {
	calls  int     // 0 is no limit
	rate   float64 // a second; 0 is no limit
	burst  float64 // seconds' worth of requests that may come at once
	mu     sync.Mutex
	meters map[string]*meter
	swept  time.Time
}

// meter is what one client uses now.
type meter struct {
	share          int
	limiter        *rate.Limiter
	calls, streams int
	last           time.Time
}

func newLimits(calls int, perSecond, burst float64) *limits {
	return &limits{calls: calls, rate: perSecond, burst: burst, meters: map[string]*meter{}}
}

// begin counts a call of the client's, or a stream, until end is called.
// Otherwise it says why not.
func (l *limits) begin(client metered, isStream bool) (end func(), refusal tooMany) {
	l.mu.Lock()
	defer l.mu.Unlock()
	m := l.meter(client)
	if refusal := m.pace(); refusal != "" {
		return nil, refusal
	}
	counter, what := &m.calls, "calls"
	if isStream {
		counter, what = &m.streams, "streams"
	}
	if most := l.calls * m.share; l.calls > 0 && *counter >= most {
		return nil, tooMany(fmt.Sprintf("you have %d %s open, and more are not allowed; wait until one has ended", most, what))
	}
	*counter++
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		*counter--
		m.last = time.Now()
	}, ""
}

// pass counts a message that wants no answer.
func (l *limits) pass(client metered) tooMany {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.meter(client).pace()
}

// isExhausted reports whether pass would refuse now.
func (l *limits) isExhausted(client metered) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	m := l.meters[client.key]
	return m != nil && m.limiter.Tokens() < 1
}

func (m *meter) pace() tooMany {
	if m.limiter != nil && !m.limiter.Allow() {
		return "too many requests a second; slow down"
	}
	return ""
}

// meter finds or makes the client's meter. The caller holds mu.
func (l *limits) meter(client metered) *meter {
	now := time.Now()
	m := l.meters[client.key]
	if m == nil {
		l.sweep(now)
		m = &meter{share: client.share}
		if l.rate > 0 {
			perSecond := l.rate * float64(client.share)
			m.limiter = rate.NewLimiter(rate.Limit(perSecond), int(math.Ceil(l.burst*perSecond)))
		}
		l.meters[client.key] = m
	}
	m.last = now
	return m
}

const (
	// forgetting is after how long nothing of a client's use counts any more.
	forgetting = time.Minute
	// remembered bounds how many clients, and credentials, are kept in mind.
	remembered = 10_000
)

// sweep forgets who has used nothing for long; when there are too many, all who use
// nothing now. The caller holds mu.
func (l *limits) sweep(now time.Time) {
	full := len(l.meters) >= remembered
	if !full && now.Sub(l.swept) < forgetting {
		return
	}
	l.swept = now
	for key, m := range l.meters {
		if m.calls+m.streams == 0 && (full || now.Sub(m.last) > forgetting) {
			delete(l.meters, key)
		}
	}
}

// metered is whose use is counted.
type metered struct {
	key   string
	share int
}

// meteredAs is the client as far as it is known, else its address. A process may be
// several clients, by the names that it gives itself.
func meteredAs(c Caller, r *http.Request) metered {
	if place, _, named := strings.Cut(c.Client, " "); named && c.Principal == "" {
		return metered{key: place, share: anonymousShare}
	}
	if c.Client != "" {
		return metered{key: c.Client, share: 1}
	}
	return metered{key: "address:" + address(r), share: anonymousShare}
}

// address is where a request comes from: an IPv4 address, or the network that
// one user of IPv6 has to himself.
func address(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return "local" // a Unix socket
	}
	ip, err := netip.ParseAddr(host)
	if err != nil {
		return host
	}
	return network(ip)
}

// network is what one user has to himself of the addresses.
func network(ip netip.Addr) string {
	ip = ip.Unmap().WithZone("")
	if ip.Is6() {
		if network, err := ip.Prefix(64); err == nil {
			return network.String()
		}
	}
	return ip.String()
}

// tooMany is why a client must wait, "" where it need not.
type tooMany string

func (t tooMany) answer(w http.ResponseWriter, id []byte) {
	w.Header().Set("Retry-After", "1")
	refuseMessage(w, id, http.StatusTooManyRequests, string(t))
}
