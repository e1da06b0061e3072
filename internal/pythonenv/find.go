package pythonenv

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// Options say where to look for Python.
type Options struct {
	// Python is the one that the user asked for, a path or a name on PATH;
	// "" leaves the choice to Find.
	Python string
	// DataDir is the directory in which Prepare makes its environment.
	DataDir string
	// Project is a directory of the user's: an environment of the project that it is in
	// comes before the prepared one. "" looks for none.
	Project string
	// Refusal says in a clause why no such environment may be run, nor any other Python
	// that is in one of the Writable directories or is reached through a link there; ""
	// allows them.
	Refusal string
	// Writable are the directories in which code that runs behind a sandbox may write.
	Writable []string
}

// Python is an interpreter that was run and can be used.
type Python struct {
	Path    string `json:"path"`
	Version string `json:"version"` // as "3.11.7"
	Why     string `json:"why"`     // why this one was taken
	// Environment is the directory of the virtual or conda environment that it is of, if
	// one was looked for.
	Environment string `json:"environment,omitempty"`
	// Project says that the environment is of the user's project.
	Project bool `json:"project,omitempty"`
}

// Passed is a candidate that was not taken.
type Passed struct {
	Path   string `json:"path"`
	Why    string `json:"why"`    // why it was a candidate
	Reason string `json:"reason"` // why it was not taken
	// Usual is true for those that nobody expects to be taken, as conda's base.
	Usual bool `json:"-"`
}

func (p Passed) String() string { return fmt.Sprintf("%s (%s): %s", p.Path, p.Why, p.Reason) }

// Found is the Python that Find chose, and those it passed over before.
type Found struct {
	Python
	Passed []Passed `json:"passed,omitempty"`
}

// Oldest is the oldest version that workers run on.
const Oldest = "3.10"

// The reasons to look for a Python somewhere.
const (
	whyVenv  = "active virtual environment"
	whyConda = "active conda environment"
	whySetup = "made by understudy setup"
	whyPath  = "on PATH"
)

// candidate is a Python that may be there. One that reason speaks against is
// not run at all.
type candidate struct {
	path, why, reason string
	environment       string // its directory, if it is of one
	project, usual    bool   // as in Python and Passed
}

// FromSetup reports whether the Python is that of the environment that Prepare
// makes.
func (p Python) FromSetup() bool { return p.Why == whySetup }

// Find returns the first usable Python: the one asked for, else of the active
// environment, else of the project's, else of the prepared one, else on PATH.
func Find(ctx context.Context, options Options) (*Found, error) {
	if options.Python != "" {
		return Named(ctx, "--python", options.Python)
	}
	candidates := slices.Concat(active(), projects(options), prepared(options.DataDir), onPath())
	for i := range candidates {
		if c := &candidates[i]; c.reason == "" && options.Refusal != "" && passesThrough(c.path, options.Writable) {
			c.reason, c.usual = options.Refusal, false
		}
	}
	return firstUsable(ctx, candidates)
}

// OfProject returns the Python of the project's environment, and no other. The error is a
// *NotFoundError if there is none that can be used.
func OfProject(ctx context.Context, options Options) (*Found, error) {
	return firstUsable(ctx, projects(options))
}

// OfSetup returns the Python of the prepared environment, and no other. The error is a
// *NotFoundError if it can't be used.
func OfSetup(ctx context.Context, dataDir string) (*Found, error) {
	return firstUsable(ctx, prepared(dataDir))
}

// Named returns the Python of a path, or of a name on PATH, or none: to fall back on
// another would run code where nobody expects it. setting is where it was named.
func Named(ctx context.Context, setting, name string) (*Found, error) {
	path, err := exec.LookPath(name)
	if err != nil && !errors.Is(err, exec.ErrDot) {
		return nil, fmt.Errorf("%s %s: %w", setting, name, errors.Unwrap(err))
	}
	probe, err := run(ctx, path)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", setting, name, err)
	}
	if path, err = filepath.Abs(path); err != nil {
		return nil, fmt.Errorf("%s %s: %w", setting, name, err)
	}
	// The path stays as it was given, not sys.executable: it may be a wrapper
	// that the user wants to be run.
	return &Found{Python: Python{Path: path, Version: probe.version, Why: "asked for with " + setting}}, nil
}

func firstUsable(ctx context.Context, candidates []candidate) (*Found, error) {
	found := &Found{}
	for _, c := range candidates {
		if c.reason == "" {
			c.reason = gone(c.path)
		}
		if c.reason == "" {
			probe, err := run(ctx, c.path)
			if err == nil {
				found.Python = Python{
					Path: probe.executable, Version: probe.version, Why: c.why, Environment: c.environment, Project: c.project,
				}
				return found, nil
			}
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			c.reason = err.Error()
		}
		found.Passed = append(found.Passed, Passed{Path: c.path, Why: c.why, Reason: c.reason, Usual: c.usual})
	}
	return nil, &NotFoundError{Passed: found.Passed}
}

// NotFoundError says that no usable Python is there.
type NotFoundError struct{ Passed []Passed }

func (e *NotFoundError) Error() string {
	var text strings.Builder
	fmt.Fprintf(&text, "no Python %s or newer was found; install one, or name it with --python", Oldest)
	for _, passed := range e.Passed {
		fmt.Fprintf(&text, "\n  passed over: %s", passed)
	}
	return text.String()
}

// active lists the environments that are active where this process was started.
func active() []candidate {
	var list []candidate
	if prefix := os.Getenv("VIRTUAL_ENV"); prefix != "" {
		list = append(list, candidate{path: interpreter(prefix), why: whyVenv, environment: prefix})
	}
	if prefix := os.Getenv("CONDA_PREFIX"); prefix != "" {
		list = append(list, conda(prefix, os.Getenv("CONDA_DEFAULT_ENV")))
	}
	return list
}

// conda passes over the base environment: conda activates it in every shell,
// so that it is active says nothing of what the user wants.
func conda(prefix, name string) candidate {
	c := candidate{path: condaInterpreter(prefix), why: whyConda, environment: prefix}
	if name == "base" {
		c.usual = true
		c.reason = "conda's base environment is active in every shell; name it with --python to use it"
	}
	return c
}

func prepared(dataDir string) []candidate {
	directory := environmentDir(dataDir)
	if dataDir == "" || !exists(directory) {
		return nil
	}
	c := candidate{path: interpreter(directory), why: whySetup, environment: directory}
	if _, err := readStamp(directory); err != nil {
		c.reason = "it is not complete; run understudy setup again"
	}
	return []candidate{c}
}

// onPath lists what PATH has, python3 first. The versioned names help where
// python3 is an old one that the system needs.
func onPath() []candidate {
	var list []candidate
	for _, name := range []string{"python3", "python", "python3.14", "python3.13", "python3.12", "python3.11", "python3.10"} {
		if path, err := exec.LookPath(name); err == nil {
			list = append(list, candidate{path: path, why: whyPath, usual: true})
		}
	}
	return list
}

// interpreter is the path of Python in a virtual environment.
func interpreter(directory string) string {
	if runtime.GOOS == "windows" {
		return filepath.Join(directory, "Scripts", "python.exe")
	}
	return filepath.Join(directory, "bin", "python")
}
