package pythonenv

import (
	"bytes"
	"context"
	"fmt"
	"io"
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
	// --seed adds pip, for users who want further packages.
	tool, words := i.uv, []string{"venv", "--seed", "--python", base, directory}
	if i.uv == "" {
		tool, words = base, []string{"-m", "venv", directory}
	}
	var said bytes.Buffer
	err := runTool(ctx, &said, filepath.Dir(directory), tool, words)
	if err == nil {
		return nil
	}
	err = fmt.Errorf("%w\n%s", err, bytes.TrimSpace(said.Bytes()))
	if i.uv == "" && (strings.Contains(said.String(), "ensurepip") || strings.Contains(said.String(), "No module named venv")) {
		err = fmt.Errorf("%w\nThis Python lacks venv; on Debian and Ubuntu install the package python3-venv, or install uv", err)
	}
	return err
}

// install installs what the arguments ask for, as pip's install takes them. What the tool
// says goes to progress, on a terminal with a picture of how far it is.
func (i installer) install(ctx context.Context, directory string, arguments []string, progress io.Writer) error {
	tool := interpreter(directory)
	words := []string{"-m", "pip", "install", "--disable-pip-version-check", "--no-input"}
	if i.uv != "" {
		// Compiled now, the libraries need not be when the first session imports them.
		words, tool = []string{"pip", "install", "--compile-bytecode", "--python", tool}, i.uv
	}
	return runTool(ctx, progress, directory, tool, append(words, arguments...))
}

// runTool runs a program whose output goes to out.
func runTool(ctx context.Context, out io.Writer, directory, path string, args []string) error {
	command := exec.CommandContext(ctx, path, args...)
	command.Dir = directory
	command.Env = append(cleanEnv(os.Environ()), "PYTHONUNBUFFERED=1", "PYTHONDONTWRITEBYTECODE=")
	command.Stdout, command.Stderr = out, out
	command.Cancel = func() error {
		if runtime.GOOS == "windows" { // which has no such signal
			return command.Process.Kill()
		}
		return command.Process.Signal(syscall.SIGTERM) // it cleans up
	}
	command.WaitDelay = 10 * time.Second
	err := command.Run()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return fmt.Errorf("%s %s: %w", filepath.Base(path), args[0], err)
	}
	return nil
}
