package e2e

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
)

// guarded is a server on the network, with its log of everything.
type guarded struct {
	t    *testing.T
	cmd  *exec.Cmd
	addr string
	done chan struct{} // closed when its log has ended

	mu  sync.Mutex
	log bytes.Buffer
}

var guardedAt = regexp.MustCompile(`msg="serving MCP over HTTP" addr=(\S+)`)

func startGuarded(t *testing.T, args ...string) *guarded {
	t.Helper()
	r := &guarded{t: t, done: make(chan struct{})}
	r.cmd = understudyCommand(t, time.Hour, append([]string{"serve", "--transport", "http,sse", "--addr", "127.0.0.1:0", "--log-level", "debug"}, args...)...)
	stderr, err := r.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := r.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.stop)
	addr := make(chan string, 1)
	go r.read(stderr, addr)
	select {
	case r.addr = <-addr:
	case <-r.done:
		t.Fatalf("the server ended:\n%s", r.said())
	case <-time.After(time.Minute):
		t.Fatalf("the server does not serve:\n%s", r.said())
	}
	return r
}

// understudyCommand returns a command that is killed after a time, or earlier if
// go test is about to end, which would leave it behind.
func understudyCommand(t *testing.T, limit time.Duration, args ...string) *exec.Cmd {
	t.Helper()
	end := time.Now().Add(limit)
	if last, limited := t.Deadline(); limited && last.Add(-30*time.Second).Before(end) {
		end = last.Add(-30 * time.Second)
	}
	ctx, cancel := context.WithDeadline(context.Background(), end)
	t.Cleanup(cancel)
	program, err := exec.LookPath("understudy")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.WaitDelay = 10 * time.Second
	cmd.Env = append(os.Environ(), "UNDERSTUDY_DATA_DIR="+filepath.Join(t.TempDir(), "data"), "UNDERSTUDY_PRELOAD=none")
	if python := os.Getenv("UNDERSTUDY_TEST_PYTHON"); python != "" {
		cmd.Env = append(cmd.Env, "UNDERSTUDY_PYTHON="+python)
	}
	return cmd
}

func (r *guarded) read(stderr io.Reader, addr chan<- string) {
	defer close(r.done)
	lines := bufio.NewScanner(stderr)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		r.mu.Lock()
		r.log.WriteString(lines.Text() + "\n")
		r.mu.Unlock()
		if found := guardedAt.FindStringSubmatch(lines.Text()); found != nil {
			addr <- found[1]
		}
	}
	if err := lines.Err(); err != nil {
		r.t.Errorf("the log was not read to its end: %v", err)
		_, _ = io.Copy(io.Discard, stderr) // a server whose log is full would hang
	}
}

func (r *guarded) said() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.log.String()
}

// stop ends the server as an operator would; more than once is no harm.
func (r *guarded) stop() {
	_ = r.cmd.Process.Signal(os.Interrupt)
	select {
	case <-r.done:
	case <-time.After(time.Minute):
		r.t.Error("the server did not end within a minute of being asked")
		_ = r.cmd.Process.Kill()
		<-r.done
	}
	_ = r.cmd.Wait()
}

// reply is how the server answered.
type reply struct {
	status          int
	challenge, body string
}

// get asks for a path, with a token unless it is empty.
func (r *guarded) get(path, token string) reply {
	r.t.Helper()
	request, err := http.NewRequest(http.MethodGet, "http://"+r.addr+path, http.NoBody)
	if err != nil {
		r.t.Fatal(err)
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		r.t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	return reply{response.StatusCode, response.Header.Get("WWW-Authenticate"), string(body)}
}

// call calls a tool as an MCP client that has the token, and returns the text
// of the answer, or how it was turned away.
func (r *guarded) call(token, tool string, args map[string]any) string {
	r.t.Helper()
	c, err := client.NewStreamableHttpClient("http://"+r.addr+"/mcp", transport.WithHTTPHeaders(map[string]string{"Authorization": "Bearer " + token}))
	if err != nil {
		r.t.Fatal(err)
	}
	defer c.Close()
	ctx, cancel := context.WithTimeout(r.t.Context(), time.Minute)
	defer cancel()
	if err := c.Start(ctx); err != nil {
		return err.Error()
	}
	hello := mcp.InitializeRequest{}
	hello.Params.ProtocolVersion = mcp.LATEST_PROTOCOL_VERSION
	hello.Params.ClientInfo = mcp.Implementation{Name: "remote", Version: "1"}
	if _, err := c.Initialize(ctx, hello); err != nil {
		return err.Error()
	}
	request := mcp.CallToolRequest{}
	request.Params.Name, request.Params.Arguments = tool, args
	result, err := c.CallTool(ctx, request)
	if err != nil {
		return err.Error()
	}
	return result.Content[0].(mcp.TextContent).Text
}

// newToken makes a token with the command, as an operator would.
func newToken(t *testing.T, args ...string) string {
	t.Helper()
	out, err := understudyCommand(t, time.Minute, append([]string{"token"}, args...)...).Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

// newIssuer is an issuer on this machine; sign makes a token for a subject.
func newIssuer(t *testing.T) (issuer string, sign func(subject string) string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
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
	if err != nil {
		t.Fatal(err)
	}
	return server.URL, func(subject string) string {
		claims := map[string]any{"iss": server.URL, "sub": subject, "aud": "understudy-test", "exp": time.Now().Add(time.Hour).Unix()}
		token, err := jwt.Signed(signer).Claims(claims).Serialize()
		if err != nil {
			t.Fatal(err)
		}
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
	r := startGuarded(t, "--auth-tokens", file, "--auth-issuer", issuer, "--auth-audience", "understudy-test")
	stranger := strings.Repeat("x", 60)

	for _, test := range []struct {
		path, token string
		status      int
		header      string // of WWW-Authenticate
	}{
		{"/mcp", "", 401, `Bearer realm="understudy", resource_metadata="http://` + r.addr + `/.well-known/oauth-protected-resource/mcp"`},
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
		if got := r.get(test.path, test.token); got.status != test.status || !strings.Contains(got.challenge, test.header) {
			t.Errorf("%s: %d, %q\n%.300s", test.path, got.status, got.challenge, got.body)
		}
	}

	// What an answer begins with; how long the run took may stand below.
	run := func(token, code string) string {
		first, _, _ := strings.Cut(r.call(token, "run_python_code", map[string]any{"code": code}), "\n")
		return first
	}
	if text := run(alice, "x = 'of alice'; 'kept'"); text != "'kept'" {
		t.Fatal(text)
	}
	if text := run(alice, "x"); !strings.Contains(text, "'of alice'") { // another connection, the same principal
		t.Error(text)
	}
	if text := r.call(carol, "run_python_code", map[string]any{"code": "x"}); !strings.Contains(text, "NameError") {
		t.Error(text)
	}
	if text := run(stranger, "1"); !strings.Contains(text, "authorization required") {
		t.Errorf("a stranger ran code: %s", text)
	}

	counted := r.get("/metrics", scraper).body
	for _, line := range []string{
		`understudy_interpreters 2`, `understudy_clients 2`,
		`understudy_calls_total{operation="run",outcome="ok",tool="run_python_code"} 2`,
		`understudy_calls_total{operation="run",outcome="error",tool="run_python_code"} 1`,
		`understudy_http_requests_total{method="GET",route="/mcp",status="401"}`,
	} {
		if !strings.Contains(counted, "\n"+line) {
			t.Errorf("no %s among\n%s", line, counted)
		}
	}

	bob = newToken(t, "bob", "--add-to", file)
	comesTrue(t, "bob comes in", func() bool { return run(bob, "1") == "1" })
	without(t, file, "alice ")
	comesTrue(t, "alice is locked out", func() bool { return strings.Contains(run(alice, "1"), "authorization required") })
	if text := run(carol, "1"); text != "1" {
		t.Error(text)
	}

	r.stop()
	if code := r.cmd.ProcessState.ExitCode(); code != 0 {
		t.Errorf("exit status %d", code)
	}
	for _, secret := range []string{alice, scraper, carol, bob, stranger, "of alice"} {
		if strings.Contains(r.said(), secret) {
			t.Errorf("%.20s… is in the log:\n%s", secret, r.said())
		}
	}
	if !strings.Contains(r.said(), "client=alice tool=run_python_code operation=run interpreter_id=") {
		t.Errorf("alice's call is not in the log:\n%s", r.said())
	}
}

func comesTrue(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !holds(); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("after a minute: not %s", what)
		}
	}
}

// without takes the lines that begin so out of a file, as an editor does.
func without(t *testing.T, path, beginning string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var kept []string
	for line := range strings.Lines(string(text)) {
		if !strings.HasPrefix(line, beginning) {
			kept = append(kept, line)
		}
	}
	if err := os.WriteFile(path, []byte(strings.Join(kept, "")), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestServerWithoutTokens: what would let everybody in, or nobody, ends at once.
func TestServerWithoutTokens(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "tokens")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for words, args := range map[string][]string{
		"no token; make one with": {"--auth-tokens", empty},
		"token file":              {"--auth-tokens", filepath.Join(t.TempDir(), "none")},
		"needs --auth-audience":   {"--auth-issuer", "https://login.example.org"},
		"auth-issuer must begin":  {"--auth-issuer", "http://login.example.org", "--auth-audience", "x"},
		"authentication":          {"--addr", "0.0.0.0:0"},
	} {
		cmd := understudyCommand(t, time.Minute, append([]string{"serve", "--transport", "http", "--addr", "127.0.0.1:0"}, args...)...)
		said, err := cmd.CombinedOutput()
		if err == nil || !strings.Contains(string(said), words) {
			t.Errorf("%q: %v\n%s", args, err, said)
		}
	}
}
