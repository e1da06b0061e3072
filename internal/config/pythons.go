package config

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/alecthomas/kong"
)

// The names of the Pythons that an operator need not list.
const (
	PythonOwn     = "own"     // of the environment that setup made
	PythonProject = "project" // of the project's environment
)

// parsePython takes NAME=PATH, and returns it with a path that does not depend on where
// the server works. A path alone is its own name.
func parsePython(text string) (string, error) {
	name, path, named := strings.Cut(text, "=")
	if !named {
		path = name
	}
	name, path = strings.TrimSpace(name), strings.TrimSpace(path)
	switch {
	case name == "" || path == "":
		return "", fmt.Errorf("%q is not a Python; write NAME=PATH, as old=/usr/bin/python3.10", text)
	case name == PythonOwn || name == PythonProject:
		return "", fmt.Errorf("%q is the name of a Python that needs no listing; choose another", name)
	}
	if filepath.Base(path) != path { // else it is a name on PATH
		path = kong.ExpandPath(path)
	}
	return name + "=" + path, nil
}

// NamedPythons returns the paths of the Pythons that the operator has listed, by name.
func (s Serve) NamedPythons() map[string]string {
	all := map[string]string{}
	for _, entry := range s.Pythons {
		name, path, _ := strings.Cut(entry, "=")
		all[name] = path
	}
	return all
}
