package pythonenv

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// layOut makes files below a directory: NAME; NAME/ for a directory; an environment as
// NAME VERSION, whose Python answers with that version.
func layOut(t *testing.T, root string, names ...string) {
	t.Helper()
	for _, name := range names {
		path, version, isEnvironment := strings.Cut(name, " ")
		path = filepath.Join(root, path)
		switch {
		case isEnvironment:
			usable := "True"
			if strings.HasPrefix(version, "3.8") {
				usable = "False"
			}
			python := filepath.Join(path, "bin", "python")
			script(t, python, says(version, usable, python))
			name = filepath.Join(name[:len(name)-len(version)-1], "pyvenv.cfg")
			if strings.Contains(path, "conda") {
				name = filepath.Join(filepath.Dir(name), "conda-meta", "history")
			}
			path = filepath.Join(root, name)
		case strings.HasSuffix(name, "/"):
			if err := os.MkdirAll(path, 0o755); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func TestTheProjectsEnvironment(t *testing.T) {
	for name, test := range map[string]struct {
		files []string
		from  string
		want  string // the environment, "" for none
	}{
		"in the directory":              {[]string{"p/.venv 3.12.1"}, "p", "p/.venv"},
		"above it":                      {[]string{"p/.venv 3.12.1", "p/pyproject.toml", "p/a/b/"}, "p/a/b", "p/.venv"},
		"the nearest":                   {[]string{"p/.venv 3.12.1", "p/.git/", "p/a/venv 3.11.1"}, "p/a", "p/a/venv"},
		".venv before others":           {[]string{"p/venv 3.12.1", "p/.venv 3.11.1", "p/.conda 3.13.0"}, "p", "p/.venv"},
		"of conda":                      {[]string{"p/.conda 3.13.0"}, "p", "p/.conda"},
		"a member of a workspace":       {[]string{"p/.git/", "p/.venv 3.12.1", "p/a/pyproject.toml"}, "p/a", "p/.venv"},
		"not above the project's files": {[]string{".venv 3.12.1", "p/pyproject.toml"}, "p", ""},
		"not above a repository":        {[]string{".venv 3.12.1", "pyproject.toml", "p/.git/"}, "p", ""},
		"not above what is no project":  {[]string{".venv 3.12.1", "p/"}, "p", ""},
		"never in the home directory":   {[]string{"home/.git/", "home/.venv 3.12.1", "home/p/"}, "home/p", ""},
		"nor above it":                  {[]string{".git/", ".venv 3.12.1", "home/p/a/"}, "home/p/a", ""},
		"a folder that is called so":    {[]string{"p/venv/notes.txt", "p/env/notes.txt"}, "p", ""},
		"the next one upward":           {[]string{"p/.git/", "p/.venv 3.12.1", "p/a/.venv 3.8.1"}, "p/a", "p/.venv"},
	} {
		t.Run(name, func(t *testing.T) {
			root := withoutLinks(t.TempDir())
			layOut(t, root, test.files...)
			t.Setenv("HOME", filepath.Join(root, "home"))
			found, err := OfProject(t.Context(), Options{Project: filepath.Join(root, test.from)})
			if test.want == "" {
				if err == nil {
					t.Errorf("found %+v", found)
				}
				return
			}
			want := filepath.Join(root, filepath.FromSlash(test.want))
			if err != nil || found.Environment != want || !found.Project || found.Path != filepath.Join(want, "bin", "python") {
				t.Errorf("found %+v, %v; want %s", found, err, want)
			}
		})
	}
}

func TestOrderWithAProject(t *testing.T) {
	root := withoutLinks(t.TempDir())
	layOut(t, root, "p/.venv 3.12.1", "active 3.13.0", "data/python 3.11.7")
	if err := (&stamp{}).write(filepath.Join(root, "data", "python")); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		active, project, refusal, want string
	}{
		"what is active comes first": {filepath.Join(root, "active"), "p", "", "active"},
		"then the project's":         {"", "p", "", "p/.venv"},
		"unless it may not be run":   {"", "p", "not here", "data/python"},
		"and where there is none":    {"", "data", "", "data/python"},
	} {
		t.Run(name, func(t *testing.T) {
			activate(t, map[string]string{"VIRTUAL_ENV": test.active})
			found, err := Find(t.Context(), Options{
				DataDir: filepath.Join(root, "data"), Project: filepath.Join(root, test.project), Refusal: test.refusal,
			})
			if err != nil || found.Environment != filepath.Join(root, filepath.FromSlash(test.want)) {
				t.Errorf("found %+v, %v", found, err)
			}
			if test.refusal != "" && (len(found.Passed) != 1 || found.Passed[0].Reason != test.refusal) {
				t.Errorf("passed over: %v", found.Passed)
			}
		})
	}
}

// What is wrong with an environment is said so that its user knows what to do.
func TestPassedOverInAProject(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("stands for Python with a shell script")
	}
	for name, test := range map[string]struct {
		make func(t *testing.T, python string)
		want string
	}{
		"too old": {func(t *testing.T, python string) { script(t, python, says("3.8.20", "False", python)) }, "it is version 3.8.20; 3.10 or newer is needed"},
		"of another architecture": {func(t *testing.T, python string) {
			binary := append([]byte("\x7fELF\x02\x01\x01"), make([]byte, 100)...)
			if err := os.WriteFile(python, binary, 0o700); err != nil {
				t.Fatal(err)
			}
		}, "another kind of processor"},
		"its Python is gone": {func(t *testing.T, python string) {
			if err := os.Symlink("/nowhere/python3.9", python); err != nil {
				t.Fatal(err)
			}
		}, "/nowhere/python3.9, is gone; make the environment again"},
		"empty": {func(*testing.T, string) {}, "it does not run"},
	} {
		t.Run(name, func(t *testing.T) {
			root := withoutLinks(t.TempDir())
			layOut(t, root, ".venv/bin/", "venv 3.12.1")
			test.make(t, filepath.Join(root, ".venv", "bin", "python"))
			found, err := OfProject(t.Context(), Options{Project: root})
			if err != nil || found.Why != "this project's venv" || len(found.Passed) != 1 {
				t.Fatalf("found %+v, %v", found, err)
			}
			if passed := found.Passed[0]; !strings.Contains(passed.Reason, test.want) || passed.Usual || passed.Why != "this project's .venv" {
				t.Errorf("passed over: %+v", passed)
			}
		})
	}
}

func TestUsesUV(t *testing.T) {
	for name, want := range map[string]bool{"uv.lock": true, "pyproject.toml": false, "": false} {
		root := t.TempDir()
		if name != "" {
			layOut(t, root, name)
		}
		if got := UsesUV(filepath.Join(root, ".venv")); got != want {
			t.Errorf("%q: %v", name, got)
		}
	}
	root := t.TempDir()
	if err := os.WriteFile(filepath.Join(root, "pyproject.toml"), []byte("[tool.uv.sources]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if !UsesUV(filepath.Join(root, ".venv")) {
		t.Error("a table of uv's says nothing")
	}
}
