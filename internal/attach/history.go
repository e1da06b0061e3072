package attach

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"strings"
)

// history is what was typed, the last first, kept in a file for the next time. It
// is the terminal's History.
type history struct {
	path  string
	lines []string // the oldest first
	begun int      // how many were there at the beginning
	off   bool     // answers to questions are not kept
}

// mostHistory is how many lines are kept.
const mostHistory = 1000

func openHistory(path string) *history {
	h := &history{path: path}
	file, err := os.Open(path)
	if err != nil {
		return h // there is none yet, or none to be had
	}
	defer func() { _ = file.Close() }()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		h.lines = append(h.lines, lines.Text())
	}
	h.lines = h.lines[max(0, len(h.lines)-mostHistory):]
	h.begun = len(h.lines)
	return h
}

// Add keeps a line.
func (h *history) Add(line string) {
	if h.off || strings.TrimSpace(line) == "" || len(h.lines) > 0 && h.lines[len(h.lines)-1] == line {
		return
	}
	h.lines = append(h.lines, line)
}

// Len counts the lines.
func (h *history) Len() int { return len(h.lines) }

// At returns one, 0 being the last.
func (h *history) At(i int) string { return h.lines[len(h.lines)-1-i] }

// close adds the new lines to the file, which other prompts may have added to. A
// file that has become long is shortened.
func (h *history) close() {
	if err := h.save(); err != nil {
		fmt.Fprintf(os.Stderr, "the history is not kept: %v\n", err)
	}
}

func (h *history) save() error {
	fresh := h.lines[h.begun:]
	if len(fresh) == 0 {
		return nil
	}
	mode := os.O_APPEND
	if h.begun >= mostHistory {
		fresh, mode = h.lines[len(h.lines)-mostHistory/2:], os.O_TRUNC
	}
	file, err := os.OpenFile(h.path, mode|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = file.WriteString(strings.Join(fresh, "\n") + "\n")
	return errors.Join(err, file.Close())
}
