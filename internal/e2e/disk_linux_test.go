package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// newWireOnDisk starts a server whose files, and whose code's, are on a disk of its own
// with so many bytes, in namespaces of its own.
func newWireOnDisk(t *testing.T, size string) *wire {
	t.Helper()
	if err := exec.Command("unshare", "-rm", "mount", "-t", "tmpfs", "tmpfs", t.TempDir()).Run(); err != nil {
		t.Skipf("no disk can be mounted here: %v", err)
	}
	disk := t.TempDir()
	return startWire(t, disk, func(server *exec.Cmd) {
		const mount = `mount -t tmpfs -o size="$1" tmpfs "$2" && mkdir "$2/project" && cd "$2/project" && shift 2 && exec "$@"`
		server.Args = append([]string{"unshare", "-rm", "sh", "-c", mount, "sh", size, disk, server.Path}, server.Args[1:]...)
		server.Path, server.Err = exec.LookPath("unshare")
	})
}

// A disk that is full costs what can't be written, says so, and nothing else.
func TestFullDisk(t *testing.T) {
	w := newWireOnDisk(t, "3m")
	w.initialize()
	for _, step := range []struct{ what, code, want string }{
		{"fill it", "x = [1]\nhole = open('hole', 'wb', buffering=0)\ntry:\n    while hole.write(b'0' * 4096): pass\nexcept OSError as e: print(e)", "No space left on device"},
		{"much output", "print('y' * 3_000_000)", "no space left on device"},
		{"a figure", "import importlib.util as u\nif u.find_spec('matplotlib'):\n    import matplotlib.pyplot as plt; plt.plot([1, 2]); plt.show()\nelse: print('No space left on device')", "No space left on device"},
		{"a crash", "x = None; import os; os.abort()", "as they were before this call"},
		{"the state", "x", "[1]"},
	} {
		if text := w.py(step.code); !strings.Contains(text, step.want) {
			t.Errorf("%s: %.600s", step.what, text)
		}
	}
	if text := w.manage("branch"); !strings.Contains(text, "Branched") { // it shares the files where they are
		t.Errorf("a branch: %s", text)
	}
}

// manage calls manage_interpreters and returns the answer as JSON.
func (w *wire) manage(operation string) string {
	w.t.Helper()
	return w.call("manage_interpreters", map[string]any{"operation": operation})
}

// The files of a run that was killed go with the next server, but nothing of the user's.
func TestKilledServersFilesGo(t *testing.T) {
	data := t.TempDir()
	w := startWire(t, data, nil)
	w.initialize()
	w.py("open('kept', 'w').write('1')")
	if err := w.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = w.cmd.Wait()
	left, err := filepath.Glob(filepath.Join(data, "run", "*"))
	if err != nil || len(left) != 1 {
		t.Fatalf("the killed server left %v", left)
	}
	next := startWire(t, data, nil)
	next.initialize()
	if text := next.py("1 + 1"); !strings.Contains(text, "2") {
		t.Errorf("%s", text)
	}
	if _, err := os.Stat(left[0]); !os.IsNotExist(err) {
		t.Errorf("%s is still there: %v", left[0], err)
	}
	if _, err := os.Stat(filepath.Join(w.cmd.Dir, "kept")); err != nil {
		t.Errorf("what the code wrote: %v", err)
	}
}
