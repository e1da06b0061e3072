package pythonenv

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// realPython is the Python that the tests run, outside any environment's PATH.
func realPython(t *testing.T) string {
	t.Helper()
	for _, name := range []string{os.Getenv("UNDERSTUDY_TEST_PYTHON"), "python3", "python"} {
		if path, err := exec.LookPath(name); err == nil {
			probe, err := run(t.Context(), path)
			if err != nil {
				continue
			}
			return probe.executable
		}
	}
	t.Fatalf("these tests need Python %s or newer on PATH or in UNDERSTUDY_TEST_PYTHON", Oldest)
	return ""
}

// script makes an executable that stands for a Python.
func script(t *testing.T, path, body string) string {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("stands for Python with a shell script")
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+body+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

// says is the body of a script that answers as a Python of some version would.
func says(version, usable, executable string) string {
	return "printf '%s\\n' " + strings.Join([]string{version, usable, executable, executable}, " ")
}

// activate has the environments of these variables active, and no others.
func activate(t *testing.T, pairs map[string]string) {
	t.Helper()
	for _, name := range []string{"VIRTUAL_ENV", "CONDA_PREFIX", "CONDA_DEFAULT_ENV"} {
		t.Setenv(name, pairs[name])
	}
}

func TestAskedPythonOrNone(t *testing.T) {
	genuine := realPython(t)
	found, err := Find(t.Context(), Options{Python: genuine})
	if err != nil {
		t.Fatal(err)
	}
	if found.Path != genuine || found.Why != "asked for with --python" || !strings.HasPrefix(found.Version, "3.") {
		t.Errorf("found %+v", found)
	}
	old := script(t, filepath.Join(t.TempDir(), "python"), says("2.7.18", "False", "/usr/bin/python2"))
	for name, want := range map[string]string{
		"/nowhere/python":                   "/nowhere/python",
		old:                                 "it is version 2.7.18; 3.10 or newer is needed",
		script(t, old+"-fails", "exit 3"):   "exit status 3",
		script(t, old+"-greets", "echo hi"): "it is not Python",
		script(t, old+"-store", "echo get Python from the store >&2; exit 9"): "get Python from the store",
	} {
		_, err := Find(t.Context(), Options{Python: name})
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "--python") {
			t.Errorf("%s gives %v, want %q", name, err, want)
		}
	}
}

func TestAskedWrapperStaysTheWrapper(t *testing.T) {
	wrapper := script(t, filepath.Join(t.TempDir(), "wrapped"), "exec "+realPython(t)+` "$@"`)
	found, err := Find(t.Context(), Options{Python: wrapper})
	if err != nil || found.Path != wrapper {
		t.Errorf("found %+v, %v; want %s", found, err, wrapper)
	}
}

func TestOrder(t *testing.T) {
	root := t.TempDir()
	venv := filepath.Join(root, "venv")
	script(t, filepath.Join(venv, "bin", "python"), says("3.12.1", "True", "/venv/python"))
	conda := filepath.Join(root, "conda")
	script(t, filepath.Join(conda, "bin", "python"), says("3.13.0", "True", "/conda/python"))
	data := filepath.Join(root, "data")
	script(t, filepath.Join(data, "python", "bin", "python"), says("3.11.7", "True", "/setup/python"))
	if err := (&stamp{}).write(filepath.Join(data, "python")); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(root, "path")
	script(t, filepath.Join(path, "python3"), says("3.10.13", "True", "/path/python"))
	t.Setenv("PATH", path+string(os.PathListSeparator)+os.Getenv("PATH"))

	for _, test := range []struct {
		name    string
		env     map[string]string
		dataDir string
		want    string
	}{
		{"virtual environment first", map[string]string{"VIRTUAL_ENV": venv, "CONDA_PREFIX": conda}, data, "/venv/python"},
		{"conda environment next", map[string]string{"CONDA_PREFIX": conda, "CONDA_DEFAULT_ENV": "work"}, data, "/conda/python"},
		{"conda's base does not count", map[string]string{"CONDA_PREFIX": conda, "CONDA_DEFAULT_ENV": "base"}, data, "/setup/python"},
		{"prepared environment next", nil, data, "/setup/python"},
		{"PATH last", nil, filepath.Join(root, "empty"), "/path/python"},
	} {
		t.Run(test.name, func(t *testing.T) {
			activate(t, test.env)
			found, err := Find(t.Context(), Options{DataDir: test.dataDir})
			if err != nil || found.Path != test.want {
				t.Errorf("found %+v, %v; want %s", found, err, test.want)
			}
		})
	}
}

func TestPassedOverWithReasons(t *testing.T) {
	root := t.TempDir()
	half := filepath.Join(root, "data", "python")
	script(t, filepath.Join(half, "bin", "python"), says("3.11.7", "True", "/half/python"))
	path := filepath.Join(root, "path")
	script(t, filepath.Join(path, "python3"), says("3.9.6", "False", "/old/python"))
	script(t, filepath.Join(path, "python3.12"), says("3.12.1", "True", "/new/python"))
	t.Setenv("PATH", path+string(os.PathListSeparator)+"/usr/bin"+string(os.PathListSeparator)+"/bin")

	activate(t, map[string]string{"VIRTUAL_ENV": filepath.Join(root, "gone")})
	found, err := Find(t.Context(), Options{DataDir: filepath.Join(root, "data")})
	if err != nil {
		t.Fatal(err)
	}
	// "python" may or may not be on the machine's PATH.
	var all []string
	for _, passed := range found.Passed {
		all = append(all, passed.String())
	}
	text := strings.Join(all, "\n")
	for _, want := range []string{"active virtual environment): it does not run", "run understudy setup again", "it is version 3.9.6"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q lacks %q", text, want)
		}
	}
}

func TestNoneFound(t *testing.T) {
	empty := t.TempDir()
	t.Setenv("PATH", empty)
	activate(t, map[string]string{"VIRTUAL_ENV": "/nowhere"})
	_, err := Find(t.Context(), Options{DataDir: empty})
	var missing *NotFoundError
	if !errors.As(err, &missing) || len(missing.Passed) != 1 || !strings.Contains(err.Error(), "--python") {
		t.Errorf("got %v", err)
	}
}

func TestFindStops(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if found, err := Find(ctx, Options{}); err == nil {
		t.Errorf("found %+v though cancelled", found)
	}
	if _, err := Find(ctx, Options{Python: realPython(t)}); !errors.Is(err, context.Canceled) || strings.Contains(err.Error(), "does not run") {
		t.Errorf("a cancelled search blames the Python: %v", err)
	}
}

func TestEnvironmentOfTheProbe(t *testing.T) {
	got := cleanEnv([]string{"PYTHONHOME=/x", "PATH=/bin", "PIP_USER=1", "PIP_INDEX_URL=u"})
	if strings.Join(got, " ") != "PATH=/bin PIP_INDEX_URL=u" {
		t.Errorf("got %v", got)
	}
}

func TestVersions(t *testing.T) {
	versions, err := Versions(t.Context(), realPython(t))
	if err != nil {
		t.Fatal(err)
	}
	for name, version := range versions {
		if version == "" {
			t.Errorf("%s has no version", name)
		}
	}
	if _, err := Versions(t.Context(), "/nowhere/python"); err == nil {
		t.Error("a Python that is not there has packages")
	}
}
