package app

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestPreviewWaits: as long as the workspace is prepared the text says so, and then it
// is of the files.
func TestPreviewWaits(t *testing.T) {
	dir := t.TempDir()
	var broken error
	waiting := "preparing the workspace: 3.1 of 12 GB"
	get := newPreview(dir, nil, func() (string, error) { return waiting, broken })
	text, err := get(t.Context())
	if err != nil || !strings.Contains(text, waiting) {
		t.Errorf("%v: %s", err, text)
	}
	waiting, broken = "", errors.New("the workspace could not be prepared: it is no zip file")
	if text, err = get(t.Context()); err != nil || !strings.Contains(text, broken.Error()) {
		t.Errorf("%v: %s", err, text)
	}
	broken = nil
	if err := os.WriteFile(filepath.Join(dir, "a.csv"), []byte("a,b\n1,2\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if text, err = get(t.Context()); err != nil || !strings.Contains(text, "CSV: 1 row × 2 columns") {
		t.Errorf("%v: %s", err, text)
	}
	gone := newPreview(filepath.Join(dir, "a.csv"), nil, nil) // code has replaced the directory
	if text, err = gone(t.Context()); err != nil || !strings.Contains(text, "There is no preview: ") {
		t.Errorf("%v: %s", err, text)
	}
}
