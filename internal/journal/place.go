package journal

import (
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
)

// runID is the form of a run's id. Only directories with such a name are removed.
var runID = regexp.MustCompile(`^[A-Z0-9]{10}$`)

// filesOf returns the directory beside a journal that has the files of its runs,
// each run's in a directory of the run's id.
func filesOf(path string) string { return path + ".files" }

// lockOf returns the file that a run's server holds a lock on while it lives.
func lockOf(path, run string) string { return filepath.Join(filesOf(path), run, "lock") }

// source names a file to the SQLite driver, with parameters as "mode=ro".
func source(path string, parameters ...string) string {
	slashed := filepath.ToSlash(path)
	if !strings.HasPrefix(slashed, "/") { // as C:/Users/…
		slashed = "/" + slashed
	}
	return "file:" + (&url.URL{Path: slashed}).EscapedPath() + "?" + strings.Join(parameters, "&")
}
