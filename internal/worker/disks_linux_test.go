package worker

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"understudy/internal/sandbox"
	"understudy/internal/worker/workertest"
	"understudy/sessions"
)

// inDirectory starts a worker with a home of its own in a working directory that may be
// another's.
func inDirectory(t *testing.T, s *Spawner, workdir string) *worker {
	t.Helper()
	w, err := s.Start(t.Context(), sessions.Spec{InterpreterID: "test", Home: t.TempDir(), Workdir: workdir})
	must(t, err)
	t.Cleanup(func() { _ = w.Close(context.Background()) })
	return w.(*worker)
}

// writeFile writes so many MiB to a file's disk.
func writeFile(t *testing.T, path string, mebibytes int) {
	t.Helper()
	must(t, os.WriteFile(path, make([]byte, mebibytes<<20), 0o600))
}

// What the operator has in a directory is not the interpreters' to delete, and whoever
// has not written meets nothing.
func TestDiskLimitInADirectoryOfTheOperators(t *testing.T) {
	s := limited(t, sandbox.Limits{Disk: 20 << 20})
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "the operator's"), 40)
	var stat unix.Statfs_t
	if err := unix.Statfs(dir, &stat); err != nil || stat.Type == unix.TMPFS_MAGIC {
		t.Skipf("who has written can't be told of files in memory (%v)", err)
	}
	bystander := inDirectory(t, s, dir)
	beside := make(chan string, 1)
	go func() {
		defer close(beside) // also where it was ended
		_, sink := workertest.Run(t, bystander, "import os, time\nwhile not os.path.exists('over'): time.sleep(0.05)\nprint('there')")
		beside <- sink.All()
	}()
	writer := inDirectory(t, s, dir)
	outcome, sink := workertest.Run(t, writer, manyFiles+"write(10); print('written')")
	expect(t, sink.All() == "written\n" && len(outcome.Notes) == 0, "%q %q", sink.All(), outcome.Notes)
	reason := breaks(t, writer, "while True: write(1)")
	want := "MiB were added to " + dir + " since this server first ran code there ("
	expect(t, strings.Contains(reason, want) && !strings.Contains(reason, "the operator's"), "%v", reason)
	writeFile(t, filepath.Join(dir, "over"), 0)
	got := <-beside
	expect(t, got == "there\n", "%q", got)
}

// manyFiles are small enough for each to be written when files may not grow.
const manyFiles = `
import os, time
def write(count):
    for n in range(count):
        for _ in range(18):
            with open(f"{time.monotonic()}", "wb") as f: f.write(os.urandom(60_000))
        time.sleep(0.05)
`

// Whoever writes on when others were ended for it is ended too.
func TestDiskLimitForThoseWhoAreLeft(t *testing.T) {
	s := limited(t, sandbox.Limits{Disk: 20 << 20})
	dir := t.TempDir()
	left := inDirectory(t, s, dir)
	ended := make(chan error, 1)
	go func() {
		_, err := left.Run(t.Context(), sessions.Request{Execution: 1, Code: manyFiles + `
while not os.path.exists("over"): time.sleep(0.05)
write(1000)`}, workertest.NewRecorder())
		ended <- err
	}()
	breaks(t, inDirectory(t, s, dir), manyFiles+"write(1000)")
	writeFile(t, filepath.Join(dir, "over"), 0)
	if err := <-ended; err == nil || !strings.Contains(err.Error(), "disk limit of 20 MiB (--disk-limit) reached") {
		t.Error(err)
	}
}

// TestDiskLimitIsAnErrorFirst: whatever is written, its run goes on with an exception and
// is told, and the runs after it pay for nothing.
func TestDiskLimitIsAnErrorFirst(t *testing.T) {
	const fails = "\n    for _ in range(1000): %s; time.sleep(0.01)\nexcept OSError as e: print(e.strerror)"
	for name, code := range map[string]string{
		"a file":           "f = open('a file', 'wb', 0)\ntry:" + fmt.Sprintf(fails, "f.write(os.urandom(1 << 20))"),
		"below":            "os.makedirs('a/b')\ntry:" + fmt.Sprintf(fails, "open('a/b/c', 'ab').write(os.urandom(1 << 20))"),
		"deleted and open": "f = open('f', 'wb', 0); os.unlink('f')\ntry:" + fmt.Sprintf(fails, "f.write(os.urandom(1 << 20))"),
		"by a program":     "_ = subprocess.run(['sh', '-c', 'while head -c 1000000 /dev/urandom; do sleep 0.01; done >> f'], stderr=-3)\nprint('File too large')",
		"in /tmp":          "f = open(os.path.join(HOME, 'tmp'), 'wb', 0)\ntry:" + fmt.Sprintf(fails, "f.write(os.urandom(1 << 20))"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			home := t.TempDir()
			w, err := limited(t, sandbox.Limits{Disk: 20 << 20}).Start(t.Context(), sessions.Spec{InterpreterID: "test", Home: home, Workdir: home})
			must(t, err)
			closeLater(t, w)
			workertest.Run(t, w, fmt.Sprintf("import os, subprocess, time; HOME = %q", home))
			outcome, sink := workertest.Run(t, w, code)
			told := strings.Join(outcome.Notes, "\n")
			want := "disk limit of 20 MiB (--disk-limit) reached: "
			expect(t, sink.All() == "File too large\n" && strings.Contains(told, want), "%q, %q", sink.All(), told)
			outcome, _ = workertest.Run(t, w, "for _ in range(10): time.sleep(0.05)\nos.system('echo x > small')")
			if told := strings.Join(outcome.Notes, "\n"); !strings.Contains(told, "Delete what is not needed") {
				t.Errorf("the next run: %q", told)
			}
			outcome, _ = workertest.Run(t, w, "f = None; os.system('rm -rf *')\nwith open('again', 'wb') as g: g.write(bytes(5 << 20))")
			expect(t, len(outcome.Notes) == 0 && outcome.Exception == nil, "when there is room: %q, %+v", outcome.Notes, outcome.Exception)
		})
	}
}

// A run that has made room again is told of the limit, and not to delete anything.
func TestDiskLimitWithRoomAgain(t *testing.T) {
	s := limited(t, sandbox.Limits{Disk: 20 << 20})
	w := inDirectory(t, s, t.TempDir())
	outcome, sink := workertest.Run(t, w, `
import os, time
with open("f", "wb", 0) as f:
    try:
        for _ in range(1000): f.write(os.urandom(1 << 20)); time.sleep(0.01)
    except OSError as e:
        print(e.strerror)
os.unlink("f")`)
	told := strings.Join(outcome.Notes, "\n")
	want := "the disk limit of 20 MiB (--disk-limit) was reached during this run; there is room again"
	expect(t, sink.All() == "File too large\n" && told == want, "%q, %q", sink.All(), told)
}

// TestFileSizeLimitIsTold: what Python, numpy or a program says of it is theirs, the note
// is ours.
func TestFileSizeLimitIsTold(t *testing.T) {
	w := start(t, limited(t, sandbox.Limits{FileSize: 2 << 20, Disk: 100 << 20}))
	for name, code := range map[string]string{
		"a file":    "open('a', 'wb').write(bytes(3 << 20))",
		"sparse":    "open('b', 'wb').truncate(3 << 20)",
		"caught":    "try: open('c', 'wb').write(bytes(3 << 20))\nexcept OSError as e: print(e)",
		"a program": "import os; os.system('head -c 3000000 /dev/zero > d')",
		"quiet":     "import os; os.system('exec 2> /dev/null; head -c 3000000 /dev/zero > e')",
	} {
		outcome, err := w.Run(t.Context(), sessions.Request{Execution: 1, Code: code}, workertest.NewRecorder())
		got := strings.Join(outcome.Notes, "\n")
		expect(t, err == nil && strings.Contains(got, "a file may become 2 MiB at most (--file-size-limit)"), "%s: %q", name, got)
		if outcome, _ := workertest.Run(t, w, "1 + 1"); len(outcome.Notes) > 0 {
			t.Errorf("after %s: %q", name, outcome.Notes)
		}
	}
	workertest.Run(t, w, "import time; time.sleep(0.1)") // what has changed just before may be the next run's own
	if outcome, _ := workertest.Run(t, w, "print('the upload failed: HTTP 413: File too large')"); len(outcome.Notes) > 0 {
		t.Errorf("words of others: %q", outcome.Notes)
	}
}

// Whose kin are being ended may be asked about them at the same time.
func TestAWriterWhoIsBeingEnded(t *testing.T) {
	w := start(t, limited(t, sandbox.Limits{Disk: 1 << 40}))
	workertest.Run(t, w, fiftyChildren)
	asked, over := make(chan struct{}), make(chan struct{})
	var asking sync.WaitGroup
	asking.Go(func() {
		w.Living()
		close(asked)
		for {
			w.Living()
			select {
			case <-over:
				return
			default:
			}
		}
	})
	<-asked
	w.Kill()
	close(over)
	asking.Wait()
	kin, known := w.Living()
	expect(t, len(kin) == 0 && !known, "of one that has ended: %v %v", kin, known)
}

// Files count however deep they are.
func TestDiskLimitOfDeepDirectories(t *testing.T) {
	w := start(t, limited(t, sandbox.Limits{Disk: 20 << 20}))
	workertest.Run(t, w, `
import os, time
top = os.getcwd()
for n in range(50):
    os.mkdir(200 * "a"); os.chdir(200 * "a")`)
	code := "for n in range(4):\n    with open(str(n), 'wb') as f: f.write(bytes(10 << 20))"
	outcome, err := w.Run(t.Context(), sessions.Request{Execution: 1, Code: code}, workertest.NewRecorder())
	told := strings.Join(outcome.Notes, "")
	expect(t, err == nil && strings.Contains(told, "disk limit of 20 MiB (--disk-limit) reached"), "%v", told)
}

// behindWall returns a worker behind a wall with these limits.
func behindWall(t *testing.T, limits sandbox.Limits) *worker {
	t.Helper()
	limits.Poll = 20 * time.Millisecond
	wall, behind := testWall(t, sandbox.Settings{Limits: limits})
	return workertest.Start(t, walled{testZygote(t, behind), wall, t}).(*worker)
}

// What the limiter does without a wall it does with one: no namespace, user or missing
// privilege hides what a worker uses.
func TestLimitsBehindTheWall(t *testing.T) {
	t.Run("memory", func(t *testing.T) {
		t.Parallel()
		w := behindWall(t, sandbox.Limits{Memory: 300 << 20})
		reason := breaks(t, w, grab+"import os, time\nfor _ in range(4):\n    if not os.fork():\n        grab(120); time.sleep(1000)\ntime.sleep(1000)")
		expect(t, strings.HasPrefix(reason, "memory limit of 300 MiB reached ("), "%v", reason)
	})
	t.Run("memory of one process", func(t *testing.T) {
		t.Parallel()
		w := behindWall(t, sandbox.Limits{Memory: 300 << 20})
		expectPrinted(t, w, grab+"try:\n    while True: grab(10)\nexcept MemoryError: print('refused')", "refused\n")
	})
	// Not in parallel: where few user ids are mapped all walls have the same ones, and
	// RLIMIT_NPROC counts the processes of a user.
	t.Run("processes", func(t *testing.T) {
		w := behindWall(t, sandbox.Limits{Processes: 20})
		// Either the kernel refuses the fork, or the limiter sees too many.
		outcome, err := w.Run(t.Context(), sessions.Request{Execution: 1, Code: "import os, time\nfor _ in range(40):\n    if not os.fork(): time.sleep(1000)\ntime.sleep(1000)"}, workertest.NewRecorder())
		refused := outcome.Exception != nil && outcome.Exception.Type == "BlockingIOError"
		expect(t, refused || err != nil && strings.HasPrefix(err.Error(), "process limit of 20 reached"), "%+v, %v", outcome.Exception, err)
	})
	t.Run("disk", func(t *testing.T) {
		t.Parallel()
		w := behindWall(t, sandbox.Limits{Disk: 20 << 20})
		reason := breaks(t, w, `
import os, tempfile, time
dir = tempfile.mkdtemp()
n = 0
while True:
    for _ in range(20):  # so small that they are none too large
        with open(f"{dir}/{n}", "wb") as f: f.write(os.urandom(50_000))
        n += 1
    time.sleep(0.02)
`)
		expect(t, strings.Contains(reason, "disk limit of 20 MiB (--disk-limit) reached"), "%v", reason)
	})
}
