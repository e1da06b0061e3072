package worker

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
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
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = w.Close(context.Background()) })
	return w.(*worker)
}

// writeFile writes so many MiB to a file's disk.
func writeFile(t *testing.T, path string, mebibytes int) {
	t.Helper()
	if err := os.WriteFile(path, make([]byte, mebibytes<<20), 0o600); err != nil {
		t.Fatal(err)
	}
}

// What the operator has in a directory is not the interpreters' to delete, and whoever
// has not written is not ended.
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
	_, sink := workertest.Run(t, writer, `
import os, time
def write(count):
    for n in range(count):
        with open(f"{time.monotonic()}", "wb") as f: f.write(os.urandom(1 << 20))
        time.sleep(0.1)
write(10); print("written")`)
	if sink.All() != "written\n" {
		t.Errorf("%q", sink.All())
	}
	reason := breaks(t, writer, "while True: write(1)")
	if !strings.HasPrefix(reason, "disk limit of 20 MiB reached: so much was added to "+dir+" since") {
		t.Error(reason)
	}
	writeFile(t, filepath.Join(dir, "over"), 0)
	if got := <-beside; got != "there\n" {
		t.Errorf("%q", got)
	}
}

// Whoever writes on when others were ended for it is ended too.
func TestDiskLimitForThoseWhoAreLeft(t *testing.T) {
	s := limited(t, sandbox.Limits{Disk: 20 << 20})
	dir := t.TempDir()
	left := inDirectory(t, s, dir)
	ended := make(chan error, 1)
	go func() {
		_, err := left.Run(t.Context(), sessions.Request{Execution: 1, Code: `
import os, time
while not os.path.exists("over"): time.sleep(0.05)
for n in range(1000):
    with open(f"left {n}", "wb") as f: f.write(os.urandom(1 << 20))
    time.sleep(0.1)`}, workertest.NewRecorder())
		ended <- err
	}()
	breaks(t, inDirectory(t, s, dir), `
import os, time
for n in range(1000):
    with open(str(n), "wb") as f: f.write(os.urandom(1 << 20))
    time.sleep(0.1)`)
	writeFile(t, filepath.Join(dir, "over"), 0)
	if err := <-ended; err == nil || !strings.Contains(err.Error(), "disk limit of 20 MiB reached") {
		t.Error(err)
	}
}

// Runs that begin during a count don't keep those that began before it from being ended.
func TestRunsThatBeginDuringACount(t *testing.T) {
	old, young := &worker{}, &worker{}
	for _, test := range []struct {
		what    string
		runs    map[*worker]run
		begun   int // before the count
		size    int64
		tooMuch []*worker
	}{
		{"nobody has begun", map[*worker]run{old: {number: 1}}, 1, 2000, []*worker{old}},
		{"nobody has begun, and there is room", map[*worker]run{old: {number: 1}}, 1, 900, nil},
		{"another has", map[*worker]run{old: {number: 1}, young: {number: 2}}, 1, 2000, []*worker{old}},
		{"another has, and there is room", map[*worker]run{old: {number: 1}, young: {number: 2}}, 1, 900, nil},
		{"it has ended, and another has begun", map[*worker]run{young: {number: 2}}, 1, 2000, nil},
	} {
		s := newStore("", true, 1000)
		s.known, s.unseen, s.runs, s.running, s.begun = true, true, test.runs, len(test.runs), test.begun
		if _, also := test.runs[young]; also {
			s.begun++
		}
		if got := s.judge(test.size, s.allowed(), test.begun); !slices.Equal(got, test.tooMuch) {
			t.Errorf("%s: %d are to end", test.what, len(got))
		}
	}
}

// Whose kin are being ended may be asked about them at the same time.
func TestAWriterWhoIsBeingEnded(t *testing.T) {
	w := start(t, limited(t, sandbox.Limits{Disk: 1 << 40}))
	workertest.Run(t, w, fiftyChildren)
	s := newStore("/proc", true, 1000)
	asked, over := make(chan struct{}), make(chan struct{})
	var asking sync.WaitGroup
	asking.Go(func() {
		s.mayHaveWritten(w)
		close(asked)
		for {
			s.mayHaveWritten(w)
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
	if !s.mayHaveWritten(w) {
		t.Error("one that has ended is taken for one that has not written")
	}
}

// A run waits for a count that takes long once at most, and what comes of it holds.
func TestRunsDoNotWaitForTheDisk(t *testing.T) {
	s := &store{most: 1000, limit: 1000}
	for _, test := range []struct {
		what                string
		running             int
		unseen, slow, known bool
		last                int64
		took                time.Duration
		waits               bool
	}{
		{what: "nobody has looked", waits: true},
		{what: "nobody could in time", slow: true},
		{what: "somebody runs already", running: 1},
		{what: "there is room", known: true, unseen: true, last: 700},
		{what: "there is little", known: true, unseen: true, last: 900, waits: true},
		{what: "there is little, and many files", known: true, unseen: true, last: 900, took: time.Second},
		{what: "nothing has run since the last look", known: true, last: 900},
	} {
		s.running, s.unseen, s.slow, s.known, s.last, s.took = test.running, test.unseen, test.slow, test.known, test.last, test.took
		if got := s.waits(); got != test.waits {
			t.Errorf("%s: %v", test.what, got)
		}
	}
}

// A count that a run could not wait for holds although runs have begun since.
func TestACountThatTakesLongIsTaken(t *testing.T) {
	s := limited(t, sandbox.Limits{Disk: 20 << 20})
	d := newWarden(s)
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "much"), 30)
	files := d.store(dir, true)
	files.slow, files.running, files.begun, files.unseen = true, 1, 1, true
	d.lookAtFiles(files, nil)
	if !files.known || files.limit < 50<<20 || files.limit > 51<<20 || !files.unseen {
		t.Errorf("known %v, limit %d, unseen %v", files.known, files.limit, files.unseen)
	}
}

// Files count however deep they are.
func TestDiskLimitOfDeepDirectories(t *testing.T) {
	w := start(t, limited(t, sandbox.Limits{Disk: 20 << 20}))
	workertest.Run(t, w, `
import os, time
top = os.getcwd()
for n in range(50):
    os.mkdir(200 * "a"); os.chdir(200 * "a")`)
	reason := breaks(t, w, `
for n in range(4):
    with open(str(n), "wb") as f: f.write(bytes(10 << 20))
time.sleep(1000)`)
	if !strings.HasPrefix(reason, "disk limit of 20 MiB reached") {
		t.Error(reason)
	}
}

// Directories that are nested beyond all sense take no more of the server's descriptors,
// and are more than enough.
func TestSizeOfDirectoriesWithoutEnd(t *testing.T) {
	walk := diskWalk{ctx: t.Context(), enough: 1000, rests: mostRests}
	if err := walk.addRest(t.TempDir()); err != errEnough || walk.size <= walk.enough {
		t.Error(err, walk.size)
	}
	walk = diskWalk{ctx: t.Context(), enough: -1, rests: mostRests}
	if err := walk.addRest(t.TempDir()); fmt.Sprint(err) != "skip this directory" {
		t.Error(err)
	}
}
