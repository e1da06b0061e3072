package workertest

import (
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
)

// python finds the interpreter once. It is asked for its own path, because
// python3 on PATH may be a script that looks for one at every start.
var python = sync.OnceValues(func() (string, error) {
	name := os.Getenv("UNDERSTUDY_TEST_PYTHON")
	if name == "" {
		name = "python3"
	}
	path, err := exec.Command(name, "-c", "import sys; print(sys.executable)").Output()
	return strings.TrimSpace(string(path)), err
})

// Python returns the interpreter that tests use: UNDERSTUDY_TEST_PYTHON, else
// python3 on PATH.
func Python(t testing.TB) string {
	t.Helper()
	path, err := python()
	insist(t, err == nil, "tests need Python 3.10 or newer as python3 or UNDERSTUDY_TEST_PYTHON: %v", err)
	return path
}
