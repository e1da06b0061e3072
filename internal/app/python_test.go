package app

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"understudy/internal/config"
	"understudy/internal/pythonenv"
	"understudy/internal/worker/workertest"
	"understudy/sessions"
)

// newProject makes a directory with the environment of a project in it, as where the server
// was started.
func newProject(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	makeVenv(t, filepath.Join(dir, ".venv"))
	t.Chdir(dir)
	t.Setenv("VIRTUAL_ENV", "")
	t.Setenv("CONDA_PREFIX", "")
	return dir
}

func makeVenv(t *testing.T, dir string) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), workertest.Python(t), "-m", "venv", "--without-pip", dir).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

// A project's environment is code that its user has not necessarily seen: who merely
// connects does not have it run, and a sandbox does not let code bring it to be run outside.
func TestWhoseEnvironmentIsRun(t *testing.T) {
	dir := newProject(t)
	for _, test := range []struct {
		args   []string
		python string
		want   bool
	}{
		{nil, "", true},
		{[]string{"--transport", "http"}, "", false},
		{[]string{"--sandbox", "standard"}, "", false},
		{nil, workertest.Python(t), false},
	} {
		c := serveConfig(t, test.args...)
		c.Python = test.python
		found, err := FindPython(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		if found.Project != test.want || test.want && found.Environment != filepath.Join(dir, ".venv") {
			t.Errorf("%q: %+v", test.args, found)
		}
		sandboxed := c.Serve.SandboxMode() != config.SandboxOff && !c.Serve.OverNetwork()
		if told := len(found.Passed) > 0 && strings.Contains(found.Passed[0].Reason, "--python"); told != sandboxed {
			t.Errorf("%q: passed over: %v", test.args, found.Passed)
		}
	}
}

// With a sandbox nothing is run outside it that code may have put where it writes, whatever
// leads there.
func TestNoPythonFromWhereCodeWrites(t *testing.T) {
	dir, written := newProject(t), t.TempDir()
	makeVenv(t, filepath.Join(written, "env"))
	t.Setenv("HOME", dir+"-home")
	for name, test := range map[string]struct {
		active, path string
		args         []string
		why          string // a part of it
	}{
		"active":         {filepath.Join(dir, ".venv"), "", nil, "active"},
		"on PATH":        {"", filepath.Join(dir, ".venv", "bin"), nil, "PATH"},
		"below --write":  {filepath.Join(written, "env"), "", []string{"--write", written}, "active"},
		"with --workdir": {filepath.Join(written, "env"), "", []string{"--workdir", written}, "active"},
		"over a network": {filepath.Join(written, "env"), "", []string{"--transport", "http", "--write", written}, "active"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("VIRTUAL_ENV", test.active)
			t.Setenv("PATH", test.path+string(os.PathListSeparator)+filepath.Dir(workertest.Python(t))+string(os.PathListSeparator)+os.Getenv("PATH"))
			c := serveConfig(t, append(test.args, "--sandbox", "standard", "--data-dir", t.TempDir())...)
			c.Python = ""
			found, err := FindPython(t.Context(), c)
			var passed []pythonenv.Passed
			if missing := (*pythonenv.NotFoundError)(nil); errors.As(err, &missing) { // PATH may have no other
				passed = missing.Passed
			} else if err != nil {
				t.Fatal(err)
			} else if passed = found.Passed; strings.HasPrefix(found.Path, dir) || strings.HasPrefix(found.Path, written) {
				t.Errorf("it has run %s", found.Path)
			}
			if !slices.ContainsFunc(passed, func(p pythonenv.Passed) bool {
				return strings.Contains(p.Why, test.why) && p.Reason == inSandbox && !p.Usual
			}) {
				t.Errorf("passed over: %+v", passed)
			}
		})
	}
}

// Interpreters of two Pythons live beside each other, each with its own; a branch has its
// parent's; what is not there is refused before anything is made.
func TestInterpretersOfSeveralPythons(t *testing.T) {
	dir, data := newProject(t), t.TempDir()
	own, other := filepath.Join(data, "python"), filepath.Join(t.TempDir(), "other")
	makeVenv(t, own)
	makeVenv(t, other)
	stamp := []byte(`{"lock":"","python":"3.11"}`)
	if err := os.WriteFile(filepath.Join(own, "understudy-setup.json"), stamp, 0o600); err != nil {
		t.Fatal(err)
	}
	c := serveConfig(t, "--data-dir", data, "--pythons", "other="+filepath.Join(other, "bin", "python")+",gone=/nowhere/python")
	c.Python = ""
	a, err := Open(c, quiet())
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	}()
	prefix := func(id string) string {
		r, err := a.manager.Run(t.Context(), "me", sessions.RunRequest{InterpreterID: id, Code: "import sys; x = sys.prefix; y = globals().get('y', 0) + 1", ResultVarName: "x"})
		if err != nil || r.Status != sessions.StatusOK {
			t.Fatalf("%v %+v", err, r)
		}
		return strings.Trim(string(r.Result), `"`)
	}
	if got := prefix(""); got != filepath.Join(dir, ".venv") {
		t.Errorf("the usual Python is of %s", got)
	}
	for name, want := range map[string]string{config.PythonProject: filepath.Join(dir, ".venv"), config.PythonOwn: own, "other": other} {
		made, err := a.manager.Create(t.Context(), "me", sessions.CreateRequest{Python: name})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got := prefix(made.ID); got != want {
			t.Errorf("%s is of %s", name, got)
		}
		if want := map[string]string{config.PythonProject: "of this project's .venv", config.PythonOwn: "made by understudy setup", "other": "other"}[name]; !strings.Contains(made.Python, want) {
			t.Errorf("%s is shown as %q", name, made.Python)
		}
		if a.python.ForkObstacle() != "" {
			continue
		}
		branch, err := a.manager.Branch(t.Context(), "me", made.ID)
		if err != nil {
			t.Fatal(err)
		}
		if got := prefix(branch.ID); got != want {
			t.Errorf("a branch of %s is of %s", name, got)
		}
	}
	if usual, project := a.python.known[""], a.python.known[config.PythonProject]; usual != project {
		t.Error("the project's Python, which is the usual one, has two zygotes")
	}
	before, _ := a.manager.List(t.Context(), "me")
	for name, words := range map[string]string{"none": `there is "own", "project", "gone", "other"`, "gone": "/nowhere/python"} {
		_, err := a.manager.Create(t.Context(), "me", sessions.CreateRequest{Python: name})
		if sessions.CodeOf(err) != sessions.CodeInvalid || !strings.Contains(err.Error(), "python: ") || !strings.Contains(err.Error(), words) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if after, _ := a.manager.List(t.Context(), "me"); len(after) != len(before) {
		t.Errorf("%d interpreters were made of Pythons that are not there", len(after)-len(before))
	}
}

// The walls of several Pythons are one: their families have different users, and each
// reads its own Python.
func TestSeveralPythonsBehindTheWall(t *testing.T) {
	needsLinux(t)
	other := filepath.Join(t.TempDir(), "other")
	makeVenv(t, other)
	c := serveConfig(t, "--transport", "http", "--sandbox", "standard", "--no-journal", "--pythons", "other="+filepath.Join(other, "bin", "python"))
	a, err := Open(c, quiet())
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	}()
	users := map[string]string{}
	for _, name := range []string{"other", "", "other"} {
		made, err := a.manager.Create(t.Context(), "me", sessions.CreateRequest{Python: name})
		if err != nil {
			t.Fatal(err)
		}
		r, err := a.manager.Run(t.Context(), "me", sessions.RunRequest{InterpreterID: made.ID, Code: "import os, sys; x = [os.getuid(), sys.prefix]", ResultVarName: "x"})
		if err != nil || r.Status != sessions.StatusOK {
			t.Fatalf("%q: %v %+v", name, err, r)
		}
		user, prefix, _ := strings.Cut(strings.Trim(string(r.Result), "[]"), ",")
		if strings.Contains(prefix, other) != (name == "other") {
			t.Errorf("%q is of %s", name, prefix)
		}
		if before, taken := users[user]; taken && os.Geteuid() == 0 {
			t.Errorf("%s and %s have one user, %s", before, made.ID, user)
		}
		users[user] = made.ID
		if r, err = a.manager.Run(t.Context(), "me", sessions.RunRequest{InterpreterID: made.ID, Code: "import nothing_of_that_name"}); err != nil || !strings.Contains(strings.Join(r.Notes, "\n"), "the sandbox has no network") {
			t.Errorf("%q: an import that failed has the notes %q, %v", name, r.Notes, err)
		}
	}
	if err := a.python.choose(t.Context(), config.PythonProject); err == nil || !strings.Contains(err.Error(), "servers over stdio") {
		t.Errorf("a project over HTTP: %v", err)
	}
}

// A client may say that its user works elsewhere than where the server was started.
func TestThePythonOfAnotherProject(t *testing.T) {
	first, second := newProject(t), t.TempDir()
	makeVenv(t, filepath.Join(second, "venv"))
	c := serveConfig(t)
	c.Python = ""
	p := newPythons(c, quiet())
	for _, want := range []string{filepath.Join(first, ".venv"), filepath.Join(second, "venv"), filepath.Join(first, ".venv")} {
		p.workIn(filepath.Dir(want))
		for _, name := range []string{"", config.PythonProject} {
			its, err := p.ready(t.Context(), name)
			if err != nil || its.Environment != want {
				t.Fatalf("%q: %+v, %v; want %s", name, its, err, want)
			}
		}
	}
	if len(p.opened) != 2 {
		t.Errorf("two Pythons have %d zygotes", len(p.opened))
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
}
