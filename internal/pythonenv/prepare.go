package pythonenv

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"github.com/gofrs/flock"
)

// PrepareOptions say what to prepare, and from what.
type PrepareOptions struct {
	// DataDir is where the environment is made, in its directory "python".
	DataDir string
	// Python is the base that the user asked for; "" means one from PATH.
	Python string
	// Lock holds the pinned requirements.
	Lock []byte
	// Only names the libraries of Lock to install, with what they need; nil: all.
	// An environment that has more keeps it.
	Only []string
	// Progress takes lines for the user, those of the installer among them.
	Progress io.Writer
}

// Prepared is the environment that Prepare leaves.
type Prepared struct {
	Python
	// Directory is where the environment is.
	Directory string
	// Changed is false when everything was there already.
	Changed bool
	// Whole is true if all of the lock is installed, not only some of it.
	Whole bool
}

// Prepare makes the environment, or brings it up to date. Two at once wait for
// each other; one that was killed half-way is repaired by the next.
func Prepare(ctx context.Context, options PrepareOptions) (*Prepared, error) {
	if err := os.MkdirAll(options.DataDir, 0o755); err != nil {
		return nil, fmt.Errorf("making the data directory: %w", err)
	}
	unlock, err := lockSetup(ctx, filepath.Join(options.DataDir, "python.lock"), options.Progress)
	if err != nil {
		return nil, err
	}
	defer unlock()
	m := &maker{PrepareOptions: options, directory: environmentDir(options.DataDir)}
	return m.prepare(ctx)
}

// lockSetup waits until no other setup works on the environment. The system
// lets the lock go when its holder dies. The file stays: to remove it would
// let a third process lock a new one while a second holds the old.
func lockSetup(ctx context.Context, path string, progress io.Writer) (unlock func(), err error) {
	const poll = 200 * time.Millisecond
	lock := flock.New(path)
	locked, err := lock.TryLock()
	if err == nil && !locked {
		fmt.Fprintln(progress, "Another setup is under way; waiting for it to end")
		_, err = lock.TryLockContext(ctx, poll)
	}
	if err != nil {
		return nil, fmt.Errorf("locking the Python environment (%s): %w", path, err)
	}
	return func() { _ = lock.Unlock() }, nil
}

// maker makes one environment.
type maker struct {
	PrepareOptions
	directory string
	tool      installer
}

// tell writes a line for the user.
func (m *maker) tell(format string, args ...any) {
	fmt.Fprintf(m.Progress, format+"\n", args...)
}

func (m *maker) prepare(ctx context.Context) (*Prepared, error) {
	current, present := m.inspect(ctx)
	wanted := &stamp{Lock: hashLock(m.Lock), Only: m.Only}
	if current != nil && current.has(wanted) {
		return m.prepared(ctx, current, false)
	}
	m.tool = chooseInstaller()
	if current != nil {
		wanted.Python = current.Python
		m.tell("Bringing the Python environment in %s up to date", m.directory)
	} else if err := m.create(ctx, wanted, present); err != nil {
		return nil, err
	}
	if err := m.install(ctx, wanted); err != nil {
		return nil, err
	}
	m.tryPackages(ctx)
	return m.prepared(ctx, wanted, true)
}

// inspect returns the stamp of the environment if it is complete, runs, and
// was made from the base that is asked for; and whether the directory exists.
func (m *maker) inspect(ctx context.Context) (*stamp, bool) {
	if _, err := os.Lstat(m.directory); err != nil {
		return nil, false
	}
	current, err := readStamp(m.directory)
	if err != nil {
		return nil, true
	}
	probe, err := run(ctx, interpreter(m.directory))
	if err != nil || minor(probe.version) != current.Python || !m.isBase(ctx, probe.base) {
		return nil, true
	}
	return current, true
}

// isBase reports whether base is the Python that is asked for. An asked one
// that does not run is no base; create will report why.
func (m *maker) isBase(ctx context.Context, base string) bool {
	if m.Python == "" {
		return true
	}
	path, err := m.base(ctx)
	if err != nil {
		return false
	}
	asked, err := run(ctx, path)
	return err == nil && sameFile(asked.base, base)
}

func sameFile(a, b string) bool {
	infoA, errA := os.Stat(a)
	infoB, errB := os.Stat(b)
	return errA == nil && errB == nil && os.SameFile(infoA, infoB)
}

// create makes an empty environment, in place of what is there.
func (m *maker) create(ctx context.Context, wanted *stamp, present bool) error {
	base, err := m.base(ctx)
	if err != nil {
		return err
	}
	if present {
		m.tell("Replacing the Python environment in %s, which is incomplete or of another Python", m.directory)
		if err := m.remove(); err != nil {
			return err
		}
	}
	m.tell("Making a Python environment in %s with %s", m.directory, base)
	if err := m.tool.create(ctx, base, m.directory); err != nil {
		return fmt.Errorf("making a Python environment in %s: %w", m.directory, err)
	}
	probe, err := run(ctx, interpreter(m.directory))
	if err != nil {
		return fmt.Errorf("the new Python environment in %s can't be used: %w", m.directory, err)
	}
	wanted.Python = minor(probe.version)
	return nil
}

// remove deletes the environment. It refuses a directory that no one made as
// an environment, so that nobody's files in a misnamed --data-dir are lost.
func (m *maker) remove() error {
	if !isEnvironment(m.directory) {
		return fmt.Errorf("%s is in the way: it is not a Python environment; move it, or choose another --data-dir", m.directory)
	}
	if err := os.RemoveAll(m.directory); err != nil {
		return fmt.Errorf("removing the old Python environment: %w", err)
	}
	return nil
}

// isEnvironment reports whether a directory may be replaced: an environment,
// the beginnings of one, or nothing.
func isEnvironment(directory string) bool {
	for _, name := range []string{"pyvenv.cfg", unfinished, filepath.Base(stampFile(directory))} {
		if _, err := os.Lstat(filepath.Join(directory, name)); err == nil {
			return true
		}
	}
	entries, err := os.ReadDir(directory)
	return err == nil && len(entries) == 0
}

// base returns the Python to make the environment from; with uv it may be a
// version for uv to fetch.
func (m *maker) base(ctx context.Context) (string, error) {
	if m.Python != "" {
		asked, err := Named(ctx, "--python", m.Python)
		if err != nil {
			return "", err
		}
		return asked.Path, nil
	}
	found, err := firstUsable(ctx, onPath())
	if err == nil {
		return found.Path, nil
	}
	if m.tool.uv != "" && ctx.Err() == nil {
		return ">=" + Oldest, nil
	}
	return "", err
}

// install installs the lock. When it fails, a complete environment stays valid
// as it was: both installers fetch everything before they change anything.
func (m *maker) install(ctx context.Context, wanted *stamp) error {
	mark := filepath.Join(m.directory, unfinished)
	if err := os.WriteFile(mark, nil, 0o644); err != nil {
		return err
	}
	lock := filepath.Join(m.directory, "requirements.lock")
	if err := os.WriteFile(lock, m.Lock, 0o644); err != nil {
		return err
	}
	arguments := []string{"--requirement", lock}
	if m.Only != nil {
		arguments = append([]string{"--constraint", lock}, m.Only...)
	}
	m.tell("Getting the libraries with %s; this takes a minute or a few", m.tool.name())
	if err := m.tool.install(ctx, m.directory, arguments, m.Progress); err != nil {
		if ctx.Err() == nil {
			err = errors.Join(err, os.Remove(mark))
		}
		return fmt.Errorf("installing the libraries: %w", err)
	}
	if err := wanted.write(m.directory); err != nil {
		return fmt.Errorf("finishing the Python environment: %w", err)
	}
	return os.Remove(mark)
}

// importCode imports one module, as its first use in a session would.
const importCode = "import importlib, sys; importlib.import_module(sys.argv[1])"

// tryPackages imports every library that was asked for once: to tell the user now
// of one that can't be loaded here, and to have matplotlib build its font cache,
// which would take seconds of somebody's first plot. Each has a process of its own,
// since one that needs a newer processor ends its process.
func (m *maker) tryPackages(ctx context.Context) {
	m.tell("Checking that they can be imported")
	for _, p := range Packages {
		if m.Only != nil && !slices.Contains(m.Only, p.Name) {
			continue
		}
		command := exec.CommandContext(ctx, interpreter(m.directory), "-c", importCode, p.Module)
		command.Env = append(cleanEnv(os.Environ()), "MPLBACKEND=agg")
		command.Dir = m.directory
		if output, err := command.CombinedOutput(); err != nil && ctx.Err() == nil {
			m.tell("Warning: %s is installed but can't be imported%s (%s)", p.Name, because(string(output)), p.Without)
		}
	}
}

func (m *maker) prepared(ctx context.Context, present *stamp, changed bool) (*Prepared, error) {
	probe, err := run(ctx, interpreter(m.directory))
	if err != nil {
		return nil, fmt.Errorf("the Python environment in %s: %w", m.directory, err)
	}
	return &Prepared{
		Python:    Python{Path: interpreter(m.directory), Version: probe.version, Why: whySetup},
		Directory: m.directory,
		Changed:   changed,
		Whole:     present.Only == nil,
	}, nil
}

// Installed reports whether what the environment below dataDir holds is of the
// versions of lock, and whether it is all of it.
func Installed(dataDir string, lock []byte) (current, whole bool) {
	s, err := readStamp(environmentDir(dataDir))
	return err == nil && s.Lock == hashLock(lock), err == nil && s.Only == nil
}
