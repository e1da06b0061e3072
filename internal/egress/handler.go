package egress

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/elazarl/goproxy"
)

// Keys of what travels in a request's context.
type (
	inletKey struct{} // *inlet: the connection that it came on
	wayKey   struct{} // *way: where it goes
)

// handler answers the requests of one session. It is the session's own down to the
// transport, so that no connection to a server is used for two sessions: some have
// signed in.
type handler struct {
	served    *served
	forward   *goproxy.ProxyHttpServer
	transport *http.Transport
}

func newHandler(s *served) *handler {
	h := &handler{served: s, forward: goproxy.NewProxyHttpServer()}
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
	h.forward.Tr = h.transport
	h.forward.KeepAcceptEncoding = true
	h.forward.Logger = debugLog{s.log}
	h.forward.ConnectDialWithReq = func(r *http.Request, _, addr string) (net.Conn, error) { return h.open(r, addr) }
	h.forward.ConnectionErrHandler = func(w io.Writer, ctx *goproxy.ProxyCtx, err error) {
		_, _ = w.Write(unreachable(ctx.Req, err).response())
	}
	h.forward.OnResponse().DoFunc(answered)
	return h
}

func (h *handler) close() { h.transport.CloseIdleConnections() }

// ServeHTTP has goproxy pass on what may be; all that is refused is refused here.
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
	dropHopByHop(r.Header)
	// Everything after this sees the canonical name alone.
	address := found.target.String()
	r.URL.Host, r.Host = address, address
	if r.Method != http.MethodConnect && found.target.port == 80 {
		r.Host = strings.TrimSuffix(address, ":80")
	}
	forwarded := r.WithContext(context.WithValue(r.Context(), wayKey{}, found))
	forwarded.Close = false // that the client leaves ends its own connection alone
	h.forward.ServeHTTP(w, forwarded)
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
	return h.served.proxy.find(r.Context(), t)
}

// dial connects for a request, to where find said.
func (h *handler) dial(ctx context.Context, addr string) (net.Conn, error) {
	found, _ := ctx.Value(wayKey{}).(*way)
	if found == nil || found.target.String() != addr {
		return nil, errors.New("no way was found to " + addr) // none comes unchecked
	}
	return h.served.proxy.connect(ctx, found)
}

// open connects a tunnel, and has its beginning checked where that is due.
func (h *handler) open(r *http.Request, addr string) (net.Conn, error) {
	conn, err := h.dial(r.Context(), addr)
	if err != nil {
		return nil, err
	}
	found := r.Context().Value(wayKey{}).(*way)
	if found.target.port == 443 && !found.leave.anything {
		r.Context().Value(inletKey{}).(*inlet).tunnel = &tunnel{found.target, h.served.note}
	}
	return conn, nil
}

// answered is for all that comes back, and for errors.
func answered(response *http.Response, ctx *goproxy.ProxyCtx) *http.Response {
	if response == nil {
		no := unreachable(ctx.Req, ctx.Error)
		return goproxy.NewResponse(ctx.Req, goproxy.ContentTypeText, no.status, no.text+"\n")
	}
	dropHopByHop(response.Header)
	return response
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

// hopByHop are the headers of a connection, not of a message (RFC 9110, 7.6.1).
var hopByHop = []string{"Connection", "Keep-Alive", "Proxy-Authenticate", "Proxy-Authorization",
	"Proxy-Authentication-Info", "Proxy-Connection", "Te", "Trailer", "Transfer-Encoding", "Upgrade"}

// dropHopByHop takes them out, and those that Connection names. A WebSocket keeps its
// own.
func dropHopByHop(header http.Header) {
	isWebSocket := hasToken(header, "Connection", "upgrade") && hasToken(header, "Upgrade", "websocket")
	for _, line := range header.Values("Connection") {
		for name := range strings.SplitSeq(line, ",") {
			header.Del(strings.TrimSpace(name))
		}
	}
	for _, name := range hopByHop {
		header.Del(name)
	}
	if isWebSocket {
		header.Set("Connection", "Upgrade")
		header.Set("Upgrade", "websocket")
	}
}

func hasToken(header http.Header, name, token string) bool {
	for _, line := range header.Values(name) {
		for one := range strings.SplitSeq(line, ",") {
			if strings.EqualFold(strings.TrimSpace(one), token) {
				return true
			}
		}
	}
	return false
}

// debugLog is goproxy's log.
type debugLog struct{ log *slog.Logger }

func (d debugLog) Printf(format string, args ...any) {
	d.log.Debug("egress: " + strings.TrimSpace(fmt.Sprintf(format, args...)))
}
