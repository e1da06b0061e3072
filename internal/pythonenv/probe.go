package pythonenv

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"
)

// probeTimeout is how long a Python may take to say its version. Slow disks
// and virus scanners make first starts take seconds.
const probeTimeout = 30 * time.Second

// probeCode runs on any Python, 2 included, so that an old one can be named.
const probeCode = `import sys
print("%d.%d.%d" % sys.version_info[:3])
print(sys.version_info[:2] >= (3, 10))
print(sys.executable)
print(getattr(sys, "_base_executable", sys.executable))`

// probe is what a Python says of itself.
type probe struct {
	version    string
	executable string
	base       string // of the Python that a virtual environment was made from
}

// run starts a Python and asks it for its version. The error says what is
// wrong with it as a candidate.
func run(ctx context.Context, path string) (*probe, error) {
	limited, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	command := exec.CommandContext(limited, path, "-c", probeCode)
	command.Env = cleanEnv(os.Environ())
	// A child of a wrapper script may hold the pipes open after the timeout.
	command.WaitDelay = time.Second
	var stderr bytes.Buffer
	command.Stderr = &stderr
	output, err := command.Output()
	switch {
	case ctx.Err() != nil: // says nothing of this Python
		return nil, ctx.Err()
	case limited.Err() != nil:
		return nil, fmt.Errorf("it did not answer within %v", probeTimeout)
	case errors.Is(err, syscall.ENOEXEC):
		return nil, errors.New("it does not run here: it is for another system or another kind of processor (exec format error)")
	case err != nil:
		return nil, fmt.Errorf("it does not run: %w%s", err, because(stderr.String()))
	}
	return readProbe(string(output))
}

func readProbe(output string) (*probe, error) {
	lines := strings.Split(strings.ReplaceAll(output, "\r\n", "\n"), "\n")
	if len(lines) < 4 {
		return nil, fmt.Errorf("it is not Python; asked for its version it said %.100q", output)
	}
	if lines[1] != "True" {
		return nil, fmt.Errorf("it is version %s; %s or newer is needed", lines[0], Oldest)
	}
	if lines[2] == "" {
		return nil, errors.New("it does not know its own path (sys.executable is empty)")
	}
	return &probe{version: lines[0], executable: lines[2], base: lines[3]}, nil
}

// because is the last line that a program wrote, as the end of an error.
func because(stderr string) string {
	lines := strings.Split(strings.TrimSpace(stderr), "\n")
	if last := strings.TrimSpace(lines[len(lines)-1]); last != "" {
		return ": " + last
	}
	return ""
}

// disturbing are the variables that make another Python of the one that is
// asked, or make pip install elsewhere than into the environment.
var disturbing = []string{"PYTHONHOME", "PYTHONPATH", "PYTHONSTARTUP", "PYTHONINSPECT", "PIP_USER", "PIP_TARGET", "PIP_PREFIX", "PIP_ROOT", "PIP_REQUIREMENT", "__PYVENV_LAUNCHER__"}

func cleanEnv(environ []string) []string {
	return slices.DeleteFunc(environ, func(pair string) bool {
		name, _, _ := strings.Cut(pair, "=")
		return slices.ContainsFunc(disturbing, func(bad string) bool { return strings.EqualFold(name, bad) })
	})
}
