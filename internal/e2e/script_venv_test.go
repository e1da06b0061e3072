package e2e

import (
	"os"
	"os/exec"

	"github.com/rogpeppe/go-internal/testscript"
)

// scriptPython is the Python of the conversations.
func scriptPython() string {
	if python := os.Getenv("UNDERSTUDY_TEST_PYTHON"); python != "" {
		return python
	}
	return "python3"
}

// cmdVenv makes virtual environments without packages.
func cmdVenv(ts *testscript.TestScript, _ bool, args []string) {
	for _, dir := range args {
		out, err := exec.Command(scriptPython(), "-m", "venv", "--without-pip", ts.MkAbs(dir)).CombinedOutput()
		if err != nil {
			ts.Fatalf("making %s: %v\n%s", dir, err, out)
		}
	}
}
