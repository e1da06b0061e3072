package worker

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"understudy/internal/proc"
	"understudy/internal/worker/workertest"
	"understudy/sessions"
)

func init() { miniServer = serveAndDie }

// Nothing of a killed server is left, whoever of those that see to it was killed with
// it or before, and however its workers were begun.
func TestServerKilled(t *testing.T) {
	for name, fate := range map[string]struct{ start, before, with string }{
		"forking":                  {start: "zygote"},
		"forking, not warm yet":    {start: "cold"},
		"with its root":            {start: "zygote", with: "root"},
		"with its zygote":          {start: "zygote", with: "zygote"},
		"after its root":           {start: "zygote", before: "root"},
		"after its zygote":         {start: "zygote", before: "zygote"},
		"after one, with another":  {start: "zygote", before: "root", with: "zygote"},
		"spawning":                 {start: "spawn"},
		"spawning, after its root": {start: "spawn", before: "root"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			killServer(t, oneChild+fiftyChildren+lostChildren,
				"WORKER_TEST_START="+fate.start, "WORKER_TEST_DIES_BEFORE="+fate.before, "WORKER_TEST_DIES_WITH="+fate.with)
		})
	}
}

// TestServerKilledWithoutGuard: a worker that would not notice the end of its
// connection dies with the server all the same.
func TestServerKilledWithoutGuard(t *testing.T) {
	killServer(t, `
import os, threading
threading.Thread(target=threading.Event().wait).start()  # Python waits for it at its end
print(os.getpid())
`, "WORKER_TEST_NO_GUARD=1")
}

// A helper that listens to nobody ends with a killed server all the same.
func TestHelperOfAKilledServer(t *testing.T) {
	found := killServer(t, "", "WORKER_TEST_HELPER=1", "WORKER_TEST_NO_GUARD=1")
	expect(t, len(found) == 2, "the server had the children %v, not a worker and a helper", found)
}

// killServer waits until a server that has run the code is dead, with everybody it has
// started, and returns their ids.
func killServer(t *testing.T, code string, env ...string) (all []int) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), roleVariable+"=server", "WORKER_TEST_PYTHON="+workertest.Python(t),
		"WORKER_TEST_LIBRARY="+t.TempDir(), "WORKER_TEST_CODE="+code)
	cmd.Env = append(cmd.Env, env...)
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	for lines := bufio.NewScanner(out); lines.Scan(); {
		pid, err := strconv.Atoi(strings.TrimSpace(lines.Text()))
		insist(t, err == nil, "the server says %q", lines.Text())
		all = append(all, pid)
	}
	if _ = cmd.Wait(); len(all) == 0 {
		t.Fatal("nobody was there")
	}
	for _, pid := range all {
		eventually(t, fmt.Sprintf("process %d ends", pid), func() bool { return !alive(pid) })
	}
	return all
}

// serveAndDie is a server with one worker, whose code it reads from its environment. It
// prints the ids of all processes that there are then, and kills itself.
func serveAndDie() int {
	s, printed, err := serve()
	if err != nil {
		fmt.Println(err)
		return 1
	}
	printDescendants(os.Getpid())
	fmt.Print(printed)
	if with := s.forkerNow(os.Getenv("WORKER_TEST_DIES_WITH")); with != nil {
		_ = unix.Kill(with.process.pid, unix.SIGKILL)
	}
	_ = unix.Kill(os.Getpid(), unix.SIGKILL)
	return 1
}

// printDescendants prints the ids of those that live.
func printDescendants(pid int) {
	children, _ := proc.ChildrenOf(pid)
	for _, child := range children {
		if p, ok := proc.Read(child); ok && !p.Dead {
			fmt.Println(child)
		}
		printDescendants(child)
	}
}

// serve returns a server that has run the code, and what that has printed.
func serve() (s *Spawner, printed string, err error) {
	options := Options{
		Python: os.Getenv("WORKER_TEST_PYTHON"), LibraryDir: os.Getenv("WORKER_TEST_LIBRARY"),
		Guard: os.Getenv("WORKER_TEST_NO_GUARD") == "", CheckpointShare: 0.5, Echo: "none",
	}
	starter, how := sessions.Starter(nil), os.Getenv("WORKER_TEST_START")
	if how == "zygote" || how == "cold" {
		z := NewZygote(options)
		s, starter = z.Spawner, z
	} else {
		s = NewSpawner(options)
		starter = s
	}
	if how == "zygote" {
		s.Warm()
		s.awaitForker("zygote", 0)
	}
	if os.Getenv("WORKER_TEST_HELPER") != "" {
		s.packages = fakePackages
		h, err := s.Helper("helper.py")
		if err == nil {
			_, err = h.Write([]byte("hang\n"))
		}
		if err != nil {
			return nil, "", err
		}
	}
	w, err := starter.Start(context.Background(), sessions.Spec{InterpreterID: "doomed", Workdir: os.TempDir()})
	if err != nil {
		return nil, "", err
	}
	sink := workertest.NewRecorder()
	if _, err := w.Run(context.Background(), sessions.Request{Execution: 1, Code: os.Getenv("WORKER_TEST_CODE")}, sink); err != nil {
		return nil, "", err
	}
	if s.ForkObstacle() == "" { // with a copy to be woken by nobody
		if _, err := w.Fork(context.Background(), sessions.ToStandBy); err != nil {
			return nil, "", err
		}
	}
	if name := os.Getenv("WORKER_TEST_DIES_BEFORE"); name != "" {
		before := s.awaitForker(name, 0)
		_ = unix.Kill(before, unix.SIGKILL)
		s.awaitForker(name, before)
	}
	return s, sink.Text(sessions.Stdout), nil
}

// awaitForker returns the id of a forker, another one than former.
func (s *Spawner) awaitForker(name string, former int) int {
	for {
		if it := s.forkerNow(name); it != nil && it.process.pid != former {
			return it.process.pid
		}
		time.Sleep(time.Millisecond)
	}
}
