package pythonenv

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"
)

// installer makes environments and fills them: uv where it is installed, since
// it takes seconds, else what Python brings along.
type installer struct{ uv string } // its path, "" for pip

func chooseInstaller() installer {
	path, _ := exec.LookPath("uv")
	return installer{path}
}

func (i installer) name() string {
	if i.uv != "" {
		return "uv"
	}
	return "pip"
}

// create makes an environment of base, which may be a version for uv to fetch, as ">=3.10".
func (i installer) create(ctx context.Context, base, directory string) error {
	if i.uv != "" {
		// --seed adds pip, for users who want further packages.
		return runTool(ctx, nil, filepath.Dir(directory), i.uv, "venv", "--seed", "--python", base, directory)
	}
	err := runTool(ctx, nil, filepath.Dir(directory), base, "-m", "venv", directory)
	if err != nil && strings.Contains(err.Error(), "ensurepip") {
		return fmt.Errorf("%w\nThis Python lacks venv; on Debian and Ubuntu install the package python3-venv, or install uv", err)
	}
	return err
}

// install installs what the arguments ask for, as pip's install takes them,
// and tells each line of the tool's output.
func (i installer) install(ctx context.Context, directory string, arguments []string, told func(line string)) error {
	tool := interpreter(directory)
	words := []string{"-m", "pip", "install", "--disable-pip-version-check", "--no-input", "--progress-bar", "off"}
	if i.uv != "" {
		// Compiled now, the libraries need not be when the first session imports them.
		words, tool = []string{"pip", "install", "--compile-bytecode", "--python", tool}, i.uv
	}
	return runTool(ctx, told, directory, tool, append(words, arguments...)...)
}

// runTool runs a program and tells each line of its output; nil: nobody is told.
// Its last lines are its error.
func runTool(ctx context.Context, told func(line string), directory, path string, args ...string) error {
	output := &lines{told: told}
	command := exec.CommandContext(ctx, path, args...)
	command.Dir = directory
	command.Env = toolEnv(os.Environ())
	command.Stdout, command.Stderr = output, output
	command.Cancel = func() error {
		if runtime.GOOS == "windows" { // which has no such signal
			return command.Process.Kill()
		}
		return command.Process.Signal(syscall.SIGTERM) // it cleans up
	}
	command.WaitDelay = 10 * time.Second
	err := command.Run()
	output.flush()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return fmt.Errorf("%s %s: %w; its last lines:\n%s", filepath.Base(path), args[0], err, output.last())
	}
	return nil
}

// toolEnv has each line arrive when it is written.
func toolEnv(environ []string) []string {
	return append(cleanEnv(environ), "PYTHONUNBUFFERED=1", "PYTHONDONTWRITEBYTECODE=")
}

// kept is how many of the last lines of a program an error shows.
const kept = 15

// lines tells whole lines and keeps the last.
type lines struct {
	told    func(line string) // nil: nobody is
	partial string
	tail    []string
}

func (l *lines) Write(data []byte) (int, error) {
	text := l.partial + strings.ReplaceAll(string(data), "\r\n", "\n")
	parts := strings.Split(text, "\n")
	for _, line := range parts[:len(parts)-1] {
		l.add(line)
	}
	l.partial = parts[len(parts)-1]
	return len(data), nil
}

func (l *lines) add(line string) {
	line = strings.TrimRight(line, " \r")
	if line == "" {
		return
	}
	if l.told != nil {
		l.told(line)
	}
	l.tail = append(l.tail, "  "+line)
	if len(l.tail) > kept {
		l.tail = l.tail[1:]
	}
}

func (l *lines) flush() {
	l.add(l.partial)
	l.partial = ""
}

func (l *lines) last() string { return strings.Join(l.tail, "\n") }
