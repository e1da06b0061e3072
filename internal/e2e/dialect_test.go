package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

// dialect are the tables of cells, with the number that may fall short: what a row asks for is
// a goal, and no case may be lost unseen.
var dialect = map[string]int{"notebook": 1, "forms": 1, "executed": 0, "cases": 0}

// cellCase is a few cells, run in a fresh interpreter, and what the last one is to show.
type cellCase struct {
	name  string
	cells []string
	want  []string
	ours  bool // Jupyter has it otherwise
}

// failed are the statuses of cells that have failed.
var failed = map[any]bool{"error": true, "timeout": true, "interrupted": true, "crashed": true, "refused": true}

// TestDialect runs the cells of notebooks as a model would.
func TestDialect(t *testing.T) {
	for table, spared := range dialect {
		t.Run(table, func(t *testing.T) {
			t.Parallel()
			c := serve(t)
			missed := 0
			for _, each := range readCells(t, table) {
				id := create(t, c)
				var last answer
				for _, cell := range each.cells {
					var err error
					if last, err = call(c, "run_python_code", "code", cell, "interpreter_id", id); err != nil && !errors.Is(err, errRefused) {
						t.Fatal(err)
					}
				}
				for _, problem := range each.check(last.text, last.images, failed[last.record["status"]]) {
					missed++
					t.Logf("%s: %s\n%s", each.name, problem, last.text)
					break
				}
				manage(t, c, "delete", "interpreter_id", id)
			}
			expect(t, missed <= spared, "%d cases fall short, more than %d", missed, spared)
		})
	}
}

// TestNotebookDialect runs the same cells in Jupyter's kernel: what the tables want is
// what it shows.
func TestNotebookDialect(t *testing.T) {
	jupyter := os.Getenv("UNDERSTUDY_NOTEBOOKS")
	if jupyter == "" {
		t.Skip("UNDERSTUDY_NOTEBOOKS names no environment with Jupyter")
	}
	for table := range dialect {
		t.Run(table, func(t *testing.T) {
			cases := slices.DeleteFunc(readCells(t, table), func(c cellCase) bool { return c.ours })
			var sent [][]string
			for _, each := range cases {
				sent = append(sent, each.cells)
			}
			request, err := json.Marshal(sent)
			must(t, err)
			cmd := exec.Command(filepath.Join(jupyter, "bin", "python"), root+"testdata/notebooks/cells.py", t.TempDir())
			cmd.Stdin, cmd.Stderr = bytes.NewReader(request), os.Stderr
			said, err := cmd.Output()
			must(t, err)
			var found []struct {
				Text   string
				Images int
				Failed bool
			}
			must(t, json.Unmarshal(said, &found))
			missed := 0
			for i, each := range cases {
				if problems := each.check(found[i].Text, found[i].Images, found[i].Failed); len(problems) > 0 {
					missed++
					t.Logf("%s: %s\n%s", each.name, problems[0], found[i].Text)
				}
			}
			expect(t, missed <= 0, "Jupyter shows %d cases otherwise", missed)
		})
	}
}

// check returns what is wrong with what the last cell shows.
func (c cellCase) check(text string, images int, failed bool) (problems []string) {
	fails := false
	for _, line := range c.want {
		if count, ok := strings.CutPrefix(line, "images: "); ok {
			if n, err := strconv.Atoi(count); err != nil || n != images {
				problems = append(problems, fmt.Sprintf("%d images, not %s", images, count))
			}
			continue
		}
		if line == "status: error" {
			fails = true
			continue
		}
		pattern, absent := strings.CutPrefix(line, "!")
		if regexp.MustCompile(pattern).MatchString(text) == absent {
			problems = append(problems, "it is not so: "+line)
		}
	}
	if failed != fails && (fails || !c.mayFail()) {
		problems = append(problems, fmt.Sprintf("failed: %v", failed))
	}
	return problems
}

// mayFail reports whether a case is about a message that one kernel prints and another raises.
func (c cellCase) mayFail() bool { return c.name == "an unknown magic" }

// readCells reads a table.
func readCells(t *testing.T, table string) (cases []cellCase) {
	t.Helper()
	archive, err := txtar.ParseFile(filepath.Join("testdata", table+".txtar"))
	must(t, err)
	for _, file := range archive.Files {
		name, part, _ := strings.Cut(file.Name, "/")
		if part == "1" {
			cases = append(cases, cellCase{name: name})
		}
		last := &cases[len(cases)-1]
		switch text := strings.TrimSuffix(string(file.Data), "\n"); {
		case last.name != name:
			t.Fatalf("%s: %s stands alone", table, file.Name)
		case part == "want" || part == "ours":
			last.want, last.ours = strings.Split(text, "\n"), part == "ours"
		default:
			last.cells = append(last.cells, text)
		}
	}
	return cases
}
