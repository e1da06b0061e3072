package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

// program is Python code that begins with lines like "# name: value".
type program struct {
	name, code string
	head       map[string]string
}

func newProgram(name, code string) program {
	p := program{strings.TrimSuffix(name, ".py"), code, map[string]string{}}
	for line := range strings.Lines(code) {
		text, isHead := strings.CutPrefix(line, "# ")
		if !isHead {
			break
		}
		name, value, _ := strings.Cut(strings.TrimSpace(text), ": ")
		p.head[name] = value
	}
	return p
}

// readPrograms reads the programs of an archive in testdata.
func readPrograms(t *testing.T, archive string) (all []program) {
	t.Helper()
	files, err := txtar.ParseFile(filepath.Join("testdata", archive+".txtar"))
	must(t, err)
	for _, file := range files.Files {
		all = append(all, newProgram(file.Name, string(file.Data)))
	}
	return all
}

// readFile returns what a file holds.
func readFile(t *testing.T, path ...string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(path...))
	must(t, err)
	return string(text)
}

// writeFile makes a file.
func writeFile(t *testing.T, path, text string) {
	t.Helper()
	must(t, os.WriteFile(path, []byte(text), 0o600))
}
