package report

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"understudy/internal/journal"
)

// Write writes the files of an experiment into a directory, which is made if it is not
// there, and returns their paths. Each is replaced at once, so that readers never see
// half of one; what is there besides stays. Without whole, report.md and its plot
// are left out.
func Write(dir string, x *Experiment, whole bool) ([]string, error) {
	if err := os.MkdirAll(filepath.Join(dir, figuresDir), 0o700); err != nil {
		return nil, fmt.Errorf("making the experiment's directory: %w", err)
	}
	w := folder{dir: dir}
	figures := w.copyFigures(x.Executions)
	page, err := treePage(x)
	w.put("tree_plot.html", page, err)
	text, err := journalJSON(x)
	w.put("journal.json", text, err)
	w.put("config.yaml", []byte(x.Run.Config), nil)
	if x.Best != nil {
		w.put("best_solution.py", []byte(solution(x)), nil)
	}
	if whole {
		if plot := metricPlot(x); plot != nil {
			w.put("metric.svg", plot, nil)
		}
		w.put("report.md", []byte(reportText(x, figures)), nil)
	}
	return w.paths, errors.Join(w.problems...)
}

// folder is a directory that is being written.
type folder struct {
	dir      string
	paths    []string
	problems []error
}

// put writes a file, or notes why that can't be.
func (w *folder) put(name string, content []byte, err error) {
	path := filepath.Join(w.dir, name)
	if err == nil {
		err = replaceFile(path, 0o600, func(file io.Writer) error {
			_, err := file.Write(content)
			return err
		})
	}
	if err != nil {
		w.problems = append(w.problems, fmt.Errorf("writing %s: %w", name, err))
		return
	}
	w.paths = append(w.paths, path)
}

// copyFigures copies images that are not there yet, and returns the names of those
// that are. A figure that the journal does not keep is left out.
func (w *folder) copyFigures(executions []journal.Execution) map[int64][]string {
	there := map[int64][]string{}
	for _, e := range executions {
		for _, each := range images(e) {
			from, err := kept(each.From)
			if err != nil {
				continue
			}
			path := filepath.Join(w.dir, filepath.FromSlash(each.Name))
			if copied, err := kept(path); err != nil || copied.Size() != from.Size() {
				if err := copyFile(each.From, path); err != nil {
					w.problems = append(w.problems, fmt.Errorf("copying a figure: %w", err))
					continue
				}
			}
			there[e.ID] = append(there[e.ID], each.Name)
		}
	}
	return there
}

func copyFile(from, to string) error {
	source, err := os.Open(from)
	if err != nil {
		return err
	}
	defer source.Close()
	return replaceFile(to, 0o600, func(file io.Writer) error {
		_, err := io.Copy(file, source)
		return err
	})
}

// replaceFile writes a file beside path and puts it in its place.
func replaceFile(path string, mode os.FileMode, write func(io.Writer) error) error {
	file, err := os.CreateTemp(filepath.Dir(path), ".new-*")
	if err != nil {
		return err
	}
	err = errors.Join(write(file), file.Chmod(mode), file.Close())
	if err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		os.Remove(file.Name())
	}
	return err
}
