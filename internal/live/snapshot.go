package live

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/charmbracelet/x/ansi"
)

const (
	snapshotWidth  = 120 // columns
	snapshotHeight = 30  // lines of each part but the tree
)

// Snapshot writes how things stand, without colours.
func Snapshot(ctx context.Context, options Options, out io.Writer) error {
	look := &poller{options: options}
	u := look.poll(ctx, ask{run: options.Run})
	if err := errors.Join(u.problem, look.close()); err != nil {
		if u.waiting {
			return fmt.Errorf("there is no run in the journal %s yet: start a server, or name another journal with --journal", options.Path)
		}
		return err
	}
	s := newScreen(options)
	s.follow = false
	s.apply(u)
	_, err := io.WriteString(out, s.snapshot())
	return err
}

// snapshot is the screen without an end.
func (s *screen) snapshot() string {
	lines := []string{s.heading()}
	if p := s.progress(snapshotWidth); p != "" {
		lines = append(lines, p)
	}
	if task := s.taskLine(); task != "" {
		lines = append(lines, task)
	}
	lines = append(lines, "", s.treeTitle())
	for _, r := range s.rows {
		lines = append(lines, r.line(s.styles, &s.picture, snapshotWidth, false, false))
	}
	for _, b := range []block{s.now(snapshotWidth), s.interpreters()} {
		if len(b.lines) == 0 {
			continue
		}
		lines = append(lines, "")
		lines = append(lines, s.styles.draw(share([]block{b}, snapshotHeight), snapshotWidth)...)
	}
	lines = append(lines, "")
	files := s.files(1 << 16) // whole: they are there to be copied
	lines = append(append(lines, files.title), files.lines...)
	for i, l := range lines {
		lines[i] = strings.TrimRight(ansi.Strip(l), " ")
	}
	return strings.Join(lines, "\n") + "\n"
}
