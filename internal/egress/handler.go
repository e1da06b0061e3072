package egress

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"strings"
	"sync"
	"time"
)

// wayKey is of the *way of a request, in its context.
type wayKey struct{}

// handler answers the requests of one session. It is the session's own down to the
// transport, so that no connection to a server is used for two sessions: some have
// signed in.
type handler struct {
	served    *served
	transport *http.Transport
	plain     *httputil.ReverseProxy
	// interceptor answers in tunnels to hosts that get secrets; nil where none do.
	interceptor *interceptor
}

func newHandler(s *served) *handler {
	h := &handler{served: s}
	if s.proxy.secrets.certificates != nil {
		h.interceptor = newInterceptor(s)
	}
	h.transport = &http.Transport{
		// No Proxy: what the server's own environment says is not for sessions.
		DialContext: func(ctx context.Context, _, addr string) (net.Conn, error) { return h.dial(ctx, addr) },
		// What is passed on is not unpacked, nor packed.
		DisableCompression:     true,
		MaxIdleConns:           perSession,
		IdleConnTimeout:        time.Minute,
		ExpectContinueTimeout:  time.Second,
		MaxResponseHeaderBytes: 1 << 20,
	}
	h.plain = &httputil.ReverseProxy{
		Rewrite: rewrite, Transport: h.transport, FlushInterval: -1,
		ErrorLog: slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) {
			no := unreachable(r, err)
			http.Error(w, no.text, no.status)
		},
	}
	return h
}

func (h *handler) close() { h.transport.CloseIdleConnections() }

// ServeHTTP passes on what may be; all that is refused is refused here.
func (h *handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	found, err := h.find(r)
	if err != nil {
		var no *refusal
		if errors.As(err, &no) {
			h.served.note(no)
		} else {
			no = unreachable(r, err)
		}
		deny(w, r, no)
		return
	}
	// Everything after this sees the canonical name alone.
	r.URL.Host = found.target.String()
	switch {
	case r.Method == http.MethodConnect && len(h.served.proxy.secrets.byTarget[found.target]) > 0:
		h.intercept(w, r, found.target)
		return
	case r.Method == http.MethodConnect:
		h.tunnel(w, r, found)
		return
	}
	h.plain.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), wayKey{}, found)))
}

// rewrite leaves a request as it is, but for what concerns the connection.
func rewrite(r *httputil.ProxyRequest) {
	r.Out.URL.RawQuery = r.In.URL.RawQuery
	r.Out.Host = strings.TrimSuffix(r.In.URL.Host, ":80")
	r.Out.Header.Del("Te")
	if !strings.EqualFold(r.Out.Header.Get("Upgrade"), "websocket") {
		r.Out.Header.Del("Upgrade")
		r.Out.Header.Del("Connection")
	}
	for _, name := range []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto"} {
		if said, ok := r.In.Header[name]; ok {
			r.Out.Header[name] = said
		}
	}
}

// find says where a request may go.
func (h *handler) find(r *http.Request) (*way, error) {
	var usual uint16
	switch {
	case r.Method == http.MethodConnect:
	case r.URL.Scheme == "http" && r.URL.Host != "":
		usual = 80
	case r.URL.IsAbs():
		return nil, nonsense("this proxy passes on http:// and CONNECT")
	default:
		return nil, nonsense("this is a proxy; it answers requests for hosts that the server's --allow-net lists")
	}
	t, err := parseTarget(r.URL.Host, usual)
	if err != nil {
		return nil, nonsense(fmt.Sprintf("%q is no host to connect to: %v", r.URL.Host, err))
	}
	found, err := h.served.proxy.find(r.Context(), t)
	if err != nil {
		return nil, err
	}
	return found, h.served.proxy.secrets.guard(r, t)
}

// dial connects for a request, to where find said.
func (h *handler) dial(ctx context.Context, addr string) (net.Conn, error) {
	found, _ := ctx.Value(wayKey{}).(*way)
	if found == nil || found.target.String() != addr {
		return nil, errors.New("no way was found to " + addr) // none comes unchecked
	}
	return h.served.proxy.connect(ctx, found)
}

// tunnel passes on bytes in both directions, and has their beginning checked where that
// is due.
func (h *handler) tunnel(w http.ResponseWriter, r *http.Request, found *way) {
	there, err := h.served.proxy.connect(r.Context(), found)
	if err != nil {
		deny(w, r, unreachable(r, err))
		return
	}
	defer func() { _ = there.Close() }()
	defer context.AfterFunc(h.served.life, func() { _ = there.Close() })()
	here, buffered := takeOver(w, r)
	if here == nil {
		return
	}
	defer func() { _ = here.Close() }()
	if found.target.port == 443 && !found.leave.anything {
		begin, answer, err := checkHello(buffered, found.target)
		var no *refusal
		if errors.As(err, &no) {
			h.served.note(no) // first, so that whoever has the answer finds it logged
			_, _ = here.Write(answer)
		}
		if err != nil {
			return
		}
		if _, err := there.Write(begin); err != nil {
			return
		}
	}
	var both sync.WaitGroup
	pass := func(to net.Conn, from io.Reader) {
		if _, err := io.Copy(to, from); err != nil {
			_, _ = here.Close(), there.Close()
		} else if half, ok := to.(interface{ CloseWrite() error }); ok {
			_ = half.CloseWrite() // the other direction may go on
		} else {
			_ = to.Close()
		}
	}
	both.Go(func() { pass(there, buffered) })
	pass(here, there)
	both.Wait()
}

// intercept has a tunnel answered in the place of its target.
func (h *handler) intercept(w http.ResponseWriter, r *http.Request, t target) {
	if here, buffered := takeOver(w, r); here != nil {
		h.interceptor.take(here, buffered.Reader, t)
	}
}

// takeOver makes a tunnel of a client's connection, nil where that can't be.
func takeOver(w http.ResponseWriter, r *http.Request) (net.Conn, *bufio.ReadWriter) {
	here, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		deny(w, r, unreachable(r, err))
		return nil, nil
	}
	if _, err := io.WriteString(here, "HTTP/1.1 200 OK\r\n\r\n"); err != nil {
		_ = here.Close()
		return nil, nil
	}
	return here, buffered
}

// unreachable is the answer where the network, not the list, is in the way.
func unreachable(r *http.Request, err error) *refusal {
	return &refusal{status: http.StatusBadGateway, text: fmt.Sprintf("understudy: no connection to %s: %v", r.URL.Host, err)}
}

// deny answers with the sentence as reason where that can be, which net/http does not
// offer. A body that is still coming is net/http's to take.
func deny(w http.ResponseWriter, r *http.Request, no *refusal) {
	if r.ContentLength == 0 {
		if conn, _, err := http.NewResponseController(w).Hijack(); err == nil {
			_ = conn.SetWriteDeadline(time.Now().Add(heading))
			_, _ = conn.Write(no.response())
			_ = conn.Close()
			return
		}
	}
	http.Error(w, no.text, no.status)
}
