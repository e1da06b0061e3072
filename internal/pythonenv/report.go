package pythonenv

import (
	"fmt"
	"io"
	"path"
	"regexp"
	"strings"

	"github.com/dustin/go-humanize"
)

// report tells the user what setup does: one line for each phase and, on a terminal,
// a last line that changes with what is being done.
type report struct {
	to       io.Writer
	terminal bool

	passes     bool   // the last line is to be replaced
	bytes      uint64 // that were downloaded, as the installer says
	installing bool   // everything has been downloaded
}

// phase writes a line that stays.
func (r *report) phase(format string, args ...any) {
	r.clear()
	fmt.Fprintf(r.to, format+"\n", args...)
}

// widest is the longest passing line: one that wraps can't be replaced.
const widest = 78

// passing writes a line that the next one replaces; only terminals can show it.
func (r *report) passing(format string, args ...any) {
	if !r.terminal {
		return
	}
	r.clear()
	fmt.Fprintf(r.to, "%.*s", widest, "  "+fmt.Sprintf(format, args...))
	r.passes = true
}

// clear removes the passing line.
func (r *report) clear() {
	if r.passes {
		fmt.Fprint(r.to, "\r\x1b[K")
	}
	r.passes = false
}

// fetching is a line of pip's or uv's: Downloading scipy-1.17-cp311.whl (35.3 MB).
var fetching = regexp.MustCompile(`^\s*Downloading (\S+) \((.+)\)$`)

// installed reads a line of the installer's output. Most tell a user nothing, and
// some name indexes, whose addresses may hold passwords.
func (r *report) installed(line string) {
	if found := fetching.FindStringSubmatch(line); found != nil {
		size, _ := humanize.ParseBytes(found[2]) // 0 where it is no size
		r.bytes += size
		name := path.Base(found[1])
		if path.Ext(name) != "" { // uv tells a name, pip a file
			name, _, _ = strings.Cut(name, "-")
		}
		r.passing("%s so far: %s", humanize.Bytes(r.bytes), name)
		return
	}
	// pip and uv say so when they have all files.
	if !r.installing && (strings.HasPrefix(line, "Installing ") || strings.HasPrefix(line, "Prepared ")) {
		r.installing = true
		size := ""
		if r.bytes > 0 {
			size = fmt.Sprintf(" (about %s downloaded)", humanize.Bytes(r.bytes))
		}
		r.phase("Installing them%s", size)
	}
}
