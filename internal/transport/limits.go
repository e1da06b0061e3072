package transport

import (
	"math"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// anonymousShare is how much more than one client those get together that
// can't be told apart but by the address they share.
const anonymousShare = 4

// limits bound what one client may ask for: calls and streams at once, and
// requests a second.
type limits struct {
	calls  int     // 0 is no limit
	rate   float64 // a second; 0 is no limit
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

func newLimits(calls int, perSecond float64) *limits {
	return &limits{calls: calls, rate: perSecond, meters: map[string]*meter{}}
}

// begin counts a call of the client's, or a stream, until end is called.
// Otherwise it says why not.
func (l *limits) begin(client metered, isStream bool) (end func(), refusal *tooMany) {
	l.mu.Lock()
	defer l.mu.Unlock()
	m := l.meter(client)
	if refusal := m.pace(); refusal != nil {
		return nil, refusal
	}
	counter, what := &m.calls, "calls"
	if isStream {
		counter, what = &m.streams, "streams"
	}
	if most := l.calls * m.share; l.calls > 0 && *counter >= most {
		return nil, &tooMany{"you have " + strconv.Itoa(most) + " " + what + " open, and more are not allowed; wait until one has ended"}
	}
	*counter++
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		*counter--
		m.last = time.Now()
	}, nil
}

// pass counts a message that wants no answer.
func (l *limits) pass(client metered) *tooMany {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.meter(client).pace()
}

func (m *meter) pace() *tooMany {
	if m.limiter != nil && !m.limiter.Allow() {
		return &tooMany{"too many requests a second; slow down"}
	}
	return nil
}

// meter finds or makes the client's meter. The caller holds mu.
func (l *limits) meter(client metered) *meter {
	now := time.Now()
	m := l.meters[client.key]
	if m == nil {
		l.sweep(now)
		m = &meter{share: client.share}
		if l.rate > 0 {
			// Two seconds' worth at once: a client that starts asks for much.
			perSecond := l.rate * float64(client.share)
			m.limiter = rate.NewLimiter(rate.Limit(perSecond), int(math.Ceil(2*perSecond)))
		}
		l.meters[client.key] = m
	}
	m.last = now
	return m
}

// forgetting is after how long nothing of a client's use counts any more.
const forgetting = time.Minute

// sweep forgets who has used nothing for long. The caller holds mu.
func (l *limits) sweep(now time.Time) {
	if now.Sub(l.swept) < forgetting {
		return
	}
	l.swept = now
	for key, m := range l.meters {
		if m.calls+m.streams == 0 && now.Sub(m.last) > forgetting {
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

// tooMany is why a client must wait.
type tooMany struct{ text string }

func (t *tooMany) answer(w http.ResponseWriter, id []byte) {
	w.Header().Set("Retry-After", "1")
	refuseMessage(w, id, http.StatusTooManyRequests, t.text)
}
