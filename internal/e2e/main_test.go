// Package e2e holds conversations with the real binary.
package e2e

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"testing"

	"github.com/mark3labs/mcp-go/client"
	"github.com/rogpeppe/go-internal/testscript"

	_ "understudy/internal/command" // results are kept only as long as the binary is the same
)

// root is the way from here to the top of the project.
const root = "../../"

// binary is the path of understudy, built once and first on PATH.
var binary string

// helpers are programs that this one is under another name.
var helpers = map[string]func(){}

func TestMain(m *testing.M) {
	// Under the race detector every program sleeps a second before it exits.
	if os.Getenv("GORACE") == "" {
		_ = os.Setenv("GORACE", "atexit_sleep_ms=10")
	}
	// What crashes and undos cost is exact then, however fast a test calls; burst.txtar has
	// a share of its own.
	if os.Getenv("UNDERSTUDY_COPY_SHARE") == "" {
		_ = os.Setenv("UNDERSTUDY_COPY_SHARE", "1")
	}
	testscript.Main(built{m}, helpers)
}

// built runs the tests with a new understudy.
type built struct{ *testing.M }

func (b built) Run() int {
	dir, err := os.MkdirTemp("", "understudy-e2e-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	binary = filepath.Join(dir, "understudy")
	_, _ = os.Stat(root + "main.go") // as with internal/app: go test asks whether it is the same
	if err := errors.Join(os.Chmod(dir, 0o755), build(dir, lookForRaces())); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	_ = os.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	return b.M.Run()
}

// build builds understudy in a directory.
func build(dir string, races bool) error {
	build := exec.Command("go", "build", "-race="+strconv.FormatBool(races), "-o", dir+string(os.PathSeparator), "understudy")
	if said, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("building understudy: %w\n%s", err, said)
	}
	return nil
}

// lookForRaces reports whether the tests run with the race detector: then the server does, too.
func lookForRaces() bool {
	info, _ := debug.ReadBuildInfo()
	return info != nil && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
}

// serve starts a server over stdio with a Python that has the scientific libraries; without
// one the test is skipped.
func serve(t *testing.T, flags ...string) *client.Client {
	t.Helper()
	if os.Getenv("UNDERSTUDY_TEST_PYTHON") == "" {
		t.Skip("UNDERSTUDY_TEST_PYTHON names no Python with the scientific libraries")
	}
	return spawn(t, command(t, append([]string{"serve"}, flags...)...))
}
