package connect

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"understudy/internal/check"
)

var must, expect, insist = check.Must, check.Expect, check.Insist

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// echo is a Server whose MCP says who the client is and repeats what it hears.
type echo struct {
	t     *testing.T
	place Place
	*Server
	usage func() (interpreters, running int)
	ended chan error
}

func startEcho(t *testing.T, change func(*Options)) *echo {
	t.Helper()
	e := &echo{t: t, place: PlaceOf(t.TempDir(), "k"), usage: func() (int, int) { return 0, 0 }, ended: make(chan error, 1)}
	o := Options{
		About: About{PID: 7, Build: "one", Directory: "/project", Transport: "connect"}, Clients: true, OperatorName: "operator",
		Usage: func() (int, int) { return e.usage() }, Logger: slog.New(slog.DiscardHandler),
		Serve: func(_ context.Context, in io.Reader, out io.Writer, client string) error {
			_, err := io.Copy(out, io.MultiReader(strings.NewReader(client+"\n"), in))
			return err
		},
	}
	if change != nil {
		change(&o)
	}
	l, err := e.place.Listen(t.Context())
	must(t, err)
	o.Token = l.Token
	e.Server = NewServer(o)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { e.ended <- e.Run(ctx, l) }()
	t.Cleanup(func() {
		cancel()
		must(t, <-e.ended)
		e.ended <- nil
	})
	return e
}

// enter says hello, and returns who the server takes the connection for.
func (e *echo) enter(h Hello) (client string, about About, conn net.Conn) {
	e.t.Helper()
	conn, err := dial(e.place.socket())
	must(e.t, err)
	e.t.Cleanup(func() { _ = conn.Close() })
	if h.Build == "" {
		h.Build = "one"
	}
	about, in, err := greet(conn, e.place.socket(), h)
	if err != nil || about.Retiring {
		return "", about, conn
	}
	line, err := in.ReadString('\n')
	must(e.t, err)
	return strings.TrimSpace(line), about, conn
}

// left waits until the server knows of so many clients.
func (e *echo) left(clients int) {
	for {
		e.mu.Lock()
		now := e.clients
		e.mu.Unlock()
		if now == clients {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

func TestWhoAConnectionIs(t *testing.T) {
	e := startEcho(t, nil)
	want := func(want string, h Hello) net.Conn {
		t.Helper()
		client, _, conn := e.enter(h)
		insist(t, client == want, "%+v is %q, not %q", h, client, want)
		return conn
	}
	claude := Hello{Role: RoleClient, Name: "Claude Code (beta)"}
	first := want("connect:claude-code-beta:1", claude)
	want("connect:claude-code-beta:2", claude)
	want("connect:cursor:1", Hello{Role: RoleClient, Name: "cursor"})
	want("connect:client:1", Hello{Role: RoleClient})
	want("shared:team", Hello{Role: RoleClient, Name: "cursor", Share: "team"})
	want("shared:team", Hello{Role: RoleClient, Share: "team"})
	want("operator", Hello{Role: RoleOperator})
	// A client that starts again is who it was; the other stays.
	_ = first.Close()
	e.left(5)
	want("connect:claude-code-beta:1", claude)
	want("connect:claude-code-beta:3", claude)
}

func TestWhatIsRefused(t *testing.T) {
	e := startEcho(t, func(o *Options) { o.Clients = false })
	for _, h := range []Hello{{Role: RoleClient}, {Role: "king"}} {
		client, about, _ := e.enter(h)
		expect(t, client == "" && about.Refusal != "", "%+v was taken as %q", h, client)
	}
	conn, err := dial(e.place.socket())
	must(t, err)
	defer conn.Close()
	must(t, say(conn, Hello{Protocol: protocol + 1, Role: RoleClient}))
	var about About
	if err := hear(bufio.NewReader(conn), &about); err != nil || !strings.Contains(about.Refusal, "process 7") {
		t.Errorf("a hello of another version: %+v, %v", about, err)
	}
}

// Who can't read the file beside the socket is told nothing, whatever it says it is.
func TestTokenIsRequired(t *testing.T) {
	e := startEcho(t, nil)
	path := tokenPath(e.place.socket())
	token, err := os.ReadFile(path)
	must(t, err)
	if info, err := os.Lstat(path); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	for _, role := range []string{RoleClient, RoleOperator, RoleLook} {
		for said, refused := range map[string]bool{"": true, "wrong": true, string(token) + "x": true, string(token): false} {
			conn, err := dial(e.place.socket())
			must(t, err)
			must(t, say(conn, Hello{Protocol: protocol, Role: role, Build: "one", Token: said}))
			in := bufio.NewReader(conn)
			var about About
			must(t, hear(in, &about))
			expect(t, refused || about.Refusal == "" && about.Directory == "/project", "%s with the token: %+v", role, about)
			if refused {
				if about != (About{Protocol: protocol, Refusal: about.Refusal}) || !strings.Contains(about.Refusal, "token") {
					t.Errorf("%s with %q is told %+v", role, said, about)
				}
				rest, err := io.ReadAll(in)
				expect(t, err == nil && len(rest) == 0, "%s with %q goes on: %q, %v", role, said, rest, err)
			}
			_ = conn.Close()
		}
	}
	e.Server.end()
	must(t, <-e.ended)
	e.ended <- nil
	if _, err := os.Lstat(path); err == nil {
		t.Error("the token is left")
	}
}

// A server without a token lets nobody in.
func TestEmptyTokenIsNone(t *testing.T) {
	expect(t, !NewServer(Options{}).knowsToken(Hello{}), "it is taken")
}

// A server that holds nothing gives way to a client of another build; one that
// holds variables, or has another client, stays.
func TestAnotherBuild(t *testing.T) {
	e := startEcho(t, nil)
	e.usage = func() (int, int) { return 1, 0 }
	client, about, conn := e.enter(Hello{Role: RoleClient, Build: "two"})
	insist(t, client == "connect:client:1" && about.Build == "one", "%q %+v", client, about)
	e.usage = func() (int, int) { return 0, 0 }
	if client, _, other := e.enter(Hello{Role: RoleClient, Build: "two"}); client != "connect:client:2" {
		t.Fatalf("beside another client: %q", client)
	} else {
		_ = other.Close()
	}
	_ = conn.Close()
	e.left(0)
	for e.isBusy() {
		time.Sleep(time.Millisecond)
	}
	if _, about, _ := e.enter(Hello{Role: RoleClient, Build: "two"}); !about.Retiring {
		t.Fatalf("a server that holds nothing stays: %+v", about)
	}
	err := <-e.ended
	expect(t, err == nil, "%v", err)
	e.ended <- nil
	if _, err := os.Lstat(e.place.socket()); err == nil {
		t.Error("the socket is left")
	}
}

// It ends when nobody is connected and nothing runs, and not before.
func TestIdleExit(t *testing.T) {
	running := make(chan int, 1)
	running <- 1
	now := func() int {
		n := <-running
		running <- n
		return n
	}
	e := startEcho(t, func(o *Options) { o.IdleExit = 50 * time.Millisecond; o.Usage = func() (int, int) { return 1, now() } })
	_, _, conn := e.enter(Hello{Role: RoleClient})
	<-running
	running <- 0
	select {
	case <-e.Over():
		t.Fatal("it ended with a client connected")
	case <-time.After(200 * time.Millisecond):
	}
	_ = conn.Close()
	<-e.Over()
	err := <-e.ended
	expect(t, err == nil, "%v", err)
	e.ended <- nil
}

const greeting = `{"method":"initialize","params":{"clientInfo":{"name":"Zed"}}}` + "\n"

// What was sent with the hello is not lost, and both ways end one by one.
func TestPipe(t *testing.T) {
	e := startEcho(t, nil)
	var out, notes bytes.Buffer
	in := strings.NewReader(greeting + strings.Repeat("x", 1<<20) + "\nlast")
	must(t, Pipe(t.Context(), Starter{Place: e.place}, Peer{Build: "one"}, in, &out, &notes))
	if got := out.String(); !strings.HasPrefix(got, "connect:zed:1\n{\"method\"") || !strings.HasSuffix(got, "\nlast") || len(got) < 1<<20 {
		t.Errorf("%d bytes, %.100q", len(got), got)
	}
	expect(t, notes.Len() == 0, "%v", notes.String())
}

// A client learns why there is no server in place of one that gave way.
func TestAServerThatCannotStart(t *testing.T) {
	e := startEcho(t, nil)
	s := Starter{Place: e.place, Launch: []string{"sh", "-c", "echo no luck today >&2; exit 1"}}
	var out, notes bytes.Buffer
	err := Pipe(t.Context(), s, Peer{Build: "another"}, strings.NewReader(greeting), &out, &notes)
	expect(t, err != nil && strings.Contains(err.Error(), "no luck today") && out.Len() == 0, "%v, %q", err, out.String())
}

func TestProgramName(t *testing.T) {
	for line, want := range map[string]string{
		`{"method":"initialize","params":{"clientInfo":{"name":"Zed","version":"1"}}}`:                                            "Zed",
		`{"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/clientInfo":{"name":"mcp"},"progressToken":1}}}`: "mcp",
		`{"method":"ping"}`: "", `[]`: "", `nonsense`: "",
	} {
		got := programName([]byte(line))
		expect(t, got == want, "%s: %q", line, got)
	}
	got := plainName(strings.Repeat("Ä b", 50))
	expect(t, len(got) <= 40 && !strings.ContainsAny(got, "Ä "), "%q", got)
}

// The path of a socket is short on every system, that of a data directory is not.
func TestSocketPaths(t *testing.T) {
	deep := filepath.Join(t.TempDir(), strings.Repeat("a", 100), strings.Repeat("b", 100))
	path := filepath.Join(deep, "door", "socket")
	l, err := ListenAt(path)
	if err != nil {
		if strings.Contains(err.Error(), "--data-dir") {
			t.Skip("not on this system: ", err)
		}
		t.Fatal(err)
	}
	info, err := os.Lstat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if dir, err := os.Lstat(filepath.Dir(path)); err != nil || dir.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", dir.Mode(), err)
	}
	conn, err := dial(path)
	must(t, err)
	_ = conn.Close()
	if _, err := ListenAt(path); err == nil || !strings.Contains(err.Error(), "another server") {
		t.Errorf("a second server there: %v", err)
	}
	_ = l.Close()
	if left, err := os.ReadDir(filepath.Dir(path)); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

// A long log is begun anew.
func TestLogIsBounded(t *testing.T) {
	file, err := os.OpenFile(filepath.Join(t.TempDir(), "log"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	must(t, err)
	defer file.Close()
	log := Log(file)
	for range 3 << 10 {
		_, err := log.Write(bytes.Repeat([]byte("x"), 1<<10))
		must(t, err)
	}
	if info, err := file.Stat(); err != nil || info.Size() > maxLog+1<<11 || info.Size() == 0 {
		t.Errorf("%d bytes, %v", info.Size(), err)
	}
}
