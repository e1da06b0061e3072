package worker

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"

	"understudy/internal/proc"
	"understudy/internal/sandbox"
	"understudy/internal/worker/workertest"
	"understudy/sessions"
)

const testSpares = 2

// sparingZygote returns a warm Zygote with all its spares ready.
func sparingZygote(t testing.TB, change ...func(*Options)) *Zygote {
	t.Helper()
	z := testZygote(t, append(change, func(o *Options) { o.Spares = testSpares })...)
	z.awaitSpares(t)
	return z
}

// awaitSpares waits until all spares are there, each alive and a fork of the
// present zygote, and returns their process ids.
func (z *Zygote) awaitSpares(t testing.TB) (pids []int) {
	t.Helper()
	eventually(t, "the spares are there", func() bool {
		zygote, s := z.forkers.warm(), z.forkers.spares
		s.mu.Lock()
		defer s.mu.Unlock()
		pids = nil
		for _, sp := range s.idle {
			if sp.zygote == zygote && !sp.process.hasExited() {
				pids = append(pids, sp.process.pid)
			}
		}
		return len(pids) == s.wanted
	})
	return pids
}

// A start takes the oldest spare, and another is forked in its place.
func TestSparesAreTakenAndReplaced(t *testing.T) {
	z := sparingZygote(t)
	for range 3 * testSpares {
		spares := z.awaitSpares(t)
		w := started(t, z, "x = 1")
		expect(t, w.Info().PID == spares[0], "the worker is process %d; the spares were %v", w.Info().PID, spares)
		mustServe(t, w, "1\n")
	}
	now := z.awaitSpares(t)
	expect(t, len(now) == testSpares, "%d spares", len(now))
}

func TestZygoteWithSpares(t *testing.T) {
	z := sparingZygote(t)
	workertest.Suite(t, func(testing.TB) sessions.Starter { return z })
}

// Sessions that begin in spares have random numbers of their own, their marks,
// and none of each other's descriptors.
func TestSparesAreApart(t *testing.T) {
	z := sparingZygote(t, func(o *Options) { o.Preload = []string{"random", "multiprocessing.process"} })
	seen := map[string]bool{}
	for range 2 * testSpares {
		z.awaitSpares(t)
		w := workertest.Start(t, z)
		_, sink := workertest.Run(t, w, `
import os, random, multiprocessing.process as process
print(random.random(), process.current_process().authkey.hex(), sep="\n")
print(os.environ["UNDERSTUDY_INTERPRETER"])
print(sorted(os.readlink(f"/proc/self/fd/{fd}") for fd in (1, 2)))`)
		for _, line := range strings.Split(strings.TrimSpace(sink.All()), "\n") {
			expect(t, !seen[line], "two sessions have %s", line)
			seen[line] = true
		}
		_, sink = workertest.Run(t, w, lostChildren)
		w.Kill()
		mustBeGone(t, pids(t, sink)...)
	}
}

// A spare that dies is replaced; one that was stopped works when it is taken.
func TestSpareDiesOrStops(t *testing.T) {
	z := sparingZygote(t)
	first := z.awaitSpares(t)
	kill(t, first[0], unix.SIGKILL)
	kill(t, first[1], unix.SIGSTOP)
	w := started(t, z, "x = 1")
	mustServe(t, w, "1\n")
	eventually(t, "the dead one is replaced", func() bool { return !slices.Contains(z.awaitSpares(t), first[0]) })
	mustServe(t, started(t, z, "x = 2"), "2\n")
	mustBeGone(t, first[0])
}

// With the zygote, its spares are replaced; no start waits for that.
func TestSparesGoWithTheirZygote(t *testing.T) {
	z := sparingZygote(t)
	old := z.awaitSpares(t)
	kill(t, z.forkerNow("zygote").process.pid, unix.SIGKILL)
	mustServe(t, started(t, z, "x = 1"), "1\n")
	eventually(t, "there are other spares", func() bool {
		return !slices.ContainsFunc(z.awaitSpares(t), func(pid int) bool { return slices.Contains(old, pid) })
	})
}

// A spare that dies in the moment it is taken costs its session nothing.
func TestSpareDiesAsItIsTaken(t *testing.T) {
	z := sparingZygote(t)
	for range 10 {
		for _, pid := range z.awaitSpares(t) {
			_ = unix.Kill(pid, unix.SIGKILL) // one of the last round may have ended only now
		}
		workertest.Run(t, workertest.Start(t, z), "pass")
	}
}

// Code of the operator's that ends its process is not run a second time in another.
func TestSpareDiesOfTheOperatorsCode(t *testing.T) {
	ran := filepath.Join(t.TempDir(), "ran")
	z := sparingZygote(t, func(o *Options) {
		o.InitCode = fmt.Sprintf("import os\nwith open(%q, 'a') as f: n = f.write('.')\nos._exit(3)", ran)
	})
	z.awaitSpares(t)
	if _, err := z.Start(t.Context(), sessions.Spec{InterpreterID: "test", Workdir: t.TempDir()}); err == nil {
		t.Error("it started")
	}
	if dots, err := os.ReadFile(ran); string(dots) != "." {
		t.Errorf("the operator's code ran: %q %v", dots, err)
	}
}

// Where the operator has code of his own, it has run in none of the dead.
func TestSpareDiesBeforeTheOperatorsCodeRuns(t *testing.T) {
	ran := filepath.Join(t.TempDir(), "ran")
	z := sparingZygote(t, func(o *Options) {
		o.InitCode = fmt.Sprintf("with open(%q, 'a') as f: n = f.write('.')", ran)
	})
	const times = 5
	for range times {
		for _, pid := range z.awaitSpares(t) {
			kill(t, pid, unix.SIGKILL)
		}
		workertest.Run(t, workertest.Start(t, z), "pass")
	}
	if dots, err := os.ReadFile(ran); string(dots) != strings.Repeat(".", times) {
		t.Errorf("the operator's code ran: %q %v", dots, err)
	}
}

// A spare that was reaped is none: its id may be anybody's.
func TestReapedSpareIsNotTaken(t *testing.T) {
	z := sparingZygote(t)
	s := z.forkers.spares
	for range testSpares {
		sp := s.oldest()
		kill(t, sp.process.pid, unix.SIGKILL)
		eventually(t, "it has ended", sp.process.hasExited)
		w := s.engage(sp, proc.Mark{})
		expect(t, w == nil, "process %d is a worker", sp.process.pid)
		s.dismiss(sp)
	}
}

// A preloaded module that ends each fork has fewer and fewer made, and the
// operator hears of it once.
func TestSparesThatDieAtOnce(t *testing.T) {
	library := t.TempDir()
	code := "import os\nos.register_at_fork(after_in_child=lambda: os._exit(3))"
	must(t, os.WriteFile(filepath.Join(library, "deadly.py"), []byte(code), 0o600))
	t.Setenv("PYTHONPATH", library)
	var log syncedLog
	z := coldZygote(t, func(o *Options) {
		o.Preload, o.Spares, o.Logger = []string{"deadly"}, testSpares, slog.New(slog.NewTextHandler(&log, nil))
	})
	z.Warm()
	s := z.forkers.spares
	eventually(t, "a pause grows", func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.pause > 2*lossTold
	})
	const told = "forked ahead end at once"
	eventually(t, "it is told", func() bool { return strings.Contains(log.String(), told) })
	if text := log.String(); !strings.Contains(text, "code 3") {
		t.Errorf("the log: %s", text)
	}
	_ = s.take(proc.Mark{}, nil) // as a start does
	eventually(t, "the pause grows again", func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.pause > 2*lossTold
	})
	if text := log.String(); strings.Count(text, told) != 1 {
		t.Errorf("the log: %s", text)
	}
}

// syncedLog is a log that is read while it is written.
type syncedLog struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *syncedLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *syncedLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// The zygote is stopped: its spares serve the next starts, and then one goes
// another way.
func TestSparesOfAStoppedZygote(t *testing.T) {
	z := sparingZygote(t)
	kill(t, z.forkerNow("zygote").process.pid, unix.SIGSTOP)
	for range testSpares + 1 {
		mustServe(t, started(t, z, "x = 1"), "1\n")
	}
}

// No spare outlives the server's orderly end, even one that is stopped; and none
// is counted or known after.
func TestSparesEndWithTheServer(t *testing.T) {
	z := sparingZygote(t)
	descriptors := openDescriptors(t)
	spares := z.awaitSpares(t)
	kill(t, spares[0], unix.SIGSTOP)
	must(t, z.Close(context.Background()))
	mustBeGone(t, spares...)
	if left := z.forkers.spares.count(); left != 0 {
		t.Errorf("%d spares are left", left)
	}
	if left := append(z.registry.All(proc.Worker), z.registry.All(proc.Forker)...); len(left) != 0 {
		t.Errorf("processes are still known: %v", left)
	}
	now := openDescriptors(t)
	expect(t, now < descriptors, "%d descriptors before the end, %d after", descriptors, now)
}

// A zygote that may not fork has no spares replaced, and a start is spawned when
// they are used up.
func TestSparesThatCanNotBeReplaced(t *testing.T) {
	z := sparingZygote(t)
	release := forbidForks(t, z.forkerNow("root").process.pid, z.forkerNow("zygote").process.pid)
	defer release()
	for range testSpares + 1 {
		workertest.Run(t, workertest.Start(t, z), "pass")
	}
	left := z.forkers.spares.count()
	expect(t, left == 0, "%d spares", left)
}

// walledAtHome works in the home, as sessions of a server do.
type walledAtHome struct{ walledIn }

func (w walledAtHome) Start(ctx context.Context, spec sessions.Spec) (sessions.Worker, error) {
	home, err := os.MkdirTemp(w.base, "home-")
	if err != nil {
		return nil, err
	}
	spec.Workdir = filepath.Join(home, "work")
	if err := os.Mkdir(spec.Workdir, 0o700); err != nil {
		return nil, err
	}
	if err := os.Chmod(home, 0o711); err != nil {
		return nil, err
	}
	return w.startIn(ctx, spec, home)
}

// A spare has mounted what all sessions see before its session's home was there. One
// that has mounted a directory that was replaced since is not taken.
func TestSparesBehindTheWall(t *testing.T) {
	base := openDir(t, "/var/tmp") // which the view covers
	homes, data := filepath.Join(base, "homes"), filepath.Join(base, "data")
	furnish := func(text string) {
		must(t, os.MkdirAll(data, 0o755))
		must(t, os.WriteFile(filepath.Join(data, "text"), []byte(text), 0o644))
	}
	furnish("before")
	must(t, os.Mkdir(homes, 0o711))
	for _, dir := range []string{base, homes} {
		must(t, os.Chmod(dir, 0o711))
	}
	wall, behind := testWall(t, sandbox.Settings{Python: []string{filepath.Join(base, "lib")}, Hidden: []string{base}, Read: []string{data}})
	wall.ExpectHomes(homes)
	z := sparingZygote(t, behind)
	starter := walledAtHome{walledIn{walled{z, wall, t}, homes}}
	begin := func(want string) (pid int) {
		t.Helper()
		w := workertest.Start(t, starter)
		code := fmt.Sprintf("import os, tempfile\nopen('mine', 'w').write('here'); tempfile.TemporaryFile()\nprint(open(%q).read(), *os.listdir())", filepath.Join(data, "text"))
		_, sink := workertest.Run(t, w, code)
		got := strings.TrimSpace(sink.Text(sessions.Stdout))
		expect(t, got == want, "got %q, want %q; %s", got, want, sink.Text(sessions.Stderr))
		return w.Info().PID
	}
	for range testSpares + 1 {
		spares := z.awaitSpares(t)
		if pid := begin("before mine"); pid != spares[0] {
			t.Errorf("the worker is process %d; the spares were %v", pid, spares)
		}
	}
	spares := z.awaitSpares(t)
	must(t, os.Rename(data, data+"-before"))
	furnish("after")
	if pid := begin("after mine"); pid == spares[0] || pid == spares[1] {
		t.Errorf("process %d, one of the spares %v, has mounted the directory of before", pid, spares)
	}
	if spares = z.awaitSpares(t); begin("after mine") != spares[0] {
		t.Error("a spare that has mounted the directory of now is not taken")
	}
}
