package journal

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"understudy/sessions"
)

// TestAnExecutionsFilesAreOpenedByItsSession has a path that the code made up: what
// opens it is the session, which knows where it may lead.
func TestAnExecutionsFilesAreOpenedByItsSession(t *testing.T) {
	j := begin(t, newPath(t), Options{})
	a := newAgent(t, j, "a", "me")
	dir := t.TempDir()
	for name, text := range map[string]string{"secret": "secret", "plot.png": "plot"} {
		must(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	entry := a.done(a.next("plot", nil), sessions.Result{
		Figures:   []sessions.Figure{{Path: "plot.png"}, {Path: filepath.Join(dir, "secret")}},
		Artifacts: []sessions.Artifact{{Name: "s", Path: filepath.Join(dir, "secret")}},
	})
	entry.Open = func(path string) (*os.File, error) {
		if filepath.IsAbs(path) {
			return nil, errors.New("it is not in the working directory")
		}
		return os.Open(filepath.Join(dir, path))
	}
	_, err := j.Record(t.Context(), entry)
	var incomplete *sessions.Incomplete
	expect(t, errors.As(err, &incomplete) && strings.Contains(err.Error(), "figure 2: it is not in the working directory; and 1 more"), "%v", err)
	kept := filesOf(j.path)
	found := map[string]string{}
	err = filepath.WalkDir(kept, func(path string, entry os.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() && entry.Name() != "lock" {
			text, _ := os.ReadFile(path)
			found[filepath.Base(path)] = string(text)
		}
		return err
	})
	expect(t, err == nil && len(found) == 1 && found["a-1-figure-1.png"] == "plot", "%v %v", found, err)
}
