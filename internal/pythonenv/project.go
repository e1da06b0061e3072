package pythonenv

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// Environments of a project, by their usual names, the first one first.
var projectEnvironments = []string{".venv", "venv", ".conda", "env"}

// What marks the top of a project: a repository, or else the files with which Python's
// tools begin one. A member of a workspace has such a file of its own, and its
// environment is that of the repository.
var (
	repositories = []string{".git", ".hg", ".jj"}
	manifests    = []string{
		"pyproject.toml", "uv.lock", "setup.py", "setup.cfg", "requirements.txt", "Pipfile", "poetry.lock",
		"environment.yml", "environment.yaml", "pixi.toml",
	}
)

// ProjectRoot returns the directory at the top of the project that a directory is in:
// the repository, else the first one upward with the files of a project, else the
// directory itself. It is never the home directory, which many keep in a repository, nor
// one above it, unless that is the directory itself.
func ProjectRoot(directory string) string {
	directory, home, manifest := withoutLinks(directory), "", ""
	if found, err := os.UserHomeDir(); err == nil {
		home = withoutLinks(found)
	}
	for _, above := range upward(directory, home) {
		if holds(above, repositories) {
			return above
		}
		if manifest == "" && holds(above, manifests) {
			manifest = above
		}
	}
	return cmp.Or(manifest, directory)
}

// upward lists a directory and those above it, up to the home directory, which is not
// among them.
func upward(directory, home string) (all []string) {
	for ; directory != home; directory = filepath.Dir(directory) {
		all = append(all, directory)
		if filepath.Dir(directory) == directory {
			break
		}
	}
	return all
}

func holds(directory string, names []string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return exists(filepath.Join(directory, name)) })
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// projects lists the environments of the project that the options name, those of the
// nearest directory first.
func projects(options Options) (list []candidate) {
	if options.Project == "" {
		return nil
	}
	root := ProjectRoot(options.Project)
	for above := withoutLinks(options.Project); ; above = filepath.Dir(above) {
		for _, name := range projectEnvironments {
			if c, ok := inProject(options.Project, above, name); ok {
				if options.Refusal != "" {
					c.reason = options.Refusal
				}
				list = append(list, c)
			}
		}
		if above == root || filepath.Dir(above) == above {
			return list
		}
	}
}

func withoutLinks(path string) string {
	if resolved, err := filepath.EvalSymlinks(path); err == nil {
		return resolved
	}
	return filepath.Clean(path)
}

// inProject returns the environment of that name in a directory. Only .venv can't be
// anything else, so that one that has lost its files is worth a word.
func inProject(workdir, directory, name string) (candidate, bool) {
	path := filepath.Join(directory, name)
	c := candidate{path: interpreter(path), why: "this project's " + name, environment: path, project: true}
	switch {
	case exists(filepath.Join(path, "pyvenv.cfg")):
	case exists(filepath.Join(path, "conda-meta")):
		c.path = condaInterpreter(path)
	case name != projectEnvironments[0] || !exists(path):
		return candidate{}, false
	}
	c.reason = strangersOwn(path, c.path, workdir)
	return c, true
}

// gone says in a clause that a virtual environment has lost the Python that it was made
// from, "" if it has not: the system says of it that the environment's own is missing.
func gone(path string) string {
	if exists(path) {
		return ""
	}
	target := path
	for range 10 { // python may lead to python3, and that to python3.12
		next, err := os.Readlink(target)
		if err != nil {
			break
		}
		if !filepath.IsAbs(next) {
			next = filepath.Join(filepath.Dir(target), next)
		}
		target = next
	}
	if target == path {
		return ""
	}
	return fmt.Sprintf("the Python that it was made from, %s, is gone; make the environment again", target)
}

// condaInterpreter is the path of Python in a conda environment.
func condaInterpreter(prefix string) string {
	if runtime.GOOS == "windows" {
		return filepath.Join(prefix, "python.exe")
	}
	return filepath.Join(prefix, "bin", "python")
}

// UsesUV reports whether uv manages the project whose environment this is: what is
// installed there goes into its pyproject.toml too.
func UsesUV(environment string) bool {
	project := filepath.Dir(environment)
	if exists(filepath.Join(project, "uv.lock")) {
		return true
	}
	text, err := os.ReadFile(filepath.Join(project, "pyproject.toml"))
	return err == nil && (strings.Contains(string(text), "[tool.uv]") || strings.Contains(string(text), "[tool.uv."))
}
