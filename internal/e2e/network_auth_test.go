package e2e

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
)

// get asks for a path, with a token unless it is empty.
func (s *server) get(t *testing.T, path, token string) (status int, challenge, body string) {
	t.Helper()
	request, err := http.NewRequest(http.MethodGet, s.url+path, http.NoBody)
	must(t, err)
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := http.DefaultClient.Do(request)
	must(t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	must(t, err)
	return response.StatusCode, response.Header.Get("WWW-Authenticate"), string(text)
}

// py runs code as a new client that has the token, and returns the text of the answer, or
// how it was turned away.
func (s *server) py(token, code string) string {
	link, err := withToken(s, token)
	if err != nil {
		return err.Error()
	}
	c, err := greet(link, "remote")
	if err != nil {
		_ = c.Close()
		return err.Error()
	}
	defer c.Close()
	a, err := call(c, "run_python_code", "code", code)
	if err != nil && a.text == "" {
		return err.Error()
	}
	return a.text
}

// newToken makes a token with the command, as an operator would.
func newToken(t *testing.T, args ...string) string {
	t.Helper()
	out, err := command(t, append([]string{"token"}, args...)...).Output()
	must(t, err)
	return strings.TrimSpace(string(out))
}

// newIssuer is an issuer on this machine; sign makes a token for a subject.
func newIssuer(t *testing.T) (issuer string, sign func(subject string) string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	key := jose.JSONWebKey{Key: private, KeyID: "1", Algorithm: "ES256"}
	mux := http.NewServeMux()
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	tell := func(path string, document any) {
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) { _ = json.NewEncoder(w).Encode(document) })
	}
	tell("/.well-known/oauth-authorization-server", map[string]string{"issuer": server.URL, "jwks_uri": server.URL + "/keys"})
	tell("/keys", jose.JSONWebKeySet{Keys: []jose.JSONWebKey{key.Public()}})
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: key}, nil)
	must(t, err)
	return server.URL, func(subject string) string {
		claims := map[string]any{"iss": server.URL, "sub": subject, "aud": "understudy-test", "exp": time.Now().Add(time.Hour).Unix()}
		token, err := jwt.Signed(signer).Claims(claims).Serialize()
		must(t, err)
		return token
	}
}

// TestRemoteClientsAuthenticate: an operator's day with a real server, tokens of
// both kinds and somebody who watches.
func TestRemoteClientsAuthenticate(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a process can't be asked to stop by another one there")
	}
	file := filepath.Join(t.TempDir(), "tokens")
	alice, scraper := newToken(t, "alice", "--add-to", file), newToken(t, "prometheus", "--for", "metrics", "--add-to", file)
	issuer, sign := newIssuer(t)
	carol, bob := sign("carol"), "not made yet"
	s := startServer(t, "--log-level", "debug", "--preload", "none", "--auth-tokens", file, "--auth-issuer", issuer, "--auth-audience", "understudy-test")
	stranger := strings.Repeat("x", 60)

	for _, test := range []struct {
		path, token string
		status      int
		header      string // of WWW-Authenticate
	}{
		{"/mcp", "", 401, `Bearer realm="understudy", resource_metadata="` + s.url + `/.well-known/oauth-protected-resource/mcp"`},
		{"/sse", "", 401, `/.well-known/oauth-protected-resource/sse"`},
		{"/mcp", stranger, 401, `error="invalid_token"`},
		{"/mcp", scraper, 403, `error="insufficient_scope"`},
		{"/mcp?access_token=" + alice, "", 400, `error="invalid_request"`},
		{"/metrics", "", 401, "Bearer"},
		{"/metrics", scraper, 200, ""},
		{"/healthz", "", 200, ""},
		{"/readyz", "", 200, ""},
		{"/.well-known/oauth-protected-resource", "", 200, ""},
		{"/.well-known/oauth-protected-resource/mcp", "", 200, ""},
	} {
		if status, challenge, body := s.get(t, test.path, test.token); status != test.status || !strings.Contains(challenge, test.header) {
			t.Errorf("%s: %d, %q\n%.300s", test.path, status, challenge, body)
		}
	}

	// What an answer begins with; how long the run took may stand below.
	py := func(token, code string) string {
		first, _, _ := strings.Cut(s.py(token, code), "\n")
		return first
	}
	for _, test := range []struct{ token, code, want string }{
		{alice, "x = 'of alice'; 'kept'", "'kept'"},
		{alice, "x", "'of alice'"}, // another connection, the same principal
		{stranger, "1", "authorization required"},
	} {
		text := py(test.token, test.code)
		expect(t, strings.Contains(text, test.want), "%s: %s", test.code, text)
	}
	text := s.py(carol, "x")
	expect(t, strings.Contains(text, "NameError"), "%v", text)

	_, _, counted := s.get(t, "/metrics", scraper)
	for _, line := range []string{
		`understudy_interpreters 2`, `understudy_clients 2`,
		`understudy_calls_total{operation="run",outcome="ok",tool="run_python_code"} 2`,
		`understudy_calls_total{operation="run",outcome="error",tool="run_python_code"} 1`,
		`understudy_http_requests_total{method="GET",route="/mcp",status="401"}`,
	} {
		expect(t, strings.Contains(counted, "\n"+line), "no %s among\n%s", line, counted)
	}

	bob = newToken(t, "bob", "--add-to", file)
	comesTrue(t, "bob comes in", func() bool { return py(bob, "1") == "1" })
	removeLine(t, file, "alice ")
	comesTrue(t, "alice is locked out", func() bool { return strings.Contains(py(alice, "1"), "authorization required") })
	if text := py(carol, "1"); text != "1" {
		t.Error(text)
	}

	must(t, s.stop())
	log := s.log.String()
	for _, secret := range []string{alice, scraper, carol, bob, stranger, "of alice"} {
		expect(t, !strings.Contains(log, secret), "%.20s… is in the log:\n%s", secret, log)
	}
	expect(t, strings.Contains(log, "client=alice tool=run_python_code operation=run interpreter_id="), "alice's call is not in the log:\n%s", log)
}

// removeLine takes the lines that begin so out of a file, as an editor does.
func removeLine(t *testing.T, path, beginning string) {
	t.Helper()
	kept := ""
	for line := range strings.Lines(readFile(t, path)) {
		if !strings.HasPrefix(line, beginning) {
			kept += line
		}
	}
	writeFile(t, path, kept)
}

// TestServerWithoutTokens: what would let everybody in, or nobody, ends at once.
func TestServerWithoutTokens(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "tokens")
	must(t, os.WriteFile(empty, nil, 0o600))
	for words, args := range map[string][]string{
		"no token; make one with": {"--auth-tokens", empty},
		"token file":              {"--auth-tokens", filepath.Join(t.TempDir(), "none")},
		"needs --auth-audience":   {"--auth-issuer", "https://login.example.org"},
		"auth-issuer must begin":  {"--auth-issuer", "http://login.example.org", "--auth-audience", "x"},
		"authentication":          {"--addr", "0.0.0.0:0"},
	} {
		fails(t, command(t, append([]string{"serve", "--transport", "http", "--addr", "127.0.0.1:0"}, args...)...), words)
	}
}
