package e2e

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/mcp"

	"understudy/internal/connect"
)

// desk is a user's machine with a project, a data directory and a mark on every
// process of the test's. At its end nothing of them may be left.
type desk struct {
	t                   *testing.T
	data, project, mark string
	env                 []string
}

func newDesk(t *testing.T) *desk {
	t.Helper()
	d := &desk{t: t, project: t.TempDir(), mark: markName + "=" + rand.Text()}
	d.env = append(serverEnvironment(t), d.mark)
	for _, entry := range d.env {
		if dir, ok := strings.CutPrefix(entry, "UNDERSTUDY_DATA_DIR="); ok {
			d.data = dir
		}
	}
	t.Cleanup(d.tidy)
	return d
}

// tidy asks the servers to end as a system does that shuts down, and sees that no
// process and no file of a run is left.
func (d *desk) tidy() {
	for _, server := range connect.Running(d.data) {
		_ = syscall.Kill(server.PID, syscall.SIGTERM) // it may end this moment
	}
	d.gone()
	if left, _ := os.ReadDir(filepath.Join(d.data, "run")); len(left) > 0 {
		d.t.Errorf("files of a run are left: %v", left)
	}
}

// gone waits until there is no process of the test's.
func (d *desk) gone() {
	d.t.Helper()
	d.until("no process is left", func() bool { return len(marked(d.mark)) == 0 })
}

func (d *desk) until(what string, holds func() bool) {
	d.t.Helper()
	for end := time.Now().Add(time.Minute); !holds(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			d.t.Fatalf("it never comes to this: %s; there are %v", what, marked(d.mark))
		}
	}
}

// member is a client program that runs connect.
type member struct {
	*client.Client
	cmd    *exec.Cmd
	stderr *bytes.Buffer
	link   *stdioLink
}

// enter starts a client program of that name, with connect and its flags.
func (d *desk) enter(name string, args ...string) *member {
	d.t.Helper()
	m, err := d.tryToRun(name, append([]string{"connect"}, args...)...)
	if err != nil {
		d.t.Fatalf("%v\n%s", err, m.stderr)
	}
	d.t.Cleanup(func() { _ = m.Close() })
	return m
}

func (d *desk) tryToRun(name string, args ...string) (*member, error) {
	m := &member{cmd: exec.Command("understudy", args...), stderr: &bytes.Buffer{}}
	m.cmd.Env, m.cmd.Dir, m.cmd.Stderr = d.env, d.project, m.stderr
	var err error
	if m.link, err = startStdio(m.cmd); err != nil {
		return m, err
	}
	m.Client = client.NewClient(m.link, patientDiscovery)
	if err := m.Start(context.Background()); err != nil {
		return m, err
	}
	var hello mcp.InitializeRequest
	hello.Params.ProtocolVersion = mcp.LATEST_PROTOCOL_VERSION
	hello.Params.ClientInfo = mcp.Implementation{Name: name, Version: "1"}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	_, err = m.Initialize(ctx, hello)
	return m, err
}

// value runs code in the default interpreter and returns the variable's value.
func (d *desk) value(m *member, code, name string) any {
	d.t.Helper()
	record, _ := mustCall(d.t, m.Client, "run_python_code", map[string]any{"code": code, "result_var_name": name})
	return record["result"]
}

func (d *desk) server() connect.Found {
	d.t.Helper()
	running := connect.Running(d.data)
	if len(running) != 1 {
		d.t.Fatalf("there are %d servers: %+v", len(running), running)
	}
	return running[0]
}

func TestVariablesOutliveTheirClient(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	first := d.enter("editor")
	d.value(first, "x = 41", "x")
	beside := d.enter("editor")
	if got := d.value(beside, "y = 'x' in globals()", "y"); got != false {
		t.Error("two clients that run at once share a variable")
	}
	if err := first.Close(); err != nil {
		t.Error(err)
	}
	again := d.enter("editor")
	if got := d.value(again, "x += 1", "x"); got != 42.0 {
		t.Errorf("after a restart of the client x is %v", got)
	}
	other := d.enter("another program")
	if got := d.value(other, "y = 'x' in globals()", "y"); got != false {
		t.Error("another program has the variables of the first")
	}
	if got := d.server(); got.Clients != 3 || got.Transport != "connect" {
		t.Errorf("%+v", got)
	}
}

func TestClientsShareIfTheUserSaysSo(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	one, two := d.enter("one", "--share", "team"), d.enter("two", "--share", "team")
	alone := d.enter("one")
	record, _ := mustCall(t, one.Client, "manage_interpreters", map[string]any{"operation": "create"})
	id := record["interpreter_id"].(string)
	mustCall(t, one.Client, "run_python_code", map[string]any{"code": "x = 1", "interpreter_id": id})
	mustCall(t, two.Client, "run_python_code", map[string]any{"code": "x += 1", "interpreter_id": id})
	if got := d.value(one, "mine = 1", "mine"); got != 1.0 {
		t.Error(got)
	}
	if got := d.value(two, "mine += 1", "mine"); got != 2.0 {
		t.Errorf("the default interpreter is not shared: %v", got)
	}
	if _, text, err := callTool(alone.Client, "run_python_code", map[string]any{"code": "x", "interpreter_id": id}); err == nil || !strings.Contains(text, "not found") {
		t.Errorf("without the name another's interpreter is reached: %s", text)
	}
}

func TestClientsThatStartAtOnceHaveOneServer(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	var starting sync.WaitGroup
	var mu sync.Mutex
	var members []*member
	for range 5 {
		starting.Go(func() {
			m, err := d.tryToRun("editor", "connect")
			if err != nil {
				t.Errorf("%v\n%s", err, m.stderr)
			}
			mu.Lock()
			defer mu.Unlock()
			members = append(members, m)
		})
	}
	starting.Wait()
	d.until("five clients of one server", func() bool { return d.server().Clients == 5 })
	// Another directory has a server of its own, and so have other settings.
	project := d.project
	d.project = t.TempDir()
	members = append(members, d.enter("editor"))
	d.project = project
	members = append(members, d.enter("editor", "--wait", "1s"))
	if n := len(connect.Running(d.data)); n != 3 {
		t.Errorf("%d servers for two directories and two kinds of settings", n)
	}
	for _, m := range members {
		_ = m.Close()
	}
}

// untilGo is code that runs until goOn.
func (d *desk) untilGo() string {
	return fmt.Sprintf("import time, os\nwhile not os.path.exists(%q): time.sleep(0.01)", filepath.Join(d.project, "go"))
}

func (d *desk) goOn() {
	d.t.Helper()
	if err := os.WriteFile(filepath.Join(d.project, "go"), nil, 0o600); err != nil {
		d.t.Fatal(err)
	}
}

// TestKillsInAnyOrder kills connect, its client and the server.
func TestKillsInAnyOrder(t *testing.T) {
	t.Parallel()
	kill := map[string]func(d *desk, m *member){
		"connect": func(_ *desk, m *member) { _ = m.cmd.Process.Kill() },
		"client": func(_ *desk, m *member) { // what the system does with its streams
			_ = m.link.Stdio.Close()
		},
		"server": func(d *desk, m *member) {
			_ = syscall.Kill(d.server().PID, syscall.SIGKILL)
			var exit *exec.ExitError
			if err := m.cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != 1 {
				d.t.Errorf("connect ended by %v", err)
			}
			if !strings.Contains(m.stderr.String(), "the server has ended") {
				d.t.Errorf("connect said %q", m.stderr)
			}
		},
	}
	for _, order := range [][]string{
		{"connect"}, {"client"}, {"server"}, {"connect", "server"}, {"client", "connect"}, {"client", "server"},
		{"connect", "client"}, {"server", "client", "connect"},
	} {
		t.Run(strings.Join(order, " "), func(t *testing.T) {
			t.Parallel()
			d := newDesk(t)
			m := d.enter("editor")
			d.value(m, "x = 41", "x")
			// Code that runs goes on without its caller.
			mustCall(t, m.Client, "run_python_code", map[string]any{"wait": 0.01, "code": d.untilGo() + "\nx += 1"})
			for i, victim := range order {
				if victim == "server" && i > 0 { // connect has ended
					_ = syscall.Kill(d.server().PID, syscall.SIGKILL)
					continue
				}
				kill[victim](d, m)
			}
			d.goOn()
			if slices.Contains(order, "server") {
				d.gone()
			}
			again := d.enter("editor")
			want := any(42.0)
			if slices.Contains(order, "server") {
				want = "lost"
			}
			if got := d.value(again, "x = globals().get('x', 'lost')", "x"); got != want {
				t.Errorf("x is %v", got)
			}
		})
	}
}

// A server that nobody uses ends by itself, and leaves nothing.
func TestIdleServerEnds(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	m := d.enter("editor", "--idle-exit", "200ms")
	d.value(m, "x = 1", "x")
	mustCall(t, m.Client, "run_python_code", map[string]any{"wait": 0.01, "code": d.untilGo()})
	_ = m.Close()
	// What runs keeps it; there is no moment at which it would be known to stay.
	time.Sleep(500 * time.Millisecond)
	d.server()
	d.goOn()
	d.gone()
	left, err := os.ReadDir(filepath.Join(d.data, "shared"))
	if err != nil || len(left) != 1 || left[0].Name() != "lock" {
		t.Errorf("left: %v %v", left, err)
	}
}

// What keeps the server from starting is told to the client's user.
func TestServerThatCannotStart(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	for i, entry := range d.env {
		if strings.HasPrefix(entry, "UNDERSTUDY_DATA_DIR=") {
			d.env[i] = "UNDERSTUDY_DATA_DIR=/proc/nowhere"
		}
	}
	cmd := exec.Command("understudy", "connect")
	cmd.Env, cmd.Dir = d.env, d.project
	if said, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(said), "--data-dir") {
		t.Errorf("%v: %s", err, said)
	}
	cmd = exec.Command("understudy", "connect", "--share", "a b")
	cmd.Env, cmd.Dir = d.env, d.project
	if said, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(said), "share is") {
		t.Errorf("%v: %s", err, said)
	}
}
