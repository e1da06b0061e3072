package attach

import (
	"os"
	"strings"
)

// history is what was typed, kept in a file for the next time. It is the terminal's
// History.
type history struct {
	path  string
	lines []string // the oldest first
	off   bool     // answers to questions are not kept
}

// mostHistory is how many lines are kept of a file that has become long.
const mostHistory = 1000

func openHistory(path string) *history {
	h := &history{path: path}
	text, err := os.ReadFile(path)
	if err != nil || len(text) == 0 {
		return h // there is none yet, or none to be had
	}
	h.lines = strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	if len(h.lines) > 2*mostHistory {
		h.lines = h.lines[len(h.lines)-mostHistory:]
		_ = os.WriteFile(path, []byte(strings.Join(h.lines, "\n")+"\n"), 0o600) // it stays long, at worst
	}
	return h
}

// Add keeps a line. Other prompts may add to the file.
func (h *history) Add(line string) {
	if h.off || strings.TrimSpace(line) == "" || len(h.lines) > 0 && h.lines[len(h.lines)-1] == line {
		return
	}
	h.lines = append(h.lines, line)
	if file, err := os.OpenFile(h.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600); err == nil {
		_, _ = file.WriteString(line + "\n") // it is not there the next time, at worst
		_ = file.Close()
	}
}

// Len counts the lines.
func (h *history) Len() int { return len(h.lines) }

// At returns one, 0 being the last.
func (h *history) At(i int) string { return h.lines[len(h.lines)-1-i] }
