package egress

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
)

// site is a plain server at http://pypi.org/.
func (w *world) site(t *testing.T, answer http.HandlerFunc) {
	t.Helper()
	server := httptest.NewServer(answer)
	t.Cleanup(server.Close)
	w.has("pypi.org", outside)
	w.puts(netip.AddrPortFrom(outside, 80), server.Listener.Addr().String())
}

// answer is a response that was read to its end.
type answer struct {
	code   int
	status string
	header http.Header
	body   string
}

// say sends the proxy a text and returns what it answers.
func (w *world) say(t *testing.T, text string) answer {
	t.Helper()
	response, err := http.ReadResponse(bufio.NewReader(w.connect(t, text)), nil)
	must(t, err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	must(t, err)
	return answer{response.StatusCode, response.Status, response.Header, string(body)}
}

func TestPlainHTTP(t *testing.T) {
	w := begin(t, "pypi.org")
	w.site(t, func(out http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		out.Header().Set("X-Answer", "42")
		out.WriteHeader(http.StatusTeapot)
		fmt.Fprintf(out, "%s %s %s %s", r.Method, r.Host, r.RequestURI, body)
	})
	large := strings.Repeat("x", 1<<20)
	response, err := w.client(t).Post("http://PyPI.org./simple/?a=%2f", "text/plain", strings.NewReader(large))
	must(t, err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusTeapot || response.Header.Get("X-Answer") != "42" || string(body) != "POST pypi.org /simple/?a=%2f "+large {
		t.Errorf("%s, %.100q, %v", response.Status, body, err)
	}
}

// TestWhatConcernsTheProxyStaysThere, and the host is that of the URL.
func TestWhatConcernsTheProxyStaysThere(t *testing.T) {
	w := begin(t, "pypi.org")
	heads := make(chan *http.Request, 1)
	var packed bytes.Buffer
	packer := gzip.NewWriter(&packed)
	_, _ = io.WriteString(packer, "hello")
	_ = packer.Close()
	w.site(t, func(out http.ResponseWriter, r *http.Request) {
		heads <- r
		out.Header().Set("Connection", "X-Private")
		out.Header().Set("X-Private", "1")
		out.Header().Set("Keep-Alive", "timeout=1")
		out.Header().Set("Proxy-Authenticate", "Basic")
		out.Header().Set("Content-Encoding", "gzip")
		_, _ = out.Write(packed.Bytes())
	})
	got := w.say(t, "GET http://pypi.org/ HTTP/1.1\r\nHost: evil.net\r\nProxy-Authorization: Basic c2VjcmV0\r\nProxy-Connection: keep-alive\r\n"+
		"Connection: close, X-Hop\r\nX-Hop: 1\r\nTE: trailers\r\nUpgrade: h2c\r\nKeep-Alive: 5\r\nAccept-Encoding: gzip\r\nX-End: 1\r\nCookie: a=b\r\n\r\n")
	r := <-heads
	for _, name := range []string{"Proxy-Authorization", "Proxy-Connection", "X-Hop", "Te", "Upgrade", "Keep-Alive", "Via", "X-Forwarded-For"} {
		value, ok := r.Header[name]
		expect(t, !ok, "%s: %q", name, value)
	}
	if r.Host != "pypi.org" || r.Header.Get("X-End") != "1" || r.Header.Get("Cookie") != "a=b" || r.Header.Get("Accept-Encoding") != "gzip" {
		t.Errorf("%s, %v", r.Host, r.Header)
	}
	for _, name := range []string{"X-Private", "Keep-Alive", "Proxy-Authenticate"} {
		value, ok := got.header[name]
		expect(t, !ok, "%s: %q", name, value)
	}
	expect(t, got.body == packed.String() && got.header.Get("Content-Encoding") == "gzip", "%q, %v", got.body, got.header)
}

func TestWebSocket(t *testing.T) {
	w := begin(t, "pypi.org")
	w.site(t, func(out http.ResponseWriter, r *http.Request) {
		conn, both, err := http.NewResponseController(out).Hijack()
		if err != nil || r.Header.Get("Upgrade") != "websocket" || r.Header.Get("Sec-Websocket-Key") != "k" {
			t.Error(err, r.Header)
			return
		}
		defer conn.Close()
		_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
		line, _ := both.ReadString('\n')
		_, _ = io.WriteString(conn, "got "+line)
	})
	conn := w.connect(t, "GET http://pypi.org/chat HTTP/1.1\r\nHost: pypi.org\r\nConnection: keep-alive, Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: k\r\n\r\n")
	reader := bufio.NewReader(conn)
	response, err := http.ReadResponse(reader, nil)
	must(t, err)
	defer response.Body.Close()
	insist(t, response.StatusCode == http.StatusSwitchingProtocols, "%v", response.Status)
	_, _ = io.WriteString(conn, "ping\n")
	if line, err := reader.ReadString('\n'); err != nil || line != "got ping\n" {
		t.Errorf("%q, %v", line, err)
	}
}

func TestPlainRefusals(t *testing.T) {
	w := begin(t, "pypi.org")
	w.has("pypi.org", outside)
	for request, want := range map[string]string{
		"GET http://evil.net/ HTTP/1.1\r\nHost: pypi.org\r\n\r\n":                            "403 understudy: no connection to evil.net:80: the server's --allow-net does not list this host",
		"GET http://pypi.org:8080/ HTTP/1.1\r\nHost: pypi.org\r\n\r\n":                       "403 understudy: no connection to pypi.org:8080: the server's --allow-net lists this host, but not this port (443 and 80 where it names none)",
		"GET https://pypi.org/ HTTP/1.1\r\nHost: pypi.org\r\n\r\n":                           "400 understudy: this proxy passes on http:// and CONNECT",
		"GET file:///etc/passwd HTTP/1.1\r\nHost: pypi.org\r\n\r\n":                          "400 understudy: this proxy passes on http:// and CONNECT",
		"GET / HTTP/1.1\r\nHost: pypi.org\r\n\r\n":                                           "400 understudy: this is a proxy; it answers requests for hosts that the server's --allow-net lists",
		"GET http://ev%0d%0ail.net/ HTTP/1.1\r\nHost: pypi.org\r\n\r\n":                      "400 Bad Request", // net/http's own
		"GET http://user@evil.net/ HTTP/1.1\r\nHost: pypi.org\r\n\r\n":                       "403 understudy: no connection to evil.net:80: the server's --allow-net does not list this host",
		"CONNECT evil.net:443 HTTP/1.1\r\nHost: pypi.org:443\r\n\r\n":                        "403 understudy: no connection to evil.net:443: the server's --allow-net does not list this host",
		"CONNECT pypi.org:22 HTTP/1.1\r\nHost: pypi.org:22\r\n\r\n":                          "403 understudy: no connection to pypi.org:22: the server's --allow-net lists this host, but not this port (443 and 80 where it names none)",
		"CONNECT pypi.org HTTP/1.1\r\nHost: pypi.org:443\r\n\r\n":                            `400 understudy: "pypi.org" is no host to connect to: a port is missing`,
		"GET http://" + strings.Repeat("a", 300) + "/ HTTP/1.1\r\nHost: pypi.org\r\n\r\n":    `400 understudy: "` + strings.Repeat("a", 300) + `" is no host to connect to: a name has 1 to 253 characters`,
		"GET http://pypi.org/ HTTP/1.1\r\nHost: p\r\nX: " + strings.Repeat("x", 70<<10):      "431 Request Header Fields Too Large",
		"GET http://pypi.org/ HTTP/1.1\r\nHost: pypi.org\r\nConnection: close\r\n\r\n":       "502 Bad Gateway", // nobody is there
		"POST http://evil.net/ HTTP/1.1\r\nHost: evil.net\r\nContent-Length: 5\r\n\r\nhello": "403 Forbidden",
		"CONNECT 127.0.0.1:80 HTTP/1.1\r\nHost: pypi.org:443\r\n\r\n":                        "403 understudy: no connection to 127.0.0.1:80: the server's --allow-net does not list this host",
	} {
		got := w.say(t, request)
		expect(t, got.status == want, "%.80q: %q", request, got.status)
		// The body has the sentence, too, where the reason can't.
		if got.code == http.StatusForbidden && (!strings.Contains(got.body, "understudy: no connection to ") || !strings.Contains(got.body, "--allow-net")) {
			t.Errorf("%.80q: %q", request, got.body)
		}
	}
	asked, _ := w.seen()
	expect(t, !strings.Contains(strings.Join(asked, " "), "evil"), "resolved: %q", asked)
}
