package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"understudy/internal/app"
	"understudy/internal/config"
	"understudy/internal/pythonenv"
)

// state says how a check ended.
type state string

const (
	stateOK      state = "ok"
	stateNote    state = "note"    // works, with a limit worth knowing
	stateMissing state = "missing" // something optional is not there
	stateFailed  state = "failed"  // the main job does not work
)

// check is one line of the doctor's findings.
type check struct {
	Group  group  `json:"group"`
	Name   string `json:"name"`
	State  state  `json:"state"`
	Detail string `json:"detail"`
}

// findings are all lines.
type findings struct {
	Works  bool    `json:"works"`
	Checks []check `json:"checks"`
}

// errUnfit is the doctor's error when the main job does not work here.
var errUnfit = errors.New("the main job does not work here: see what failed above")

// Doctor is the command doctor: it tries what the server does, says what works
// and what does not, and returns an error when the main job can't.
func Doctor(ctx context.Context, c *config.Config, out io.Writer) error {
	found := examine(ctx, c)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err := found.print(out, c.Doctor.JSON); err != nil {
		return err
	}
	if !found.Works {
		return errUnfit
	}
	return nil
}

// group is a heading of the table.
type group string

// The headings, in the order of the table.
const (
	groupProject   group = "Project"
	groupPython    group = "Python"
	groupLibraries group = "Libraries"
	groupGuards    group = "Guard rails"
	groupServers   group = "Tools of other servers"
	groupSandbox   group = "Sandbox"
	groupSystem    group = "System"
)

var groups = []group{groupProject, groupPython, groupLibraries, groupGuards, groupServers, groupSandbox, groupSystem}

func (f *findings) add(g group, name string, s state, format string, args ...any) {
	f.Checks = append(f.Checks, check{g, name, s, fmt.Sprintf(format, args...)})
	if s == stateFailed {
		f.Works = false
	}
}

// settingsChecks look at the settings alone; one without a state has nothing to say.
var settingsChecks = []struct {
	group group
	name  string
	look  func(*config.Config) (state, string)
}{
	{groupProject, "directory", checkDirectory},
	{groupGuards, "mode", checkMode},
	{groupGuards, "plugins", checkPlugins},
	{groupGuards, "configuration", checkIgnored},
	{groupSandbox, "HTTP and SSE", checkSandboxOver(config.TransportHTTP)},
	{groupSandbox, "stdio", checkSandboxOver(config.TransportStdio)},
	{groupSandbox, "home directory", checkSharedHome},
	{groupSandbox, "secrets", checkSecrets},
	{groupSystem, "start", checkStart},
	{groupSystem, "journal", checkJournal},
	{groupSystem, "open files", checkOpenFiles},
	{groupSystem, "traces", checkTraces},
}

func examine(ctx context.Context, c *config.Config) *findings {
	f := &findings{Works: true}
	dataDirWorks := f.dataDir(c.DataDir)
	if python := f.python(ctx, c); python != nil {
		f.pythons(ctx, c, python)
		f.libraries(ctx, c, python)
		wall, fits := f.sandbox(ctx, c, python)
		if dataDirWorks && fits { // workers run files that are kept there
			f.worker(ctx, c, python, wall)
		}
		f.policy(ctx, c, python)
	}
	f.upstream(ctx, c)
	for _, check := range settingsChecks {
		if s, detail := check.look(c); s != "" {
			f.add(check.group, check.name, s, "%s", detail)
		}
	}
	return f
}

func (f *findings) python(ctx context.Context, c *config.Config) *pythonenv.Found {
	found, err := app.FindPython(ctx, c)
	if err != nil {
		f.add(groupPython, "interpreter", stateFailed, "%v", err)
		return nil
	}
	f.add(groupPython, "interpreter", stateOK, "%s (%s), %s", found.Path, found.Version, found.Why)
	for _, passed := range found.Passed {
		f.add(groupPython, "passed over", stateNote, "%s", passed)
	}
	return found
}

// pythons says which Pythons interpreters can be made with, beside the usual one.
func (f *findings) pythons(ctx context.Context, c *config.Config, usual *pythonenv.Found) {
	for _, name := range append([]string{config.PythonOwn}, slices.Sorted(maps.Keys(c.Serve.NamedPythons()))...) {
		found, err := app.FindNamed(ctx, c, name, "")
		switch {
		case err != nil && name == config.PythonOwn: // "versions" tells of setup
		case err != nil:
			f.add(groupPython, name, stateMissing, "%v", err)
		case found.Path != usual.Path:
			f.add(groupPython, name, stateOK, "%s (%s), for interpreters made with python %q", found.Path, found.Version, name)
		}
	}
}

func (f *findings) libraries(ctx context.Context, c *config.Config, python *pythonenv.Found) {
	versions, err := pythonenv.Versions(ctx, python.Path)
	if err != nil {
		f.add(groupLibraries, "all", stateFailed, "%v", err)
		return
	}
	var batteries, missing []string
	for _, p := range pythonenv.Packages {
		version, ok := versions[p.Name]
		switch {
		case p.Battery && ok:
			batteries = append(batteries, p.Name+" "+version)
		case p.Battery:
			missing = append(missing, p.Name)
		case ok:
			f.add(groupLibraries, p.Name, stateOK, "%s", version)
		default:
			f.add(groupLibraries, p.Name, stateMissing, "%s", p.Without)
		}
	}
	if len(batteries) > 0 {
		f.add(groupLibraries, "more", stateOK, "%s", strings.Join(batteries, ", "))
	}
	if len(missing) > 0 {
		f.add(groupLibraries, "more", stateMissing, "%s", strings.Join(missing, ", "))
	}
	f.howToInstall(c, python, len(versions) < len(pythonenv.Packages))
}

// howToInstall says how the libraries get better.
func (f *findings) howToInstall(c *config.Config, python *pythonenv.Found, lacks bool) {
	lock, err := requirements()
	current, whole := pythonenv.Installed(c.DataDir, lock)
	switch {
	case err != nil:
		f.add(groupLibraries, "versions", stateFailed, "%v", err)
	case python.FromSetup() && !current:
		f.add(groupLibraries, "versions", stateNote, "of an older understudy; \"understudy setup\" brings them up to date")
	case !lacks:
	case !python.FromSetup() && current && whole:
		f.add(groupLibraries, "versions", stateNote, "the environment that setup made has them: agents can create an interpreter with python \"own\"; or install them into this one")
	case !python.FromSetup():
		f.add(groupLibraries, "versions", stateNote, "\"understudy setup\" makes an environment with all of them")
	case !whole:
		f.add(groupLibraries, "versions", stateNote, "\"understudy setup\" adds what is missing (--minimal has left it out)")
	default:
		f.add(groupLibraries, "versions", stateNote, "what is missing was removed after setup; \"%s -m pip install NAME\" brings it back", python.Path)
	}
}

// dataDir reports whether the server can keep its files.
func (f *findings) dataDir(path string) bool {
	if err := tryWriting(path); err != nil {
		f.add(groupSystem, "data directory", stateFailed, "%v; choose another with --data-dir", err)
		return false
	}
	f.add(groupSystem, "data directory", stateOK, "%s", path)
	return true
}

func tryWriting(directory string) error {
	if err := os.MkdirAll(directory, 0o755); err != nil {
		return err
	}
	file, err := os.CreateTemp(directory, "doctor-*")
	if err != nil {
		return err
	}
	_, err = file.WriteString("written by understudy doctor\n")
	return errors.Join(err, file.Close(), os.Remove(file.Name()))
}

func (f *findings) print(out io.Writer, asJSON bool) error {
	if asJSON {
		encoder := json.NewEncoder(out)
		encoder.SetIndent("", "  ")
		return encoder.Encode(f)
	}
	var text strings.Builder
	for _, g := range groups {
		if g == groupServers && !slices.ContainsFunc(f.Checks, func(c check) bool { return c.Group == g }) {
			continue // nobody has asked for them
		}
		fmt.Fprintln(&text, g)
		for _, check := range f.Checks {
			if check.Group == g {
				fmt.Fprintf(&text, "  %-8s %-15s %s\n", check.State, check.Name, check.Detail)
			}
		}
	}
	_, err := io.WriteString(out, text.String())
	return err
}
