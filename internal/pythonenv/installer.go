package pythonenv

import (
	"context"
	"errors"
	"fmt"
	"io"
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
	create(ctx context.Context, base, directory string, progress io.Writer) error
	install(ctx context.Context, directory, lock string, progress io.Writer) error
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

func (u uv) create(ctx context.Context, base, directory string, progress io.Writer) error {
	// --seed adds pip, for users who want further packages.
	return runTool(ctx, progress, filepath.Dir(directory), u.path, "venv", "--seed", "--python", base, directory)
}

func (u uv) install(ctx context.Context, directory, lock string, progress io.Writer) error {
	// Compiled now, the libraries need not be when the first session imports them.
	return runTool(ctx, progress, directory, u.path, "pip", "install", "--compile-bytecode",
		"--python", interpreter(directory), "--requirement", lock)
}

type pip struct{}

func (pip) name() string        { return "pip" }
func (pip) fetchesPython() bool { return false }

func (pip) create(ctx context.Context, base, directory string, progress io.Writer) error {
	err := runTool(ctx, progress, filepath.Dir(directory), base, "-m", "venv", directory)
	if err != nil && strings.Contains(err.Error(), "ensurepip") {
		return fmt.Errorf("%w\nThis Python lacks venv; on Debian and Ubuntu install the package python3-venv, or install uv", err)
	}
	return err
}

func (pip) install(ctx context.Context, directory, lock string, progress io.Writer) error {
	return runTool(ctx, &withoutNoise{progress}, directory, interpreter(directory), "-m", "pip", "install",
		"--disable-pip-version-check", "--no-input", "--progress-bar", "off", "--requirement", lock)
}

// withoutNoise drops lines of pip's that tell a user nothing: the requirements
// of other systems, and the addresses of indexes, which may hold passwords.
type withoutNoise struct{ to io.Writer }

func (w *withoutNoise) Write(line []byte) (int, error) {
	text := strings.TrimSpace(string(line))
	for _, noise := range []string{"Ignoring ", "Looking in ", "Requirement already satisfied: ", "Successfully installed "} {
		if strings.HasPrefix(text, noise) {
			return len(line), nil
		}
	}
	return w.to.Write(line)
}

// runTool runs a program whose lines are shown as progress; its last ones are
// its error.
func runTool(ctx context.Context, progress io.Writer, directory, path string, args ...string) error {
	output := &lines{to: progress}
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

// lines passes on whole lines, indented, and keeps the last.
type lines struct {
	to      io.Writer
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
	fmt.Fprintf(l.to, "  %s\n", line)
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

// importCode imports one module, as its first use in a session would.
const importCode = "import importlib, sys; importlib.import_module(sys.argv[1])"

// tryPackages imports every library once: to tell the user now of one that
// can't be loaded here, and to have matplotlib build its font cache, which
// would take seconds of somebody's first plot.
func (m *maker) tryPackages(ctx context.Context) {
	m.say("Checking the libraries")
	for _, p := range Packages {
		module := p.Module
		if module == "matplotlib" {
			module = "matplotlib.pyplot"
		}
		command := exec.CommandContext(ctx, interpreter(m.directory), "-c", importCode, module)
		command.Env = append(cleanEnv(os.Environ()), "MPLBACKEND=agg")
		command.Dir = m.directory
		if output, err := command.CombinedOutput(); err != nil && ctx.Err() == nil {
			m.say("Warning: %s is installed but can't be imported%s (%s)", p.Name, because(string(output)), p.Without)
		}
	}
}
