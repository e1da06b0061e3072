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
		must(t, err)
		expect(t, found.Project == test.want && (!test.want || found.Environment == filepath.Join(dir, ".venv")), "%q: %+v", test.args, found)
		sandboxed := c.Serve.SandboxMode() != config.SandboxOff && !c.Serve.OverNetwork()
		told := len(found.Passed) > 0 && strings.Contains(found.Passed[0].Reason, "--python")
		expect(t, told == sandboxed, "%q: passed over: %v", test.args, found.Passed)
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

// The walls of several Pythons are one: their families have different users, and each
// reads its own Python.
func TestSeveralPythonsBehindTheWall(t *testing.T) {
	needsLinux(t)
	other := filepath.Join(t.TempDir(), "other")
	makeVenv(t, other)
	a := opened(t, "--pythons", "other="+filepath.Join(other, "bin", "python"))
	users := map[string]string{}
	for _, name := range []string{"other", "", "other"} {
		made, err := a.manager.Create(t.Context(), "me", sessions.CreateRequest{Python: name})
		must(t, err)
		r, err := a.manager.Run(t.Context(), "me", sessions.RunRequest{InterpreterID: made.ID, Code: "import os, sys; x = [os.getuid(), sys.prefix]", ResultVarName: "x"})
		if err != nil || r.Status != sessions.StatusOK {
			t.Fatalf("%q: %v %+v", name, err, r)
		}
		user, prefix, _ := strings.Cut(strings.Trim(string(r.Result), "[]"), ",")
		expect(t, strings.Contains(prefix, other) == (name == "other"), "%q is of %s", name, prefix)
		before, taken := users[user]
		expect(t, !taken || os.Geteuid() != 0, "%s and %s have one user, %s", before, made.ID, user)
		users[user] = made.ID
		r, err = a.manager.Run(t.Context(), "me", sessions.RunRequest{InterpreterID: made.ID, Code: "import nothing_of_that_name"})
		expect(t, err == nil && strings.Contains(strings.Join(r.Notes, "\n"), "the sandbox has no network"),
			"%q: an import that failed has the notes %q, %v", name, r.Notes, err)
	}
	all, err := a.manager.List(t.Context(), "me")
	expect(t, err == nil && len(all) == 3 && all[0].Sandbox != nil && all[0].Sandbox.Mode == "standard" && slices.Contains(all[0].Sandbox.Layers, "rlimits"),
		"%+v %v", all, err)
	err = a.python.choose(t.Context(), config.PythonProject)
	expect(t, err != nil && strings.Contains(err.Error(), "servers over stdio"), "a project over HTTP: %v", err)
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
	expect(t, len(p.opened) == 2, "two Pythons have %d zygotes", len(p.opened))
	must(t, p.Close())
}
