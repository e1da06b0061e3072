package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"understudy/internal/config"
	"understudy/internal/pythonenv"
)

// pinned are the packages that understudy is compared with.
var pinned = []string{"ipykernel==7.4.0", "jupyter_client==8.10.0"}

const (
	environmentDir = "build/bench-env"
	binaryPath     = "build/understudy-bench"
	// pythonVariable names the environment variable that chooses the Python
	// whose scientific libraries both sides use.
	pythonVariable = "UNDERSTUDY_BENCH_PYTHON"
)

// bench is what the sections share.
type bench struct {
	options
	binary string // understudy, just built
	python string // the one that both sides run
	source string // the one that environments are made from
	dir    string // for everything that a run writes, removed at its end
	report *report
}

func (b *bench) close() {
	if err := os.RemoveAll(b.dir); err != nil {
		progress("can't remove %s: %v", b.dir, err)
	}
}

// prepare builds understudy and makes the environment; nothing is measured yet.
func prepare(ctx context.Context, o options) (*bench, error) {
	if err := enterRoot(); err != nil {
		return nil, err
	}
	b := &bench{options: o}
	var err error
	if b.binary, err = build(ctx); err != nil {
		return nil, err
	}
	if b.source, err = sourcePython(ctx); err != nil {
		return nil, err
	}
	clearVariables()
	if b.python, err = makeEnvironment(ctx, b.source, environmentDir, pinned); err != nil {
		return nil, err
	}
	if b.dir, err = os.MkdirTemp("", "bench-"); err != nil {
		return nil, err
	}
	if b.report, err = newReport(ctx, b); err != nil {
		b.close()
		return nil, err
	}
	return b, nil
}

// enterRoot goes to the repository's root, which all paths are relative to.
func enterRoot() error {
	for {
		dir, err := os.Getwd()
		if err != nil {
			return err
		}
		if _, err := os.Stat("go.mod"); err == nil {
			return nil
		}
		if filepath.Dir(dir) == dir {
			return errors.New("no go.mod here or above: run this inside the repository")
		}
		if err := os.Chdir(".."); err != nil {
			return err
		}
	}
}

func build(ctx context.Context) (string, error) {
	progress("building understudy")
	path, err := filepath.Abs(binaryPath)
	if err != nil {
		return "", err
	}
	if runtime.GOOS == "windows" {
		path += ".exe"
	}
	_, err = output(ctx, "go", "build", "-trimpath", "-o", path, ".")
	return path, err
}

// sourcePython returns the Python with the scientific libraries: the one that
// the variable names, else the one that understudy itself would use here.
func sourcePython(ctx context.Context) (string, error) {
	if path := os.Getenv(pythonVariable); path != "" {
		return path, nil
	}
	c, err := config.Parse(config.Source{Args: []string{"doctor"}})
	if err != nil {
		return "", err
	}
	found, err := pythonenv.Find(ctx, pythonenv.Options{Python: c.Python, DataDir: c.DataDir})
	if err != nil {
		return "", err
	}
	return found.Path, nil
}

// clearVariables takes away the settings that would change what is measured:
// Python's own (unbuffered output above all), matplotlib's and ours.
func clearVariables() {
	for _, entry := range os.Environ() {
		name, _, _ := strings.Cut(entry, "=")
		for _, prefix := range []string{"PYTHON", "UNDERSTUDY_", "MPL", "JUPYTER_", "IPYTHON"} {
			if strings.HasPrefix(name, prefix) {
				_ = os.Unsetenv(name) // fails only for names that can't be set either
			}
		}
	}
}

// makeEnvironment makes a virtual environment in place from source's Python,
// with the packages in it and source's libraries visible, and returns its
// Python. It does nothing when that is there.
func makeEnvironment(ctx context.Context, source, place string, packages []string) (string, error) {
	dir, err := filepath.Abs(place)
	if err != nil {
		return "", err
	}
	python := filepath.Join(dir, "bin", "python")
	if runtime.GOOS == "windows" {
		python = filepath.Join(dir, "Scripts", "python.exe")
	}
	libraries, err := output(ctx, source, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))")
	if err != nil {
		return "", fmt.Errorf("asking %s for its libraries: %w", source, err)
	}
	stamp := filepath.Join(dir, "made-by-bench")
	want := strings.Join(append([]string{source, libraries}, packages...), "\n")
	if have, err := os.ReadFile(stamp); err == nil && string(have) == want {
		return python, nil
	}
	progress("installing %s into %s", strings.Join(packages, ", "), place)
	if err := fillEnvironment(ctx, source, dir, python, libraries, packages); err != nil {
		return "", err
	}
	return python, os.WriteFile(stamp, []byte(want), 0o644)
}

func fillEnvironment(ctx context.Context, source, dir, python, libraries string, packages []string) error {
	if _, err := output(ctx, source, "-m", "venv", "--clear", dir); err != nil {
		return err
	}
	own, err := output(ctx, python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))")
	if err != nil {
		return err
	}
	// Before pip runs, so that it settles on the versions that are there.
	if err := os.WriteFile(filepath.Join(own, "libraries.pth"), []byte(libraries+"\n"), 0o644); err != nil {
		return err
	}
	_, err = output(ctx, python, append([]string{"-m", "pip", "install", "--quiet", "--disable-pip-version-check"}, packages...)...)
	return err
}

// output runs a command to its end and returns what it printed, trimmed; its
// error holds what it said on standard error.
func output(ctx context.Context, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	said := &tail{}
	cmd.Stderr = said
	text, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w%s", filepath.Base(name), args[0], err, said)
	}
	return strings.TrimSpace(string(text)), nil
}
