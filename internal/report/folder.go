package report

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"

	"github.com/google/renameio/v2/maybe"

	"understudy/internal/journal"
)

// Write writes the files of an experiment into a directory, which is made if it is not
// there, and returns their paths. Each is replaced at once, so that readers never see
// half of one; what is there besides stays.
func Write(dir string, x *Experiment) (paths []string, err error) {
	if err := os.MkdirAll(filepath.Join(dir, figuresDir), 0o700); err != nil {
		return nil, fmt.Errorf("making the experiment's directory: %w", err)
	}
	figures, problems := copyFigures(dir, x.Executions)
	page, noPage := treePage(x)
	saved, noJournal := journalJSON(x)
	text, noReport := reportText(x, figures)
	for _, file := range []struct {
		name    string
		content []byte // nil where there is none
		err     error
	}{
		{"tree_plot.html", page, noPage},
		{"journal.json", saved, noJournal},
		{"config.yaml", []byte(x.Run.Config), nil},
		{"best_solution.py", solution(x), nil},
		{"report.md", text, noReport},
	} {
		path := filepath.Join(dir, file.name)
		if file.err == nil && file.content == nil {
			continue
		}
		if file.err == nil {
			file.err = maybe.WriteFile(path, file.content, 0o600)
		}
		if file.err != nil {
			problems = append(problems, fmt.Errorf("writing %s: %w", file.name, file.err))
			continue
		}
		paths = append(paths, path)
	}
	return paths, errors.Join(problems...)
}

// copyFigures copies images that are not there yet, and returns the names of those
// that are. A figure that the journal does not keep is left out.
func copyFigures(dir string, executions []journal.Execution) (there map[int64][]string, problems []error) {
	there = map[int64][]string{}
	for _, e := range executions {
		for _, each := range images(e) {
			from, err := kept(each.From)
			if err != nil {
				continue
			}
			path := filepath.Join(dir, filepath.FromSlash(each.Name))
			if copied, err := kept(path); err != nil || copied.Size() != from.Size() {
				data, err := os.ReadFile(each.From)
				if err == nil {
					err = maybe.WriteFile(path, data, 0o600)
				}
				if err != nil {
					problems = append(problems, fmt.Errorf("copying a figure: %w", err))
					continue
				}
			}
			there[e.ID] = append(there[e.ID], each.Name)
		}
	}
	return there, problems
}

// Save writes a file in the place of one that may be there, so that nobody sees half
// of it. What is no file, as a pipe, is written to.
func Save(path string, text []byte) error {
	if followed, err := filepath.EvalSymlinks(path); err == nil {
		path = followed
	}
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return os.WriteFile(path, text, 0o644)
	}
	return maybe.WriteFile(path, text, 0o644)
}

// figureName are the names that images gives; loss-2024-05-01.png is none of them.
var figureName = regexp.MustCompile(`^(?:trial|(?:[\w.-]+-)?[0-9a-f]{8})-\d+-\d+\.[a-z]{3,4}$`)

// Claim sees to it that a directory which a person has named may be written to: that it
// is not there, is empty, or has an experiment's files. Those of them that another
// report would leave there are removed; nothing else is touched.
func Claim(dir string) error {
	there, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(there) == 0 {
		return nil
	}
	if err != nil {
		return fmt.Errorf("looking into the report's directory (choose another one with --out): %w", err)
	}
	var saved Saved // by someone else it has neither of these
	text, err := os.ReadFile(filepath.Join(dir, "journal.json"))
	if err != nil || json.Unmarshal(text, &saved) != nil || saved.Run.ID == "" || saved.Nodes == nil || saved.NodeToParent == nil {
		return fmt.Errorf("%s is not empty and has no journal.json of an experiment, so its files might be yours; choose a new directory with --out", dir)
	}
	stale := []string{"best_solution.py", "metric.svg", "report.md"} // the second of earlier versions
	figures, _ := os.ReadDir(filepath.Join(dir, figuresDir))         // what can't be listed stays
	for _, figure := range figures {
		if figureName.MatchString(figure.Name()) && figure.Type().IsRegular() {
			stale = append(stale, filepath.Join(figuresDir, figure.Name()))
		}
	}
	for _, name := range stale {
		if err := os.Remove(filepath.Join(dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("removing an earlier report's file: %w", err)
		}
	}
	return nil
}
