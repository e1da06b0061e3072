package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"
	"unicode/utf8"
)

const (
	documentPath = "docs/benchmarks.md"
	beginMark    = "<!-- bench:begin -->"
	endMark      = "<!-- bench:end -->"
)

// report is all that a run found out.
type report struct {
	machine  [][2]string // what it ran on: name, value
	began    time.Time
	finished time.Time
	rounds   int
	targets  []target
	tables   []table
}

// target is what the numbers are to reach.
type target struct {
	what, wanted, measured string
	met                    bool
}

// atLeast is the target of being so many times faster.
func atLeast(what string, gain, wanted float64) target {
	return target{what, fmt.Sprintf("at least %.0f× faster", wanted), factor(gain) + " faster", gain >= wanted}
}

// atMost is the target of taking at most so many times as long.
func atMost(what string, cost, wanted float64) target {
	return target{what, fmt.Sprintf("at most %.2f× the time", wanted), fmt.Sprintf("%.2f× the time", cost), cost <= wanted}
}

// atMostMore is the target of adding at most so many seconds.
func atMostMore(what string, added, wanted float64) target {
	return target{what, fmt.Sprintf("at most %.0f ms more", wanted*1e3), fmt.Sprintf("%.2f ms more", added*1e3), added <= wanted}
}

// table is the answer to one question.
type table struct {
	title string
	note  string // how to read it
	unit  unit
	rows  []row
	curve *curve // drawn below it, if any
}

// row is what was measured of one contender; against is what it is compared
// with, if anything, and whose name says what that is.
type row struct {
	name    string
	values  values
	against values
	whose   string
}

func (r *report) add(t table) { r.tables = append(r.tables, t) }

func (r *report) aim(t target) { r.targets = append(r.targets, t) }

// markdown writes the report so that it can be read as text, too.
func (r *report) markdown() string {
	var text strings.Builder
	fmt.Fprintf(&text, "Measured on %s in %s.\n\n", r.began.Format("2006-01-02"), r.finished.Sub(r.began).Round(time.Second))
	writeGrid(&text, r.machineGrid())
	if len(r.targets) > 0 {
		text.WriteString("\n### Targets\n\n")
		writeGrid(&text, r.targetGrid())
	}
	if len(r.tables) > 0 {
		text.WriteString("\n### Measurements\n\n")
		writeGrid(&text, r.tableGrid())
		text.WriteString("\n")
	}
	said := "" // a note that is good for several tables stands once
	for _, t := range r.tables {
		if t.note != said && t.note != "" {
			fmt.Fprintf(&text, "- **%s.** %s\n", t.title, t.note)
			said = t.note
		}
	}
	for _, t := range r.tables {
		if t.curve != nil {
			fmt.Fprintf(&text, "\n![%s](images/%s)\n", t.curve.Title, t.curve.File)
		}
	}
	return text.String()
}

func (r *report) machineGrid() [][]string {
	grid := [][]string{{"machine", ""}}
	for _, entry := range r.machine {
		grid = append(grid, []string{entry[0], entry[1]})
	}
	return grid
}

func (r *report) targetGrid() [][]string {
	grid := [][]string{{"target", "wanted", "measured", ""}}
	for _, t := range r.targets {
		verdict := "**not met**"
		if t.met {
			verdict = "met"
		}
		grid = append(grid, []string{t.what, t.wanted, t.measured, verdict})
	}
	return grid
}

// tableGrid puts all tables into one, each below a row with its title.
func (r *report) tableGrid() [][]string {
	grid := [][]string{{"", "median", "min – max", "rounds", "compared"}}
	for _, t := range r.tables {
		grid = append(grid, []string{"**" + t.title + "**", "", "", "", ""})
		for _, r := range t.rows {
			grid = append(grid, r.cells(t.unit))
		}
	}
	return grid
}

func (r row) cells(u unit) []string {
	median := r.values.median()
	compared := ""
	if len(r.against) > 0 {
		compared = compare(median, r.against.median()) + " than " + r.whose
	}
	between := fmt.Sprintf("%s – %s", u(r.values.least(), median), u(r.values.most(), median))
	return []string{r.name, u(median, median), between, fmt.Sprint(len(r.values)), compared}
}

// writeGrid writes a table whose first row is its head, in aligned columns.
func writeGrid(text *strings.Builder, grid [][]string) {
	widths := make([]int, len(grid[0]))
	for _, cells := range grid {
		for i, cell := range cells {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell), 3)
		}
	}
	for n, cells := range grid {
		for i, cell := range cells {
			fmt.Fprintf(text, "| %-*s ", widths[i], cell)
		}
		text.WriteString("|\n")
		if n == 0 {
			for _, width := range widths {
				text.WriteString("|" + strings.Repeat("-", width+2))
			}
			text.WriteString("|\n")
		}
	}
}

// writeTo puts the report between the marks of a document.
func (r *report) writeTo(path string) error {
	old, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	renewed, err := between(old, r.markdown())
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return os.WriteFile(path, renewed, 0o644)
}

// between replaces what stands between the marks.
func between(document []byte, text string) ([]byte, error) {
	before, rest, found := bytes.Cut(document, []byte(beginMark))
	_, after, closed := bytes.Cut(rest, []byte(endMark))
	if !found || !closed {
		return nil, errors.New("the marks " + beginMark + " and " + endMark + " are missing")
	}
	return fmt.Appendf(nil, "%s%s\n%s%s%s", before, beginMark, text, endMark, after), nil
}
