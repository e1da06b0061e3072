package transport

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/server"
)

// The rows of Caller's table, one test or more for each.

const actAsClient = "TRANSPORT_TEST_CLIENT"

// own is the beginning of what this process is as a client.
func own(t testing.TB) string {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("processes are found on Linux only")
	}
	stat, err := os.ReadFile("/proc/self/stat")
	must(t, err)
	const start = 19 // counted from the field after the program's name
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	return fmt.Sprintf("%s%d.%s ", processPrefix, os.Getpid(), fields[start])
}

// named is a message of the newest era whose client has that name.
func named(t testing.TB, q request, name string) request {
	q = inModern(t, q)
	return q.saying(strings.Replace(q.body, `"name":"test"`, fmt.Sprintf(`"name":%q`, name), 1))
}

// whoIs asks the server who sends the request.
func (h *house) whoIs(t testing.TB, q request) string {
	t.Helper()
	_, body := h.send(t, q)
	return textOf(t, body)
}

func TestAPrincipalAndItsConversations(t *testing.T) {
	h := open(t, HTTPOptions{Authenticator: names{}})
	who := post(calling(1, "who", ""))
	ann := []string{"Authorization", "Bearer ann"}
	id := h.session(t, ann...)
	for name, q := range map[string]request{
		"modern": inModern(t, who), "a session": who.with(mcpSession, id), "no session": who,
		"through a proxy": inModern(t, who).with("X-Forwarded-For", "203.0.113.7"),
	} {
		got := h.whoIs(t, q.with(ann...))
		expect(t, got == "principal:ann|", "%s: %s", name, got)
		chat := q.saying(strings.Replace(q.body, `"params":{`, `"params":{"_meta":{"openai/session":"chat-7"},`, 1))
		if strings.Contains(q.body, `"_meta"`) {
			chat = q.saying(strings.Replace(q.body, `"_meta":{`, `"_meta":{"openai/session":"chat-7",`, 1))
		}
		if got := h.whoIs(t, chat.with(ann...)); got != "principal:ann|chat-7" {
			t.Errorf("%s: %s", name, got)
		}
	}
	stream, messages := h.stream(t.Context(), t, ann...)
	h.send(t, messages.saying(strings.Replace(who.body, `"params":{`, `"params":{"_meta":{"openai/session":"chat-8"},`, 1)).with(ann...))
	got := textOf(t, stream.next())
	expect(t, got == "principal:ann|chat-8", "SSE: %s", got)
}

func TestClientsOnLines(t *testing.T) {
	c := stdio(t)
	c.say(calling(1, "who", ""))
	got := textOf(t, c.next())
	expect(t, got == "stdio|", "%v", got)
	tl := newTools()
	c = converseWith(t, tl, tl.server(), func(ctx context.Context, s *server.MCPServer, in io.Reader, out io.Writer) error {
		return ServeLines(ctx, s, in, out, Caller{Client: "connect:ann"}, slog.New(slog.DiscardHandler))
	})
	c.say(calling(1, "who", ""))
	if got := textOf(t, c.next()); got != "connect:ann|" {
		t.Error(got)
	}
}

func TestASessionOfAnOlderEra(t *testing.T) {
	h := open(t, HTTPOptions{})
	who := post(calling(1, "who", ""))
	first, second := h.session(t), h.session(t)
	for _, id := range []string{first, second, first} {
		got := h.whoIs(t, who.with(mcpSession, id))
		expect(t, got == "session:"+id+"|", "%v", got)
	}
	stream, messages := h.stream(t.Context(), t)
	h.send(t, messages.saying(who.body))
	got := textOf(t, stream.next())
	expect(t, got == "session:"+messages.path[strings.Index(messages.path, "=")+1:]+"|", "%v", got)
}

// TestAProcess: its calls are of one client, on any connection and without a session
// too; by the name that it gives itself it may be several.
func TestAProcess(t *testing.T) {
	for network, h := range houses(t) {
		who := post(calling(1, "who", ""))
		for want, q := range map[string]request{
			"a": named(t, who, "a"), "b": named(t, who, "b").with(mcpSession, h.session(t)), "": who, // the newest era has no session
		} {
			for range 2 {
				h.http.CloseIdleConnections()
				got := h.whoIs(t, q)
				expect(t, got == own(t)+want+"|", "%s: %q: %s", network, want, got)
			}
		}
		long := strings.Repeat("x", 1000)
		got := h.whoIs(t, named(t, who, long))
		expect(t, got == own(t)+long[:64]+"|", "%s: %s", network, got)
		for i := range 2 * mostNames {
			h.whoIs(t, named(t, who, fmt.Sprint(i)))
		}
		n := len(h.processes.names[h.processes.all()[0]])
		expect(t, n == mostNames, "%s: %d names", network, n)
	}
}

// TestAnotherProcess is another client, and has left when it has ended.
func TestAnotherProcess(t *testing.T) {
	for network, h := range houses(t) {
		first, second := startClient(t, h), startClient(t, h)
		a, b := first.ask(t), second.ask(t)
		if a == b || !strings.HasPrefix(a, fmt.Sprintf("process:%d.", first.pid)) || !strings.HasPrefix(b, fmt.Sprintf("process:%d.", second.pid)) {
			t.Errorf("%s: %s and %s", network, a, b)
		}
		again := first.ask(t)
		expect(t, again == a, "%s: %s, then %s", network, a, again)
		first.end(t)
		left := soon(t, h.leaving)
		expect(t, left+"|" == a, "%s: %s left, not %s", network, left, a)
		if again := second.ask(t); again != b || len(h.leaving) > 0 {
			t.Errorf("%s: %s, then %s", network, b, again)
		}
		second.end(t)
	}
}

// TestWhoIsNoProcess: what a proxy has passed on is nobody's, nor is what comes from
// a place that says nothing.
func TestWhoIsNoProcess(t *testing.T) {
	h := open(t, HTTPOptions{})
	who := inModern(t, post(calling(1, "who", "")))
	for _, header := range []string{"Forwarded", "X-Forwarded-For", "X-Forwarded-Proto", "X-Real-IP", "Via"} {
		for era, q := range map[string]request{"modern": who, "no session": post(calling(1, "who", ""))} {
			got := h.whoIs(t, q.with(header, "203.0.113.7"))
			expect(t, got == "|", "%s, %s: %s", header, era, got)
		}
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://localhost/mcp", nil)
	must(t, err)
	got := h.withoutSession(r, message{clientName: "x"})
	expect(t, got.Client == "", "another machine: %+v", got)
	known := context.WithValue(t.Context(), peerKey{}, func() socketPeer { return socketPeer{user: "1000"} })
	r = r.WithContext(known)
	if got := h.withoutSession(r, message{clientName: "x"}); got.Client != "user:1000 x" {
		t.Errorf("another user's process: %+v", got)
	}
	r.Proto, r.ProtoMajor, r.ProtoMinor = "HTTP/1.0", 1, 0
	if got := h.withoutSession(r, message{clientName: "x"}); got.Client != "" {
		t.Errorf("HTTP/1.0, as of nginx: %+v", got)
	}
}

// TestWithoutASession: what can be served is, and the rest is told how.
func TestWithoutASession(t *testing.T) {
	h := open(t, HTTPOptions{})
	_, body := h.send(t, post(calling(9, "remember", `{"word":"x"}`)))
	expect(t, textOf(t, body) == "x", "%v", body)
	if _, body := h.send(t, post(calling(9, "remember", `{"word":"y"}`))); textOf(t, body) != "xy" {
		t.Errorf("two calls of one program share nothing: %s", body)
	}
	for _, method := range []string{"ping", "tools/list", "resources/list"} {
		_, body := h.answers(t, method, post(`{"jsonrpc":"2.0","id":7,"method":"`+method+`"}`), http.StatusOK)
		expect(t, strings.Contains(body, `"id":7,"result"`), "%s: %s", method, body)
	}
	for _, note := range []string{"notifications/initialized", "notifications/cancelled"} {
		h.answers(t, note, post(`{"jsonrpc":"2.0","method":"`+note+`","params":{"requestId":1}}`), http.StatusAccepted)
	}
	notified, _ := h.follow(t.Context(), t, post(calling(1, "count", `{"to":3,"name":"x"}`)))
	for range 3 {
		event := notified.next()
		expect(t, strings.Contains(event, "progress"), "%v", event)
	}
	event := notified.next()
	expect(t, strings.Contains(event, `"id":1`), "%v", event)
	ctx, hangUp := context.WithCancel(t.Context())
	go func() {
		soon(t, h.tools.began)
		hangUp()
	}()
	if response, err := h.try(ctx, post(calling(1, "wait", ""))); err == nil {
		_ = response.Body.Close()
		t.Error(response.Status)
	}
	err := soon(t, h.tools.ended)
	expect(t, err == context.Canceled, "%v", err)
}

// houses are servers on TCP and, where there are such, on a Unix socket.
func houses(t *testing.T) map[string]*watchedHouse {
	own(t)
	all := map[string]*watchedHouse{}
	for _, network := range []string{"tcp", "unix"} {
		left := make(chan string, 100)
		options := HTTPOptions{processSweep: time.Millisecond, Left: func(client string, _ bool) { left <- client }}
		if network == "tcp" {
			all[network] = &watchedHouse{open(t, options), left, ""}
			continue
		}
		path := filepath.Join(t.TempDir(), "s")
		tl := newTools()
		h := serving(t, listen(t, "unix", path), tl, tl.server(), options)
		h.addr = "any-name" // will do, as it is out of a browser's reach
		h.http.Transport = unixTransport(path)
		all[network] = &watchedHouse{h, left, path}
	}
	return all
}

func unixTransport(path string) *http.Transport {
	return &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", path)
	}}
}

type watchedHouse struct {
	*house
	leaving chan string
	socket  string // "" for TCP
}

// client is another process.
type client struct {
	pid     int
	command *exec.Cmd
	in      io.WriteCloser
	out     *bufio.Reader
}

func startClient(t *testing.T, h *watchedHouse) *client {
	t.Helper()
	command := exec.CommandContext(t.Context(), os.Args[0])
	command.Env = append(os.Environ(), actAsClient+"="+h.addr+" "+h.socket)
	in, err := command.StdinPipe()
	must(t, err)
	out, err := command.StdoutPipe()
	must(t, err)
	must(t, command.Start())
	return &client{command.Process.Pid, command, in, bufio.NewReader(out)}
}

// ask has the client ask who it is.
func (c *client) ask(t *testing.T) string {
	t.Helper()
	_, _ = io.WriteString(c.in, "\n")
	line, err := c.out.ReadString('\n')
	must(t, err)
	text, err := strconv.Unquote(strings.TrimSpace(line))
	insist(t, err == nil, "%v", line)
	return textOf(t, text)
}

func (c *client) end(t *testing.T) {
	t.Helper()
	_ = c.in.Close()
	err := c.command.Wait()
	expect(t, err == nil, "%v", err)
}

// beClient is what such a process does: for each line it asks who it is, on a
// connection of its own.
func beClient(where string) {
	addr, socket, _ := strings.Cut(where, " ")
	h := &house{addr: addr}
	if socket != "" {
		h.http.Transport = unixTransport(socket)
	}
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		response, err := h.try(context.Background(), post(calling(1, "who", "")).with("Connection", "close"))
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		body, _ := io.ReadAll(response.Body)
		_ = response.Body.Close()
		h.http.CloseIdleConnections()
		fmt.Println(strconv.Quote(string(body)))
	}
	os.Exit(0)
}
