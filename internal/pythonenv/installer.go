package pythonenv

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// installer makes environments and fills them: uv where it is installed, since
// it takes seconds, else what Python brings along.
type installer interface {
	name() string
	// fetchesPython is true if create takes a version, as ">=3.10", for base.
	fetchesPython() bool
	create(ctx context.Context, base, directory string) error
	// install installs what the arguments ask for, as pip's install takes them,
	// and tells each line of the tool's output.
	install(ctx context.Context, directory string, arguments []string, told func(line string)) error
}

func chooseInstaller() installer {
	if path, err := exec.LookPath("uv"); err == nil {
		return uv{path}
	}
	return pip{}
}

type uv struct{ path string }

func (uv) name() string        { return "uv" }
func (uv) fetchesPython() bool { return true }

func (u uv) create(ctx context.Context, base, directory string) error {
	// --seed adds pip, for users who want further packages.
	return runTool(ctx, nil, filepath.Dir(directory), u.path, "venv", "--seed", "--python", base, directory)
}

func (u uv) install(ctx context.Context, directory string, arguments []string, told func(line string)) error {
	// Compiled now, the libraries need not be when the first session imports them.
	install := []string{"pip", "install", "--compile-bytecode", "--python", interpreter(directory)}
	return runTool(ctx, told, directory, u.path, append(install, arguments...)...)
}

type pip struct{}

func (pip) name() string        { return "pip" }
func (pip) fetchesPython() bool { return false }

func (pip) create(ctx context.Context, base, directory string) error {
	err := runTool(ctx, nil, filepath.Dir(directory), base, "-m", "venv", directory)
	if err != nil && strings.Contains(err.Error(), "ensurepip") {
		return fmt.Errorf("%w\nThis Python lacks venv; on Debian and Ubuntu install the package python3-venv, or install uv", err)
	}
	return err
}

func (pip) install(ctx context.Context, directory string, arguments []string, told func(line string)) error {
	install := []string{"-m", "pip", "install", "--disable-pip-version-check", "--no-input", "--progress-bar", "off"}
	return runTool(ctx, told, directory, interpreter(directory), append(install, arguments...)...)
}

// runTool runs a program and tells each line of its output; nil: nobody is told.
// Its last lines are its error.
func runTool(ctx context.Context, told func(line string), directory, path string, args ...string) error {
	output := &lines{told: told}
	command := exec.CommandContext(ctx, path, args...)
	command.Dir = directory
	command.Env = toolEnv(os.Environ())
	command.Stdout, command.Stderr = output, output
	command.Cancel = func() error { return interrupt(command.Process) }
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

// joinRemove removes a file on the way out with err.
func joinRemove(err error, path string) error {
	return errors.Join(err, os.Remove(path))
}
