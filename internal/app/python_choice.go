package app

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"understudy/internal/config"
	"understudy/internal/pythonenv"
	"understudy/internal/worker"
)

// inSandbox is why the environment of a project, or another Python where code may write, is
// not run by itself where there is a sandbox: code in an earlier one could have put it
// there, and the server runs it outside.
const inSandbox = "with a sandbox code could have changed it, and the server runs it outside; name it with --python to use it"

// FindPython finds the Python that a server with these settings usually runs.
func FindPython(ctx context.Context, c *config.Config) (*pythonenv.Found, error) {
	project, _ := WorkingDirectory(c)
	return pythonenv.Find(ctx, pythonOptions(c, project))
}

// pythonOptions say where Python is looked for by a server that works in the project of a
// directory. Its environment is code of the project's: only a server over stdio, which its
// user has started there, looks for one.
func pythonOptions(c *config.Config, project string) pythonenv.Options {
	o := pythonenv.Options{Python: c.Python, DataDir: c.DataDir}
	if c.Serve.SandboxMode() != config.SandboxOff {
		o.Refusal, o.Writable = inSandbox, openToCode(c, project)
	}
	if !c.Serve.OverNetwork() {
		o.Project = project
	}
	return o
}

// openToCode are the directories that the operator lets code write to, of a server that works
// in the project.
func openToCode(c *config.Config, project string) []string {
	places := append([]string{project, c.Serve.Workdir, c.Serve.Workspace}, c.Serve.Write...)
	return slices.DeleteFunc(places, func(path string) bool { return path == "" })
}

// FindNamed finds the Python of a name, "" for the usual one, for who works in the project
// of a directory.
func FindNamed(ctx context.Context, c *config.Config, name, project string) (*pythonenv.Found, error) {
	switch path, listed := c.Serve.NamedPythons()[name]; {
	case name == "":
		return pythonenv.Find(ctx, pythonOptions(c, project))
	case listed:
		return pythonenv.Named(ctx, "--pythons", path)
	case name == config.PythonOwn:
		found, err := pythonenv.OfSetup(ctx, c.DataDir)
		if err != nil {
			return nil, fmt.Errorf("there is no environment of understudy's own that works here (%s): ask the user to run \"understudy setup\"; there is %s", reasons(err, "setup has made none"), otherPythons(c, name))
		}
		return found, nil
	case name == config.PythonProject && c.Serve.OverNetwork():
		return nil, fmt.Errorf("%q is for servers over stdio, which work in a project of their user's; there is %s", name, otherPythons(c, name))
	case name == config.PythonProject:
		found, err := pythonenv.OfProject(ctx, pythonOptions(c, project))
		if err != nil {
			return nil, fmt.Errorf("this project has no environment that works (%s); there is %s", reasons(err, "no .venv, venv or conda environment was found"), otherPythons(c, name))
		}
		return found, nil
	}
	return nil, fmt.Errorf("there is no Python %.64q; there is %s", name, otherPythons(c, name))
}

// reasons says in a clause why no candidate could be used; none is said where there was none.
func reasons(err error, none string) string {
	var missing *pythonenv.NotFoundError
	if !errors.As(err, &missing) {
		return err.Error()
	}
	var all []string
	for _, passed := range missing.Passed {
		all = append(all, passed.Path+": "+passed.Reason)
	}
	if len(all) == 0 {
		return none
	}
	return strings.Join(all, "; ")
}

// pythonChoices are the names that interpreters may be made with.
func pythonChoices(c *config.Config) []string {
	names := []string{config.PythonOwn}
	if !c.Serve.OverNetwork() {
		names = append(names, config.PythonProject)
	}
	return append(names, slices.Sorted(maps.Keys(c.Serve.NamedPythons()))...)
}

// otherPythons lists them in a sentence, but for one that was asked for in vain.
func otherPythons(c *config.Config, but string) string {
	names := slices.DeleteFunc(pythonChoices(c), func(name string) bool { return name == but })
	if len(names) == 0 {
		return "no other"
	}
	for i, name := range names {
		names[i] = fmt.Sprintf("%q", name)
	}
	return strings.Join(names, ", ")
}

// offeredPythons are those that agents are told of: none where there is no choice.
func offeredPythons(c *config.Config) []string {
	if names := pythonChoices(c); len(names) > 1 {
		return names
	}
	return nil
}

// activation is what the environment of a Python has in the shell of who works in it:
// programs that code starts by their names are those of the same Python.
func activation(path string) []string {
	bin := filepath.Dir(path)
	prefix := filepath.Dir(bin)
	variable := ""
	switch {
	case isFile(filepath.Join(prefix, "pyvenv.cfg")):
		variable = "VIRTUAL_ENV"
	case isFile(filepath.Join(prefix, "conda-meta", "history")):
		variable = "CONDA_PREFIX"
	default:
		return nil
	}
	return []string{variable + "=" + prefix, "PATH=" + bin + string(os.PathListSeparator) + os.Getenv("PATH")}
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// environment is what workers and their readers are told of a Python, which was asked for
// by the name.
func (p *pythons) environment(name string, found *pythonenv.Found) worker.Environment {
	its := worker.Environment{Name: "the Python " + found.Path, SharedBy: "every program that runs it", Install: p.config.Serve.AllowInstall}
	if p.rules != nil {
		its.NoPip, its.NoShell = p.rules.NoPip, p.rules.NoShell
	}
	if own, err := pythonenv.OfSetup(p.warming, p.config.DataDir); err == nil && own.Path != found.Path {
		its.Own = own.Environment
	}
	switch {
	case found.Project:
		its.Name, its.Label = found.Why, "of "+found.Why
		its.SharedBy = "all interpreters of this project"
		its.UV = pythonenv.UsesUV(found.Environment)
	case found.FromSetup():
		its.Name, its.SharedBy = "the environment that understudy's setup made", "all interpreters that run in it"
		if name != "" {
			its.Label = found.Why
		}
	case found.Environment != "":
		its.Name = "the " + found.Why + " " + found.Environment
		its.Label = "of " + its.Name
	case name != "":
		its.Label = "listed as " + name
	}
	its.Introduction = introduction(found, its.Label)
	return its
}

// introduction is what the first answer of a session says of its Python, if it is not what
// everybody expects.
func introduction(found *pythonenv.Found, label string) []string {
	var passed []string
	for _, p := range found.Passed {
		if !p.Usual {
			passed = append(passed, fmt.Sprintf("%s (%s) was passed over: %s", p.Path, p.Why, p.Reason))
		}
	}
	switch {
	case len(passed) > 0:
		return []string{fmt.Sprintf("%s; this is Python %s, %s", strings.Join(passed, "; "), found.Version, found.Why)}
	case label != "":
		return []string{"Python " + found.Version + " " + label}
	}
	return nil
}
