package command

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"understudy/internal/config"
	"understudy/internal/pythonenv"
	"understudy/internal/worker/workertest"
	"understudy/sessions"
)

func doctor(t *testing.T, args ...string) (string, error) {
	t.Helper()
	c, err := config.Parse(config.Source{Args: append([]string{"doctor"}, args...)})
	must(t, err)
	var out bytes.Buffer
	err = Doctor(t.Context(), c, &out)
	return out.String(), err
}

// wantIn wants every part in what was printed.
func wantIn(t *testing.T, out string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		expect(t, strings.Contains(out, part), "%q is not in\n%s", part, out)
	}
}

// TestDoctorTriesARealWorker, and tells of the sandbox that there is, also where stdio has none.
func TestDoctorTriesARealWorker(t *testing.T) {
	out, err := doctor(t, "--data-dir", t.TempDir(), "--python", workertest.Python(t))
	must(t, err)
	wantIn(t, out, "asked for with --python", "started and ran 1+1", "figures", "numpy", "open files", "--start", "full: Python code", "code may do whatever this user may")
	if runtime.GOOS == "linux" {
		wantIn(t, out, "\nSandbox\n", "rlimits", "landlock", "namespaces", "HTTP and SSE    standard: no network", "stdio           off: ", "--sandbox standard confines it", "none for an interpreter")
	}
}

// TestDoctorTriesTheGuards: the policy, and on Linux the sandbox.
func TestDoctorTriesTheGuards(t *testing.T) {
	path := filepath.Join(t.TempDir(), "policy.yaml")
	t.Setenv("UNDERSTUDY_POLICY", path)
	must(t, os.WriteFile(path, []byte("blocked_module: []"), 0o600))
	f := &findings{Works: true}
	f.policy(t.Context(), configOf(t, "doctor"), nil)
	expect(t, !f.Works && hasCheck(*f, "policy", stateFailed, "policy.yaml, line 1"), "%+v", f)

	must(t, os.WriteFile(path, []byte("blocked_modules: [socket]"), 0o600))
	wants := []string{"started and ran 1+1", "it has base rules"}
	if runtime.GOOS == "linux" {
		t.Setenv("UNDERSTUDY_SANDBOX", "standard")
		t.Setenv("UNDERSTUDY_ALLOW_NET", "pypi.org")
		t.Setenv("UNDERSTUDY_MEMORY_LIMIT", "1GB")
		wants = append(wants, "standard: the hosts pypi.org", "for an interpreter 1.0 GB of memory, 512 processes")
	}
	out, err := doctor(t, "--data-dir", t.TempDir(), "--python", workertest.Python(t))
	must(t, err)
	wantIn(t, out, wants...)
}

// TestDoctorNamesLibraries: what understudy knows best has a line each, all else has one,
// and what is missing says where it is to be had.
func TestDoctorNamesLibraries(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("stands for Python with a shell script")
	}
	whole := map[string]string{}
	for _, p := range pythonenv.Packages {
		whole[p.Name] = "1.0"
	}
	minimal := map[string]string{"pillow": "1.0"} // which matplotlib brings
	for _, name := range pythonenv.Minimal() {
		minimal[name] = "1.0"
	}
	lock, err := requirements()
	must(t, err)
	sum := fmt.Sprintf("%x", sha256.Sum256(lock))
	const more, lacks = "openpyxl 1.0, pyarrow 1.0, polars 1.0", "openpyxl, pyarrow, polars, duckdb"
	for _, test := range []struct {
		name, why, stamp string
		versions         map[string]string
		lines            int
		want             []string
	}{
		{"all", "made by understudy setup", `{"lock": "` + sum + `"}`, whole, len(pythonenv.Minimal()) + 1, []string{more}},
		{"minimal", "made by understudy setup", `{"lock": "` + sum + `", "only": ["numpy"]}`, minimal, len(pythonenv.Minimal()) + 3, []string{"pillow 1.0", lacks, `"understudy setup" adds what is missing`}},
		{"removed", "made by understudy setup", `{"lock": "` + sum + `"}`, minimal, len(pythonenv.Minimal()) + 3, []string{"removed after setup"}},
		{"older", "made by understudy setup", `{"lock": "of old"}`, minimal, len(pythonenv.Minimal()) + 3, []string{lacks, "brings them up to date"}},
		{"another", "on PATH", "", map[string]string{}, len(pythonenv.Minimal()) + 2, []string{lacks, "figures are not captured", "makes an environment with all of them"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			data := t.TempDir()
			versions, err := json.Marshal(test.versions)
			python := filepath.Join(data, "stand-in")
			must(t, errors.Join(err,
				os.Mkdir(filepath.Join(data, "python"), 0o755),
				os.WriteFile(filepath.Join(data, "python", "understudy-setup.json"), []byte(test.stamp), 0o644),
				os.WriteFile(python, []byte("#!/bin/sh\necho '"+string(versions)+"'\n"), 0o755)))
			f := &findings{}
			f.libraries(t.Context(), &config.Config{Shared: config.Shared{DataDir: data}}, &pythonenv.Found{Python: pythonenv.Python{Path: python, Why: test.why}})
			var out bytes.Buffer
			must(t, f.print(&out, false))
			for _, want := range test.want {
				expect(t, strings.Contains(out.String(), want), "%q is not in\n%s", want, &out)
			}
			expect(t, len(f.Checks) == test.lines, "%d lines, not %d:\n%s", len(f.Checks), test.lines, &out)
		})
	}
}

// A journal that can't be opened is a failure if it was asked for.
func TestDoctorLooksAtTheJournal(t *testing.T) {
	blocked := filepath.Join(t.TempDir(), "file")
	must(t, os.WriteFile(blocked, []byte(strings.Repeat("no journal ", 100)), 0o600))
	for _, test := range []struct {
		args []string
		want state
	}{
		{nil, stateOK},
		{[]string{"--data-dir", blocked}, stateNote},
		{[]string{"--journal", blocked}, stateFailed},
		{[]string{"--data-dir", blocked, "--trials"}, stateFailed},
		{[]string{"--journal", blocked, "--no-journal"}, stateNote},
	} {
		c := configOf(t, append([]string{"serve", "--data-dir", t.TempDir()}, test.args...)...)
		s, detail := checkJournal(c)
		expect(t, s == test.want, "%q: %s %s", test.args, s, detail)
	}
}

func TestDoctorWithoutPython(t *testing.T) {
	out, err := doctor(t, "--json", "--data-dir", t.TempDir(), "--python", "/nowhere/python")
	expect(t, errors.Is(err, errUnfit), "error is %v", err)
	var found findings
	must(t, json.Unmarshal([]byte(out), &found))
	expect(t, !found.Works && hasCheck(found, "interpreter", stateFailed, "/nowhere/python"), "found %+v", found)
}

func TestDoctorWithoutAPlaceForFiles(t *testing.T) {
	blocked := filepath.Join(t.TempDir(), "file")
	must(t, os.WriteFile(blocked, nil, 0o600))
	out, err := doctor(t, "--data-dir", filepath.Join(blocked, "data"), "--python", workertest.Python(t))
	expect(t, errors.Is(err, errUnfit) && strings.Contains(out, "choose another with --data-dir"), "%v\n%s", err, out)
}

func hasCheck(f findings, name string, s state, detail string) bool {
	for _, check := range f.Checks {
		if check.Name == name && check.State == s && strings.Contains(check.Detail, detail) {
			return true
		}
	}
	return false
}

func TestDoctorDistrustsTheWorker(t *testing.T) {
	says := func(text string, figures int) func(context.Context, sessions.Request, sessions.Sink) (sessions.Outcome, error) {
		return func(_ context.Context, request sessions.Request, sink sessions.Sink) (sessions.Outcome, error) {
			if request.Execution == 1 {
				sink.Output(sessions.Stdout, []byte(text))
			}
			for range figures * (request.Execution - 1) {
				sink.Figure(sessions.Figure{Width: 640, Height: 480})
				sink.Output(sessions.Stderr, []byte(noFont))
			}
			return sessions.Outcome{OK: true}, nil
		}
	}
	for name, test := range map[string]struct {
		run  func(context.Context, sessions.Request, sessions.Sink) (sessions.Outcome, error)
		want string // of the error
	}{
		"right":       {says("2\n", 1), ""},
		"wrong":       {says("3\n", 1), `1+1 gave "3"`},
		"silent":      {says("", 1), `1+1 gave ""`},
		"no figure":   {says("2\n", 0), "a plot gave 0 figures"},
		"two figures": {says("2\n", 2), "a plot gave 2 figures"},
		"raises": {func(context.Context, sessions.Request, sessions.Sink) (sessions.Outcome, error) {
			return sessions.Outcome{Exception: &sessions.Exception{Traceback: "ImportError: libx\n"}}, nil
		}, "ImportError: libx"},
	} {
		t.Run(name, func(t *testing.T) {
			f := &findings{Works: true}
			err := f.tryWorker(t.Context(), fakeStarter{test.run}, nil)
			expect(t, (err == nil) == (test.want == "") && (err == nil || strings.Contains(err.Error(), test.want)), "error is %v, want %q", err, test.want)
			expect(t, test.want != "" || hasCheck(*f, "figures", stateOK, "640×480") && hasCheck(*f, "fonts", stateNote, "none has Chinese"), "found %+v", f)
		})
	}
}

func TestDoctorKillsAWorkerThatHangs(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	started := fakeStarter{}
	done := make(chan error)
	go func() { done <- (&findings{}).tryWorker(ctx, started, nil) }()
	cancel()
	err := <-done
	expect(t, err != nil, "a worker that hangs passed")
}

// In a project the doctor says where interpreters work, which Python they run and what was
// passed over.
func TestDoctorInAProject(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	t.Setenv("VIRTUAL_ENV", "")
	t.Setenv("CONDA_PREFIX", "")
	if out, err := exec.CommandContext(t.Context(), workertest.Python(t), "-m", "venv", "--without-pip", "venv").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Setenv("HOME", t.TempDir())
	must(t, os.Mkdir(filepath.Join(dir, "env"), 0o755))
	must(t, os.Mkdir(filepath.Join(dir, ".venv"), 0o755))
	f := &findings{Works: true}
	c := configOf(t, "serve")
	c.Python = ""
	_, detail := checkDirectory(c)
	f.add(groupProject, "directory", stateOK, "%s", detail)
	f.python(t.Context(), c)
	for _, want := range []check{
		{"Project", "directory", stateOK, dir + ", where the server was started"},
		{"Python", "interpreter", stateOK, "this project's venv"},
		{"Python", "passed over", stateNote, ".venv/bin/python (this project's .venv): it does not run"},
	} {
		expect(t, hasCheck(*f, want.Name, want.State, want.Detail), "%+v is not among %+v", want, f.Checks)
	}
}

// TestDoctorBelowTheFloor: a Python that says the host allows nothing stands for one that
// does.
func TestDoctorBelowTheFloor(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("there is no sandbox but on Linux")
	}
	no := `{"landlock":0,"user":1000,"seccomp":"not here","namespaces":"not here","users":"not here","proc":"not here","cgroup":"not here"}`
	path := filepath.Join(t.TempDir(), "python")
	text := "#!/bin/sh\nif [ \"$2\" = -S ] && [ \"$3\" = -c ]; then cat >/dev/null; echo '" + no + "'; exit; fi\nexec " + workertest.Python(t) + " \"$@\"\n"
	must(t, os.WriteFile(path, []byte(text), 0o700))
	for _, args := range [][]string{{"--sandbox", "strict"}, {"--sandbox", "standard", "--sandbox-floor", "landlock"}} {
		c := configOf(t, append([]string{"serve", "--data-dir", t.TempDir(), "--transport", "http", "--python", path}, args...)...)
		var out bytes.Buffer
		err := Doctor(t.Context(), c, &out)
		expect(t, errors.Is(err, errUnfit) && strings.Contains(out.String(), "failed   floor"), "%v\n%s", err, &out)
	}
}

func TestDoctorSaysWhereTracesGo(t *testing.T) {
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "")
	t.Setenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "")
	s, _ := checkTraces(nil)
	expect(t, s == "", "without an endpoint it is %s", s)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://user:secret@collector:4318")
	s, detail := checkTraces(nil)
	expect(t, s == stateOK && detail == "sent to http://collector:4318", "it is %s, %s", s, detail)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "collector:4318")
	s, detail = checkTraces(nil)
	expect(t, s == stateNote && strings.Contains(detail, "no URL"), "it is %s, %s", s, detail)
}
