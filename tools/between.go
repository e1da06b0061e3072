package tools

import (
	"strings"

	"understudy/internal/screen"
)

// between is what was printed since the run before, above what this one printed.
func (v view) between() string {
	if v.Between == "" {
		return ""
	}
	text, _ := cut(screen.Text(v.Between), v.budget/4, 0)
	text = "[between calls]\n" + text
	if v.Stdout != "" || v.Stderr != "" {
		text = strings.TrimSuffix(text, "\n") + "\n[this call]\n"
	}
	return text
}
