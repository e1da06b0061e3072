package command

import (
	"context"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"

	"understudy/internal/app"
	"understudy/internal/clientconfig"
	"understudy/internal/config"
	"understudy/internal/pythonenv"
)

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

// clients says which MCP clients are configured with understudy.
func (f *findings) clients(c *config.Config) {
	directory, _ := app.WorkingDirectory(c)
	entries, err := clientconfig.Entries(pythonenv.ProjectRoot(directory))
	if err != nil {
		f.add(groupClients, "unreadable", stateNote, "%s", strings.ReplaceAll(err.Error(), "\n", "; "))
	}
	self, _ := os.Executable() // without it no command is this program
	none := true
	for _, e := range entries {
		if !strings.Contains(e.Name+e.Command, "understudy") || e.Command == "" {
			continue
		}
		none = false
		s, problem := commandState(e.Command, self)
		f.add(groupClients, e.Client, s, "%s in %s runs %s%s", e.Name, e.Path, strings.Join(append([]string{e.Command}, e.Args...), " "), problem)
	}
	if none {
		f.add(groupClients, "none", stateNote, "no known client is configured for you or this project; \"understudy install --client NAME\" does that")
	}
}

// commandState says whether a client's command runs this program.
func commandState(command, self string) (s state, problem string) {
	path, err := exec.LookPath(command)
	switch {
	case err != nil:
		return stateMissing, ": there is no such program"
	case !app.SameFile(path, self):
		return stateNote, ": another program than this one"
	}
	return stateOK, ""
}
