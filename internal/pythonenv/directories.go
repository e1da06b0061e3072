package pythonenv

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"time"
)

// directoriesCode prints the directories that a Python and its libraries are in,
// without links, each once.
const directoriesCode = `import json, os, sys, sysconfig
paths = [sys.prefix, sys.base_prefix, sys.exec_prefix, sys.base_exec_prefix]
paths += [os.path.dirname(os.path.realpath(sys.executable)), sysconfig.get_config_var("LIBDIR")]
paths += sysconfig.get_paths().values()
paths += sys.path[1:]  # the first is where the program is, and it has none
print(json.dumps(sorted({os.path.realpath(p) for p in paths if p and os.path.exists(p)})))`

// Directories returns what the Python at path needs to read to run code with its
// libraries: directories, and files where sys.path names some. One may be in another.
func Directories(ctx context.Context, path string) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	command := exec.CommandContext(ctx, path, "-c", directoriesCode)
	command.WaitDelay = time.Second
	command.Env = os.Environ() // workers see PYTHONPATH, so what it names is needed
	output, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("asking %s for its directories: %w", path, err)
	}
	var found []string
	if err := json.Unmarshal(output, &found); err != nil {
		return nil, fmt.Errorf("asking %s for its directories: %w", path, err)
	}
	return found, nil
}
