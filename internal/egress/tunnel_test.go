package egress

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
)

// secureSite is a server at https://example.com/; the pool knows its certificate.
func (w *world) secureSite(t *testing.T) *x509.CertPool {
	t.Helper()
	server := httptest.NewTLSServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(out, "you asked "+r.Host)
	}))
	t.Cleanup(server.Close)
	w.has("example.com", outside)
	w.puts(netip.AddrPortFrom(outside, 443), server.Listener.Addr().String())
	pool := x509.NewCertPool()
	pool.AddCert(server.Certificate())
	return pool
}

// tunnel opens one, or fails.
func (w *world) tunnel(t *testing.T, to string) net.Conn {
	t.Helper()
	conn := w.connect(t, "CONNECT "+to+" HTTP/1.1\r\nHost: "+to+"\r\n\r\n")
	// One byte at a time: nothing of the tunnel may stay in a buffer.
	var head strings.Builder
	for one := make([]byte, 1); !strings.HasSuffix(head.String(), "\r\n\r\n"); head.Write(one) {
		_, err := io.ReadFull(conn, one)
		insist(t, err == nil, "%q, %v", head.String(), err)
	}
	insist(t, strings.HasPrefix(head.String(), "HTTP/1.1 200 "), "%q", head.String())
	return conn
}

func TestHTTPS(t *testing.T) {
	// What the server's own environment says about proxies is not for sessions.
	t.Setenv("HTTPS_PROXY", "http://127.0.0.1:1")
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:1")
	w := begin(t, "example.com")
	pool := w.secureSite(t)
	for _, http2 := range []bool{false, true} {
		client := w.client(t)
		transport := client.Transport.(*http.Transport)
		transport.TLSClientConfig, transport.ForceAttemptHTTP2 = &tls.Config{RootCAs: pool}, http2
		response, err := client.Get("https://EXAMPLE.com/")
		must(t, err)
		body, err := io.ReadAll(response.Body)
		response.Body.Close()
		expect(t, err == nil && string(body) == "you asked EXAMPLE.com", "%q, %v", body, err)
	}
}

// TestTheTunnelMustBeForItsHost: no other site of the same front is reached by SNI.
func TestTheTunnelMustBeForItsHost(t *testing.T) {
	w := begin(t, "example.com")
	w.secureSite(t)
	for _, name := range []string{"evil.net", "www.example.com", ""} {
		client := tls.Client(w.tunnel(t, "example.com:443"), &tls.Config{ServerName: name, InsecureSkipVerify: true})
		err := client.Handshake()
		expect(t, err != nil && strings.Contains(err.Error(), "unrecognized name"), "%q: %v", name, err)
	}
	conn := w.tunnel(t, "example.com:443")
	_, _ = io.WriteString(conn, "SSH-2.0-OpenSSH_9.6\r\n")
	if answer, _ := io.ReadAll(conn); !strings.HasPrefix(string(answer), "HTTP/1.1 403 understudy: no connection to example.com:443: a tunnel to this port must carry TLS") {
		t.Errorf("%q", answer)
	}
	log := w.logged()
	expect(t, strings.Count(log, "msg=\"egress: refused\" session=ann host=example.com:443") == 1 && strings.Contains(log, "evil.net"), "%v", log)
}

// TestANamedPortCarriesAnything, and the tunnel is passed on half-closed.
func TestANamedPortCarriesAnything(t *testing.T) {
	for rule, to := range map[string]string{"example.com:443": "example.com:443", "example.com:22": "example.com:22", "example.com": "example.com:80"} {
		w := begin(t, rule)
		server := listen(t)
		w.has("example.com", outside)
		w.puts(netip.MustParseAddrPort(outside.String()+to[strings.IndexByte(to, ':'):]), server.Addr().String())
		go func() {
			conn, err := server.Accept()
			if err != nil {
				return
			}
			defer conn.Close()
			_, _ = io.WriteString(conn, "hello\n") // before the client says a word
			all, _ := io.ReadAll(conn)             // until it says no more
			_, _ = conn.Write(all)
		}()
		conn := w.tunnel(t, to)
		reader := bufio.NewReader(conn)
		if line, err := reader.ReadString('\n'); line != "hello\n" {
			t.Fatal(to, line, err)
		}
		large := strings.Repeat("0123456789abcdef", 1<<18)
		_, _ = io.WriteString(conn, large)
		_ = conn.(*net.TCPConn).CloseWrite()
		if back, err := io.ReadAll(reader); err != nil || string(back) != large {
			t.Errorf("%s: %d bytes, %v", to, len(back), err)
		}
	}
}

// TestALongHello: what comes in pieces is put together.
func TestALongHello(t *testing.T) {
	w := begin(t, "example.com")
	pool := w.secureSite(t)
	protocols := []string{"http/1.1"}
	for len(protocols) < 200 {
		protocols = append(protocols, strings.Repeat("p", 100))
	}
	client := tls.Client(&dribble{w.tunnel(t, "example.com:443")}, &tls.Config{ServerName: "example.com", RootCAs: pool, NextProtos: protocols})
	err := client.Handshake()
	expect(t, err == nil, "%v", err)
}

// dribble writes a little at a time.
type dribble struct{ net.Conn }

func (d *dribble) Write(b []byte) (int, error) {
	for at := 0; at < len(b); at += 701 {
		if _, err := d.Conn.Write(b[at:min(at+701, len(b))]); err != nil {
			return at, err
		}
	}
	return len(b), nil
}
