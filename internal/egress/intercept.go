package egress

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"strings"
	"time"
)

// interceptor answers in the place of the hosts that get secrets, for one session: it ends
// TLS, puts secrets in, passes the request on to the host by TLS of its own, and masks what
// comes back.
type interceptor struct {
	served *served
	server *http.Server
	proxy  *httputil.ReverseProxy
	// running bounds requests; with HTTP/2 a connection has many.
	running chan struct{}
	conns   chan net.Conn
}

// targetKey and plainKey are of what a request's context holds: the target of its
// connection; the context that tells nobody of answers before the last.
type (
	targetKey struct{}
	plainKey  struct{}
)

func newInterceptor(s *served) *interceptor {
	i := &interceptor{served: s, running: make(chan struct{}, perSession), conns: make(chan net.Conn)}
	errorLog := log.New(maskedLog{s}, "", 0)
	i.server = &http.Server{
		Handler: i, ReadHeaderTimeout: heading, IdleTimeout: s.proxy.idle, MaxHeaderBytes: headBytes, ErrorLog: errorLog,
		TLSConfig: &tls.Config{NextProtos: protocols, MinVersion: tls.VersionTLS12},
		HTTP2: &http.HTTP2Config{
			MaxConcurrentStreams: 32, MaxReceiveBufferPerConnection: 1 << 20, MaxReceiveBufferPerStream: 128 << 10,
		},
		BaseContext: func(net.Listener) context.Context { return s.life },
		ConnContext: func(ctx context.Context, conn net.Conn) context.Context {
			return context.WithValue(ctx, targetKey{}, conn.(*tls.Conn).NetConn().(*tunneled).target)
		},
	}
	i.proxy = &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			rewrite(r)
			r.Out.Host = strings.TrimSuffix(r.In.URL.Host, ":443")
		},
		Transport: i.transport(), FlushInterval: -1, ErrorLog: errorLog,
		ModifyResponse: i.clean,
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) {
			var no *refusal
			if !errors.As(err, &no) {
				no = unreachable(r, err)
			}
			http.Error(w, s.proxy.secrets.mask.text(no.text), no.status)
		},
	}
	return i
}

// protocols are those that are spoken in tunnels.
var protocols = []string{"h2", "http/1.1"}

// transport is to the hosts themselves, whose certificates are verified as by any client.
func (i *interceptor) transport() http.RoundTripper {
	p := i.served.proxy
	return untold{&http.Transport{
		DialContext: func(ctx context.Context, _, addr string) (net.Conn, error) {
			t, err := parseTarget(addr, 0)
			if err != nil {
				return nil, err
			}
			found, err := p.find(ctx, t)
			if err != nil {
				return nil, err
			}
			return p.connect(ctx, found)
		},
		TLSClientConfig:   &tls.Config{RootCAs: p.roots, MinVersion: tls.VersionTLS12},
		ForceAttemptHTTP2: true, TLSHandshakeTimeout: connecting,
		MaxIdleConns: perSession, IdleConnTimeout: time.Minute,
		ExpectContinueTimeout: time.Second, MaxResponseHeaderBytes: 1 << 20,
	}}
}

// untold sends a request without telling of answers before the last (103), which would reach
// the session as they are.
type untold struct{ *http.Transport }

func (u untold) RoundTrip(r *http.Request) (*http.Response, error) {
	return u.Transport.RoundTrip(r.WithContext(r.Context().Value(plainKey{}).(context.Context)))
}

// maskedLog takes lines of net/http's for the log.
type maskedLog struct{ *served }

func (l maskedLog) Write(line []byte) (int, error) {
	l.log.Log(context.Background(), slog.LevelDebug, "egress: "+l.proxy.secrets.mask.text(strings.TrimSpace(string(line))))
	return len(line), nil
}

// run answers what take takes, until the session's life ends.
func (i *interceptor) run() {
	_ = i.server.Serve(i)
	_ = i.server.Close()
	i.proxy.Transport.(untold).CloseIdleConnections()
}

// Accept, Close and Addr are for http.Server.
func (i *interceptor) Accept() (net.Conn, error) {
	select {
	case conn := <-i.conns:
		return conn, nil
	case <-i.served.life.Done():
		return nil, net.ErrClosed
	}
}

// Close does nothing: the session's life ends it.
func (*interceptor) Close() error { return nil }

// Addr is that of the session's listener.
func (i *interceptor) Addr() net.Addr { return i.served.Addr() }

// tunneled is a client's connection, in a tunnel to a target.
type tunneled struct {
	net.Conn
	from   *bufio.Reader // which may have read ahead
	target target
}

func (t *tunneled) Read(b []byte) (int, error) { return t.from.Read(b) }

// take has a connection answered in the target's place.
func (i *interceptor) take(conn net.Conn, from *bufio.Reader, t target) {
	secured := tls.Server(&tunneled{conn, from, t}, &tls.Config{
		NextProtos: protocols, MinVersion: tls.VersionTLS12,
		GetCertificate: func(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
			if name, _, err := canonical(hello.ServerName); err != nil || name != t.name {
				no := refuse(t, fmt.Sprintf("the TLS in its tunnel is for %q", hello.ServerName))
				i.served.note(no)
				return nil, no
			}
			return i.served.proxy.secrets.certificates.of[t.name], nil
		},
	})
	select {
	case i.conns <- secured:
	case <-i.served.life.Done():
		_ = conn.Close()
	}
}

// ServeHTTP passes a request on to the host, with secrets.
func (i *interceptor) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	select {
	case i.running <- struct{}{}:
		defer func() { <-i.running }()
	case <-r.Context().Done():
		return
	}
	t := r.Context().Value(targetKey{}).(target)
	if err := i.prepare(r, t); err != nil {
		var no *refusal
		if !errors.As(err, &no) {
			no = nonsense(err.Error())
		}
		i.served.note(no)
		http.Error(w, no.text, no.status)
		return
	}
	i.proxy.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), plainKey{}, r.Context())))
}

// prepare makes a client's request one that may be sent. The error is a *refusal.
func (i *interceptor) prepare(r *http.Request, t target) error {
	if r.Method == http.MethodTrace || r.Method == http.MethodConnect {
		no := refuse(t, r.Method+" is not passed on to a host that gets a secret")
		no.status = http.StatusMethodNotAllowed
		return no
	}
	if to := r.Header.Get("Upgrade"); to != "" && !strings.EqualFold(to, "websocket") {
		// In HTTP/2, headers are compressed, and can't be looked through.
		no := refuse(t, "a change of protocol to anything but websocket is not passed on to a host that gets a secret")
		no.status = http.StatusNotImplemented
		return no
	}
	if asked, err := parseTarget(r.Host, 443); err != nil || asked != t {
		no := refuse(t, fmt.Sprintf("the request in its tunnel is for %q", r.Host))
		no.status = http.StatusMisdirectedRequest
		return no
	}
	if err := i.served.proxy.secrets.put(r, t); err != nil {
		return err
	}
	r.URL.Scheme, r.URL.Host, r.URL.User = "https", t.String(), nil
	// What comes back has to be read, and in one piece: parts of a secret would not be known.
	for _, name := range []string{"Accept-Encoding", "Range", "If-Range", "Sec-Websocket-Extensions"} {
		r.Header.Del(name)
	}
	return nil
}

// clean masks an answer.
func (i *interceptor) clean(r *http.Response) error {
	mask := &i.served.proxy.secrets.mask
	coding := strings.Join(r.Header.Values("Content-Encoding"), ", ")
	switch {
	case r.StatusCode == http.StatusPartialContent:
		return errors.New("the host gave a part only, which understudy did not ask for and can't look through for secrets")
	case coding != "" && !strings.EqualFold(coding, "identity") && r.Request.Method != http.MethodHead:
		return fmt.Errorf("the answer is encoded as %q, which understudy did not ask for and can't look through for secrets", coding)
	}
	mask.header(r.Header)
	r.Header.Del("Alt-Svc") // there is no other way to the host
	body := &maskedBody{ReadCloser: r.Body, mask: mask, prompt: streams(r.Header.Get("Content-Type")), atEnd: func() { mask.header(r.Trailer) }}
	if r.StatusCode == http.StatusSwitchingProtocols {
		both, ok := r.Body.(io.ReadWriteCloser)
		if !ok {
			return errors.New("the connection can't be taken over")
		}
		body.prompt, body.sameLength, body.atEnd = true, true, nil
		r.Body = struct {
			io.ReadCloser
			io.Writer
		}{body, both}
		return nil
	}
	if r.Request.Method != http.MethodHead && r.ContentLength != 0 {
		r.Header.Del("Content-Length")
		r.ContentLength = -1
	}
	r.Body = body
	return nil
}

// streams reports whether a body of this type is read as it comes.
func streams(contentType string) bool {
	media, _, _ := strings.Cut(contentType, ";")
	return media == "text/event-stream" || strings.HasSuffix(media, "ndjson")
}
