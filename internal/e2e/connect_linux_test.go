package e2e

import (
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

	"understudy/internal/connect"
)

// desk is a user's machine with a project, a data directory and a mark on every
// process of the test's. At its end nothing of them may be left.
type desk struct {
	t                   *testing.T
	data, project, mark string
}

func newDesk(t *testing.T) *desk {
	t.Helper()
	d := &desk{t: t, data: t.TempDir(), project: t.TempDir(), mark: markName + "=" + rand.Text()}
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
	left, _ := os.ReadDir(filepath.Join(d.data, "run"))
	expect(d.t, len(left) == 0, "files of a run are left: %v", left)
}

// gone waits until there is no process of the test's.
func (d *desk) gone() {
	d.t.Helper()
	eventually(d.t, func() error {
		if left := marked(d.mark); len(left) > 0 {
			return fmt.Errorf("processes are left: %v", left)
		}
		return nil
	})
}

func (d *desk) command(arguments ...string) *exec.Cmd {
	d.t.Helper()
	cmd := command(d.t, arguments...)
	cmd.Dir, cmd.Env = d.project, append(cmd.Env, d.mark, "UNDERSTUDY_DATA_DIR="+d.data)
	return cmd
}

// member is a client program that runs connect.
type member struct {
	*client.Client
	link *stdioLink
	log  *serverLog
}

// enter starts a client program of that name, with connect and its flags.
func (d *desk) enter(name string, args ...string) *member {
	d.t.Helper()
	m, err := d.tryToRun(name, append([]string{"connect"}, args...)...)
	insist(d.t, err == nil, "%v\n%s", err, m.log)
	d.t.Cleanup(func() { _ = m.Close() })
	return m
}

func (d *desk) tryToRun(name string, args ...string) (*member, error) {
	cmd, m := d.command(args...), &member{log: &serverLog{}}
	cmd.Stderr = m.log
	var err error
	if m.link, err = startStdio(cmd); err == nil {
		m.Client, err = greet(m.link, name)
	}
	return m, err
}

// value runs code in the default interpreter and returns the variable's value.
func (d *desk) value(m *member, code, name string) any {
	d.t.Helper()
	record, _ := run(d.t, m.Client, code, "result_var_name", name)
	return record["result"]
}

// is expects that code leaves a variable with a value in the default interpreter.
func (d *desk) is(m *member, code, name string, want any) {
	d.t.Helper()
	got := d.value(m, code, name)
	expect(d.t, got == want, "after %s %s is %v, not %v", code, name, got, want)
}

func (d *desk) server() connect.Found {
	d.t.Helper()
	running := connect.Running(d.data)
	insist(d.t, len(running) == 1, "there are %d servers: %+v", len(running), running)
	return running[0]
}

func TestVariablesOutliveTheirClient(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	first := d.enter("editor")
	d.value(first, "x = 41", "x")
	beside := d.enter("editor")
	d.is(beside, "y = 'x' in globals()", "y", false) // two that run at once share nothing
	err := first.Close()
	expect(t, err == nil, "%v", err)
	comesTrue(t, "the server knows that the first is gone", func() bool { return d.server().Clients == 1 })
	again := d.enter("editor")
	d.is(again, "x += 1", "x", 42.0)
	other := d.enter("another program")
	d.is(other, "y = 'x' in globals()", "y", false)
	got := d.server()
	expect(t, got.Clients == 3 && got.Transport == "connect", "%+v", got)
}

func TestClientsShareIfTheUserSaysSo(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	one, two := d.enter("one", "--share", "team"), d.enter("two", "--share", "team")
	alone := d.enter("one")
	id := create(t, one.Client)
	run(t, one.Client, "x = 1", "interpreter_id", id)
	run(t, two.Client, "x += 1", "interpreter_id", id)
	d.is(one, "mine = 1", "mine", 1.0)
	d.is(two, "mine += 1", "mine", 2.0)
	refused(t, alone.Client, "not found", "run_python_code", "code", "x", "interpreter_id", id)
}

func TestClientsThatStartAtOnceHaveOneServer(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	members := make([]*member, 5)
	var starting sync.WaitGroup
	for i := range members {
		starting.Go(func() {
			var err error
			if members[i], err = d.tryToRun("editor", "connect"); err != nil {
				t.Errorf("%v\n%s", err, members[i].log)
			}
		})
	}
	starting.Wait()
	comesTrue(t, "five clients of one server", func() bool { return d.server().Clients == 5 })
	// Another directory has a server of its own, and so have other settings.
	project := d.project
	d.project = t.TempDir()
	members = append(members, d.enter("editor"))
	d.project = project
	members = append(members, d.enter("editor", "--wait", "1s"))
	n := len(connect.Running(d.data))
	expect(t, n == 3, "%d servers for two directories and two kinds of settings", n)
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
	writeFile(d.t, filepath.Join(d.project, "go"), "")
}

// TestKillsInAnyOrder kills connect, its client and the server.
func TestKillsInAnyOrder(t *testing.T) {
	t.Parallel()
	kill := map[string]func(d *desk, m *member){
		"connect": func(_ *desk, m *member) { _ = m.link.cmd.Process.Kill() },
		"client": func(_ *desk, m *member) { // what the system does with its streams
			_ = m.link.Stdio.Close()
		},
		"server": func(d *desk, m *member) {
			_ = syscall.Kill(d.server().PID, syscall.SIGKILL)
			var exit *exec.ExitError
			err := m.link.cmd.Wait()
			expect(d.t, errors.As(err, &exit) && exit.ExitCode() == 1, "connect ended by %v", err)
			if !strings.Contains(m.log.String(), "the server has ended; start the client's server again, which starts a new one") {
				d.t.Errorf("connect said %q", m.log)
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
			run(t, m.Client, d.untilGo()+"\nx += 1", "wait", 0.01)
			for i, victim := range order {
				if victim == "server" && i > 0 { // connect has ended
					_ = syscall.Kill(d.server().PID, syscall.SIGKILL)
					continue
				}
				kill[victim](d, m)
			}
			d.goOn()
			want := any(42.0)
			if slices.Contains(order, "server") {
				d.gone()
				want = "lost"
			} else { // a program that runs beside the first would have interpreters of its own
				comesTrue(t, "the server knows that nobody is there", func() bool { return d.server().Clients == 0 })
			}
			d.is(d.enter("editor"), "x = globals().get('x', 'lost')", "x", want)
		})
	}
}

// A server that nobody uses ends by itself, and leaves nothing.
func TestIdleServerEnds(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	m := d.enter("editor", "--idle-exit", "200ms")
	d.value(m, "x = 1", "x")
	run(t, m.Client, d.untilGo(), "wait", 0.01)
	_ = m.Close()
	// What runs keeps it; there is no moment at which it would be known to stay.
	time.Sleep(500 * time.Millisecond)
	d.server()
	d.goOn()
	d.gone()
	left, err := os.ReadDir(filepath.Join(d.data, "shared"))
	expect(t, err == nil && len(left) == 1 && left[0].Name() == "lock", "left: %v %v", left, err)
}

// What keeps the server from starting is told to the client's user.
func TestServerThatCannotStart(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	fails(t, d.command("connect", "--share", "a b"), "share is")
	d.data = "/proc/nowhere"
	fails(t, d.command("connect"), "--data-dir")
}
