package report

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
)

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
