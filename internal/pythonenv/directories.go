package pythonenv

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"
)

// directoriesCode prints the directories that a Python and its libraries are in,
// without links, each once.
const directoriesCode = fromElsewhere + `import json, os, sys, sysconfig
paths = [sys.prefix, sys.base_prefix, sys.exec_prefix, sys.base_exec_prefix]
paths += [os.path.dirname(os.path.realpath(sys.executable)), sysconfig.get_config_var("LIBDIR")]
paths += sysconfig.get_paths().values()
paths += sys.path + sys.argv[1].split(os.pathsep)
print(json.dumps(sorted({os.path.realpath(p) for p in paths if p and os.path.exists(p)})))`

// fromElsewhere begins what a Python is asked outside the sandbox: it imports nothing from
// the working directory, where code may have left a json.py.
const fromElsewhere = "import sys\nsys.path = [p for p in sys.path if p]\n"

// withoutPath is the environment without PYTHONPATH, which may name the working directory.
func withoutPath(environ []string) []string {
	return slices.DeleteFunc(environ, func(pair string) bool { return strings.HasPrefix(pair, "PYTHONPATH=") })
}

// Directories returns what the Python at path needs to read to run code with its
// libraries: directories, and files where sys.path names some. One may be in another.
func Directories(ctx context.Context, path string) (found []string, err error) {
	err = ask(ctx, path, "its directories", &found, directoriesCode)
	return found, err
}

// ask has the Python at path run code that prints JSON, of PYTHONPATH, which workers see,
// and of further arguments.
func ask(ctx context.Context, path, what string, answer any, code string, arguments ...string) error {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	command := exec.CommandContext(ctx, path, append([]string{"-c", code, os.Getenv("PYTHONPATH")}, arguments...)...)
	command.WaitDelay = time.Second
	command.Env = withoutPath(os.Environ())
	output, err := command.Output()
	if err == nil {
		err = json.Unmarshal(output, answer)
	}
	if err != nil {
		return fmt.Errorf("asking %s for %s: %w", path, what, err)
	}
	return nil
}
