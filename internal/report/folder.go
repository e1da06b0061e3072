package report

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

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
			file.err = replaceFile(path, 0o600, file.content)
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
					err = replaceFile(path, 0o600, data)
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
	return replaceFile(path, 0o644, text)
}

// replaceFile writes a file beside path and puts it in its place.
func replaceFile(path string, mode os.FileMode, content []byte) error {
	file, err := os.CreateTemp(filepath.Dir(path), ".new-*")
	if err != nil {
		return err
	}
	_, err = file.Write(content)
	err = errors.Join(err, file.Chmod(mode), file.Close())
	if err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		os.Remove(file.Name())
	}
	return err
}
