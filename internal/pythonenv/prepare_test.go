package pythonenv

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// wheel writes a package that pip can install without an index, and returns
// its line for a lock.
func wheel(t *testing.T, name, version string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), fmt.Sprintf("%s-%s-py3-none-any.whl", name, version))
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	archive := zip.NewWriter(file)
	info := fmt.Sprintf("%s-%s.dist-info/", name, version)
	for _, member := range [][2]string{
		{name + ".py", "version = '" + version + "'\n"},
		{info + "METADATA", "Metadata-Version: 2.1\nName: " + name + "\nVersion: " + version + "\n"},
		{info + "WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"},
		{info + "RECORD", name + ".py,,\n" + info + "METADATA,,\n" + info + "WHEEL,,\n" + info + "RECORD,,\n"},
	} {
		writer, err := archive.Create(member[0])
		if err != nil {
			t.Fatal(err)
		}
		if _, err := writer.Write([]byte(member[1])); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(archive.Close(), file.Close()); err != nil {
		t.Fatal(err)
	}
	location := url.URL{Scheme: "file", Path: filepath.ToSlash(path)}
	return fmt.Sprintf("%s @ %s\n", name, &location)
}

// workshop is a data directory in which environments are prepared.
type workshop struct {
	t       *testing.T
	dataDir string
	python  string
}

func (w workshop) prepare(lock string, only ...string) (*Prepared, string, error) {
	var progress bytes.Buffer
	prepared, err := Prepare(w.t.Context(), PrepareOptions{
		DataDir: w.dataDir, Python: w.python, Lock: []byte(lock), Only: only, Progress: &progress,
	})
	return prepared, progress.String(), err
}

func (w workshop) must(lock string, changed bool, only ...string) {
	w.t.Helper()
	prepared, progress, err := w.prepare(lock, only...)
	if err != nil {
		w.t.Fatalf("%v\n%s", err, progress)
	}
	if prepared.Changed != changed {
		w.t.Errorf("changed is %v, not %v:\n%s", prepared.Changed, changed, progress)
	}
	activate(w.t, nil)
	if found, err := Find(w.t.Context(), Options{DataDir: w.dataDir}); err != nil || found.Why != whySetup {
		w.t.Errorf("Find gives %+v, %v after setup", found, err)
	}
}

// installed reports whether the environment has all of a lock.
func (w workshop) installed(lock string) bool {
	current, whole := Installed(w.dataDir, []byte(lock))
	return current && whole
}

// imported returns what the environment prints of a module's version.
func (w workshop) imported(module string) string {
	w.t.Helper()
	output, err := exec.Command(interpreter(environmentDir(w.dataDir)), "-c", "import "+module+"; print("+module+".version)").CombinedOutput()
	if err != nil {
		return "absent"
	}
	return strings.TrimSpace(string(output))
}

// One environment goes through its life; making one takes seconds, so the
// stages share it.
func TestPrepare(t *testing.T) {
	w := workshop{t: t, dataDir: filepath.Join(t.TempDir(), "of some user", "understudy"), python: realPython(t)}
	one, two := wheel(t, "sample_a", "1.0"), wheel(t, "sample_a", "2.0")
	extra := wheel(t, "sample_b", "1.0")

	w.must(one, true)
	if got := w.imported("sample_a"); got != "1.0" {
		t.Fatalf("sample_a is %s", got)
	}
	w.must(one, false)
	if !w.installed(one) || w.installed(two) {
		t.Error("Installed does not tell the installed lock from another")
	}

	t.Log("a new lock changes the environment in place: what the user added stays")
	pip := exec.Command(interpreter(environmentDir(w.dataDir)), "-m", "pip", "install", "--quiet", strings.TrimSpace(strings.SplitN(extra, "@", 2)[1]))
	if output, err := pip.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	w.must(two, true)
	if a, b := w.imported("sample_a"), w.imported("sample_b"); a != "2.0" || b != "1.0" {
		t.Errorf("sample_a is %s, sample_b is %s", a, b)
	}

	t.Log("a failed update says why and leaves the environment as it was")
	_, said, err := w.prepare("sample_c @ file:///nowhere/sample_c-1.0-py3-none-any.whl\n")
	if err == nil || !strings.Contains(err.Error(), "installing the libraries") || !strings.Contains(said, "sample_c") {
		t.Errorf("got %v after %s", err, said)
	}
	w.must(two, false)

	t.Log("one that was killed in the middle is made anew")
	if err := os.WriteFile(filepath.Join(environmentDir(w.dataDir), unfinished), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if found, err := Find(t.Context(), Options{DataDir: w.dataDir}); err == nil && found.Why == whySetup {
		t.Errorf("Find took an unfinished environment: %+v", found)
	}
	w.must(two, true)
	if got := w.imported("sample_a"); got != "2.0" {
		t.Errorf("sample_a is %s after the repair", got)
	}
}

func TestTwoSetupsAtOnce(t *testing.T) {
	w := workshop{t: t, dataDir: t.TempDir(), python: realPython(t)}
	lock := wheel(t, "sample_a", "1.0")
	var made sync.Map
	var group sync.WaitGroup
	for i := range 2 {
		group.Go(func() {
			prepared, progress, err := w.prepare(lock)
			if err != nil {
				t.Errorf("%v\n%s", err, progress)
				return
			}
			made.Store(i, prepared.Changed)
		})
	}
	group.Wait()
	first, _ := made.Load(0)
	second, _ := made.Load(1)
	if first == second {
		t.Errorf("changed: %v and %v; one should have made it, the other found it", first, second)
	}
}

func TestADirectoryOfSomebodysIsNotReplaced(t *testing.T) {
	w := workshop{t: t, dataDir: t.TempDir(), python: realPython(t)}
	precious := filepath.Join(environmentDir(w.dataDir), "thesis.txt")
	if err := os.Mkdir(environmentDir(w.dataDir), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(precious, []byte("ten years"), 0o644); err != nil {
		t.Fatal(err)
	}
	_, _, err := w.prepare("")
	if err == nil || !strings.Contains(err.Error(), "in the way") {
		t.Errorf("got %v", err)
	}
	if content, err := os.ReadFile(precious); err != nil || string(content) != "ten years" {
		t.Errorf("the file is gone: %q, %v", content, err)
	}
}

func TestABadBaseIsNamed(t *testing.T) {
	w := workshop{t: t, dataDir: t.TempDir(), python: "/nowhere/python"}
	if _, _, err := w.prepare(""); err == nil || !strings.Contains(err.Error(), "/nowhere/python") {
		t.Errorf("got %v", err)
	}
}

// TestAPythonWithoutVenv: the error says what to install.
func TestAPythonWithoutVenv(t *testing.T) {
	useTool(t, "pip")
	python := filepath.Join(t.TempDir(), "python3")
	script(t, python, `case "$*" in *venv*) echo "/usr/bin/python3: No module named venv" >&2; exit 1;; esac; `+says("3.12.1", "True", python))
	w := workshop{t: t, dataDir: t.TempDir(), python: python}
	if _, _, err := w.prepare(""); err == nil || !strings.Contains(err.Error(), "No module named venv\nThis Python lacks venv; ") || !strings.Contains(err.Error(), "or install uv") {
		t.Errorf("got %v", err)
	}
}

// TestOnlySome: a part of the lock, then all of it, then a part again.
func TestOnlySome(t *testing.T) {
	for _, tool := range []string{"pip", "uv"} {
		t.Run(tool, func(t *testing.T) {
			useTool(t, tool)
			w := workshop{t: t, dataDir: filepath.Join(t.TempDir(), "understudy"), python: realPython(t)}
			lock := wheel(t, "sample_a", "1.0") + wheel(t, "sample_b", "1.0")
			w.must(lock, true, "sample_a")
			if a, b := w.imported("sample_a"), w.imported("sample_b"); a != "1.0" || b != "absent" {
				t.Errorf("sample_a is %s, sample_b is %s", a, b)
			}
			if current, whole := Installed(w.dataDir, []byte(lock)); !current || whole {
				t.Errorf("current %v, whole %v", current, whole)
			}
			w.must(lock, false, "sample_a")
			w.must(lock, true)
			if b := w.imported("sample_b"); b != "1.0" || !w.installed(lock) {
				t.Errorf("sample_b is %s, and all is there: %v", b, w.installed(lock))
			}

			t.Log("what is there already stays, and is said")
			prepared, progress, err := w.prepare(lock, "sample_a")
			if err != nil || prepared.Changed || !prepared.Whole {
				t.Fatalf("%+v, %v\n%s", prepared, err, progress)
			}
			if b := w.imported("sample_b"); b != "1.0" {
				t.Errorf("sample_b is %s", b)
			}
		})
	}
}

// useTool has setup find uv, or not.
func useTool(t *testing.T, name string) {
	t.Helper()
	path, err := exec.LookPath("uv")
	switch {
	case name == "uv" && err != nil:
		t.Skip("uv is not installed")
	case name == "pip" && err == nil:
		var without []string
		for _, directory := range filepath.SplitList(os.Getenv("PATH")) {
			if directory != filepath.Dir(path) {
				without = append(without, directory)
			}
		}
		t.Setenv("PATH", strings.Join(without, string(filepath.ListSeparator)))
	}
}
