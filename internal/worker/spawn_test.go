package worker

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"understudy/internal/proc"
	"understudy/internal/worker/wire"
	"understudy/internal/worker/workertest"
	"understudy/sessions"
)

func TestStartSaysWhyPythonDied(t *testing.T) {
	for _, test := range []struct{ name, code, want string }{
		{"exception", "import nosuchmodule", "python exited with code 1: Traceback"},
		{"its last line", "import nosuchmodule", "ModuleNotFoundError: No module named 'nosuchmodule'"},
		{"signal", "import os; os.abort()", "python killed by SIGABRT (aborted)"},
		{"a slow death", "import time; frames.close(); time.sleep(1.5); raise SystemExit(3)", "python exited with code 3"},
		{"other version", "send(type='ready', protocol=7)", "it speaks version 7 of the protocol, the server version 5"},
		{"nonsense", "raw(b'HTTP/1.1 200 OK')", "python broke the protocol: a frame announces a header"},
		{"wrong answer", "send(type='done')", "it answered with done in place of ready"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := fakeSpawner(t, func(o *Options) { o.InitCode = test.code })
			_, err := s.Start(context.Background(), sessions.Spec{Workdir: t.TempDir()})
			expect(t, err != nil && strings.HasPrefix(err.Error(), "starting worker: ") && strings.Contains(err.Error(), test.want), "got %v\nwant %s", err, test.want)
			expect(t, len(s.workers) == 0, "a worker is kept")
		})
	}
}

func TestStartRefusesABadWorkdir(t *testing.T) {
	s := fakeSpawner(t)
	file := filepath.Join(t.TempDir(), "file")
	must(t, os.WriteFile(file, nil, 0o644))
	for _, dir := range []string{file, file + "-not-there", "."} {
		_, err := s.Start(context.Background(), sessions.Spec{Workdir: dir})
		expect(t, err != nil && strings.Contains(err.Error(), "working directory"), "%s: got %v", dir, err)
	}
}

func TestStartOfNoPython(t *testing.T) {
	s := fakeSpawner(t, func(o *Options) { o.Python = "/nonexistent/python" })
	before := openDescriptors(t)
	for range 10 {
		_, err := s.Start(context.Background(), sessions.Spec{Workdir: t.TempDir()})
		insist(t, errors.Is(err, os.ErrNotExist), "got %v", err)
	}
	if after := openDescriptors(t); after > before+4 { // the launcher's and the poller's own
		t.Errorf("%d descriptors before, %d after", before, after)
	}
}

func TestStartTimesOut(t *testing.T) {
	s := fakeSpawner(t, func(o *Options) {
		o.InitCode = "import time; time.sleep(1000)"
		o.StartTimeout = 300 * time.Millisecond
	})
	_, err := s.Start(context.Background(), sessions.Spec{Workdir: t.TempDir()})
	expect(t, err != nil && strings.Contains(err.Error(), "python was not ready within 300ms"), "got %v", err)
}

func TestStartIsCancelled(t *testing.T) {
	s := fakeSpawner(t, func(o *Options) { o.InitCode = "import time; time.sleep(1000)" })
	ctx, cancel := context.WithCancel(context.Background())
	time.AfterFunc(50*time.Millisecond, cancel)
	_, err := s.Start(ctx, sessions.Spec{Workdir: t.TempDir()})
	expect(t, errors.Is(err, context.Canceled), "got %v", err)
}

func TestStartAfterClose(t *testing.T) {
	s := fakeSpawner(t)
	w := start(t, s)
	must(t, s.Close(context.Background()))
	<-w.Exited()
	_, err := s.Start(context.Background(), sessions.Spec{Workdir: t.TempDir()})
	expect(t, errors.Is(err, errClosed), "got %v", err)
}

func TestCloseEndsStartsUnderWay(t *testing.T) {
	dir := t.TempDir()
	s := fakeSpawner(t, func(o *Options) {
		o.InitCode = "import os, time; os.mkdir(os.path.join(start['workdir'], 'begun')); time.sleep(1000)"
	})
	ended := make(chan error, 1)
	go func() {
		_, err := s.Start(context.Background(), sessions.Spec{Workdir: dir})
		ended <- err
	}()
	eventually(t, "the worker starts", func() bool {
		_, err := os.Stat(filepath.Join(dir, "begun"))
		return err == nil
	})
	fine(t, s.Close(context.Background()))
	if err := <-ended; !errors.Is(err, errClosed) {
		t.Errorf("the start gave %v", err)
	}
}

func TestEnvironment(t *testing.T) {
	s := fakeSpawner(t, func(o *Options) { o.Env = []string{"GIVEN=yes"} })
	for name, value := range map[string]string{
		"PYTHONHOME": "/nowhere", "PYTHONOPTIMIZE": "2", "PYTHONPATH": "/mine",
		"UNDERSTUDY_TOKEN": "secret", "MPLBACKEND": "Agg", "KEPT": "yes", "GIVEN": "no",
	} {
		t.Setenv(name, value)
	}
	env := s.environment("/lib", s.nonce.Mark("id", 1))
	for _, want := range []string{
		"PYTHONPATH=/lib" + string(os.PathListSeparator) + "/mine",
		"KEPT=yes", "JE_ARROW_MALLOC_CONF=background_thread:false", "MIMALLOC_ARENA_RESERVE=0",
		proc.Variable + "=" + string(s.nonce) + "/id/1",
	} {
		expect(t, slices.Contains(env, want), "%s is missing", want)
	}
	for _, entry := range env {
		if name, _, _ := strings.Cut(entry, "="); strangeVariables[name] || name == "UNDERSTUDY_TOKEN" {
			t.Errorf("%s is there", entry)
		}
	}
	expect(t, env[len(env)-1] == "GIVEN=yes", "the operator's variables are not last: %v", env)
	t.Setenv("JE_ARROW_MALLOC_CONF", "narenas:1")
	env = s.environment("/lib", s.nonce.Mark("id", 1))
	i := slices.IndexFunc(env, isArrowMalloc)
	expect(t, i >= 0 && env[i] == "JE_ARROW_MALLOC_CONF=narenas:1" && !slices.ContainsFunc(env[i+1:], isArrowMalloc), "the user's own setting of pyarrow's allocator is not kept: %v", env)
}

// A module of the working directory must not be taken for one that the worker
// itself imports.
func TestWorkdirShadowsNothing(t *testing.T) {
	s := fakeSpawner(t)
	dir := t.TempDir()
	for _, name := range []string{"struct.py", "socket.py", "json.py", "pyworker.py"} {
		must(t, os.WriteFile(filepath.Join(dir, name), []byte("raise SystemExit(9)"), 0o644))
	}
	w, err := s.Start(context.Background(), sessions.Spec{Workdir: dir})
	must(t, err)
	fine(t, w.Close(context.Background()))
}

// Every kind of broken frame ends its worker, and no other.
func TestBrokenFramesEndTheWorkerOnly(t *testing.T) {
	s := fakeSpawner(t)
	other := start(t, s)
	for _, test := range []struct{ code, want string }{
		{`raw(b"\xff\xff\xff\xff")`, "announces a header of 4294967295 bytes"},
		{`raw(b"\0\0\0\2[]")`, "not a JSON object"},
		{`raw(b"\0\0\0\4nope")`, "not JSON"},
		{`send(type="dance")`, `unknown type "dance"`},
		{`send(type="ready")`, "it answered run with ready"},
		{`send(type="done", execution=99)`, "it answered execution 1 with 99"},
		{`send(type="done", execution="one")`, "wrong form"},
		{`send(type="figure", path="/x")`, "0 attachments"},
		{`send(type="artifact", size="large")`, "wrong form"},
		{`send(type="log", level=7)`, "wrong form"},
	} {
		w := start(t, s)
		crash, sink := workertest.RunToDeath(t, w, "print('before', flush=True)\n"+test.code+"\nimport time; time.sleep(1000)")
		expect(t, strings.HasPrefix(crash.Reason, "killed because it broke the protocol: ") && strings.Contains(crash.Reason, test.want), "%s: got %q", test.code, crash.Reason)
		expect(t, sink.Text(sessions.Stdout) == "before\n", "%s: stdout is %q", test.code, sink.Text(sessions.Stdout))
	}
	workertest.Run(t, other, "pass")
}

func TestVariablesGivenUpAreNotMistakenForTheNext(t *testing.T) {
	w := start(t, fakeSpawner(t))
	ctx, cancel := context.WithCancel(context.Background())
	stop, err := w.process.pause()
	must(t, err)
	time.AfterFunc(20*time.Millisecond, cancel)
	if _, err := w.Variables(ctx); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
	stop()
	workertest.Run(t, w, "pass")
	if _, err := w.Variables(context.Background()); err != nil {
		t.Error(err)
	}
	expect(t, len(w.owed) == 0, "%d requests are taken for unanswered", len(w.owed))
}

func TestCloseIsConcurrentWithRunAndItself(t *testing.T) {
	w := start(t, fakeSpawner(t))
	_, died := workertest.Begin(t, w, "print('running', flush=True)\nimport time; time.sleep(1000)")
	closed := make(chan error, 3)
	for range cap(closed) {
		go func() { closed <- w.Close(context.Background()) }()
	}
	for range cap(closed) {
		fine(t, <-closed)
	}
	var crash *sessions.CrashError
	end := <-died
	expect(t, errors.As(end.Err, &crash) && crash.Reason == "ended by the server", "the run gave %v", end.Err)
	crash, _ = workertest.RunToDeath(t, w, "pass")
	expect(t, crash.Reason == "ended by the server", "a run after Close: %v", crash)
	expect(t, w.Kill() == 0 && w.Interrupt() != nil, "a closed worker can be signalled")
}

func TestCodeBeyondTheLimitIsRefused(t *testing.T) {
	w := start(t, fakeSpawner(t))
	_, err := w.Run(context.Background(), sessions.Request{Execution: 1, Code: strings.Repeat("#", wire.MaxHeader)}, workertest.NewRecorder())
	expect(t, sessions.CodeOf(err) == sessions.CodeInvalid, "got %v", err)
	workertest.Run(t, w, "pass")
}

// openDescriptors counts this process's descriptors.
func openDescriptors(t testing.TB) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip("no /proc here")
	}
	return len(entries)
}

// A worker has its own descriptors and no others, whatever the server has.
func TestWorkerInheritsNothing(t *testing.T) {
	if _, err := os.Stat("/proc/self/fd"); err != nil {
		t.Skip("no /proc here")
	}
	leak, err := inheritable()
	must(t, err)
	defer leak.Close()
	w := start(t, fakeSpawner(t))
	_, sink := workertest.Run(t, w, "import os; print(*sorted(os.listdir('/proc/self/fd'), key=int))")
	// Beside 0 to 2: the frames' copy, the fault pipe, and the directory that is listed.
	got := sink.Text(sessions.Stdout)
	expect(t, len(strings.Fields(got)) == 6, "descriptors: %s", got)
}

// Reports of children that the worker forked fill the fault pipe; the worker's
// own must have room, and none may wait for it.
func TestFaultPipeIsEmptiedBeforeARun(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("faults go to stderr there")
	}
	w := start(t, fakeSpawner(t))
	workertest.Run(t, w, `
import os
try:
    while True: os.write(4, b"Fatal Python error: of a child\n")
except BlockingIOError: pass
`)
	crash, _ := workertest.RunToDeath(t, w, "\nimport ctypes; ctypes.string_at(0)")
	expect(t, strings.Contains(crash.Trace, `File "<string>", line 2 in <module>`) && strings.Contains(crash.Reason, " at "), "got %q, trace:\n%s", crash.Reason, crash.Trace)
}
