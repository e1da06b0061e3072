package tools

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/dustin/go-humanize"

	"understudy/internal/phrase"
	"understudy/schemas"
	"understudy/sessions"
	"understudy/tools/answer"
)

// Bounds of what a model reads of variables, in characters but for the first.
const (
	mostVariables = 200  // that are listed
	valueRoom     = 8000 // that the values share
	leastValue    = 60   // that each value has
	mostValue     = 500  // at most; the worker makes no more
	longestCell   = 60   // of a name, and of a type
	nameColumn    = 24   // as far as columns are aligned
	typeColumn    = 32
	lineOfNames   = 800 // for functions, classes and imports, each
)

// match says which names of a namespace are meant.
type match struct {
	asked   string
	pattern string // in small letters; "" is all
}

func newMatch(asked string) (match, error) {
	pattern := strings.ToLower(strings.TrimSpace(asked))
	if _, err := path.Match(pattern, ""); err != nil {
		return match{}, &schemas.ArgumentError{Argument: "match", Message: fmt.Sprintf(
			"argument \"match\" is no pattern: %q; give a part of a name or type, or a pattern as df_* or *Frame", answer.Clip(asked, 60))}
	}
	return match{asked, pattern}, nil
}

func (m match) fits(text string) bool {
	text = strings.ToLower(text)
	if !strings.ContainsAny(m.pattern, "*?[") {
		return strings.Contains(text, m.pattern)
	}
	ok, err := path.Match(m.pattern, text)
	return ok && err == nil
}

// of returns what of a namespace matches.
func (m match) of(n sessions.Namespace) sessions.Namespace {
	n.Variables = slices.DeleteFunc(slices.Clone(n.Variables), func(v sessions.Variable) bool { return !m.fits(v.Name) && !m.fits(v.Type) })
	n.Functions, n.Classes, n.Imports = m.names(n.Functions), m.names(n.Classes), m.names(n.Imports)
	return n
}

// names returns those of which what comes before a bracket matches.
func (m match) names(all []string) (some []string) {
	for _, each := range all {
		name, _, _ := strings.Cut(strings.TrimPrefix(each, "async "), "(")
		if m.fits(strings.TrimSpace(name)) {
			some = append(some, each)
		}
	}
	return some
}

// described lists what matches of a namespace, one variable a line, as many as the budget has
// room for.
func described(all sessions.Namespace, m match, remarks []string, budget int) reply {
	found := m.of(all)
	others := answer.Sections(
		lineOf("functions", found.Functions), lineOf("classes", found.Classes), lineOf("imports", found.Imports))
	lines := variableLines(found.Variables, budget-utf8.RuneCountInString(others)-300) // the first line, and those about the rest

	total, looked := len(all.Variables)+all.LeftOut, len(all.Variables)
	left := len(found.Variables) - len(lines)
	title := phrase.Count(total, "variable") + ":"
	switch {
	case total == 0:
		title = "No variables are defined."
	case m.pattern == "":
		left += all.LeftOut
	case len(found.Variables) == 0:
		title = fmt.Sprintf("None of %s matches %q.", phrase.Count(total, "variable"), answer.Clip(m.asked, 60))
	default:
		title = fmt.Sprintf("%d of %s", len(found.Variables), title)
	}
	var rest, unseen string
	if left > 0 {
		rest = fmt.Sprintf("[%s more left out; narrow the list with match, or look them up with code]", humanize.Comma(int64(left)))
	}
	if m.pattern != "" && looked < total {
		unseen = fmt.Sprintf("[of %s only the first %s were looked at]", phrase.Count(total, "variable"), humanize.Comma(int64(looked)))
	}

	record := map[string]any{"variables": append([]sessions.Variable{}, found.Variables[:len(lines)]...)}
	for key, names := range map[string][]string{"functions": found.Functions, "classes": found.Classes, "imports": found.Imports, "notes": remarks} {
		if len(names) > 0 {
			record[key] = names
		}
	}
	if left > 0 {
		record["left_out"] = left
	}
	return reply{answer.Sections(title, strings.Join(lines, "\n"), rest, unseen, others, answer.NoteLines(remarks)), record}
}

// variableLines describes as many variables as fit into room characters, one at least, in
// columns, of which one that is empty has no width.
func variableLines(variables []sessions.Variable, room int) (lines []string) {
	variables = variables[:min(len(variables), mostVariables)]
	share := min(max(valueRoom/max(len(variables), 1), leastValue), mostValue)
	rows := make([][]string, len(variables))
	for i, v := range variables {
		rows[i] = []string{cell(v.Name), kindOf(v), sizeOf(v), valueOf(v, share)}
	}
	for _, line := range aligned(rows) {
		if room -= utf8.RuneCountInString(line) + 1; room < 0 && len(lines) > 0 {
			break
		}
		lines = append(lines, line)
	}
	return lines
}

// aligned puts cells into columns as far as few long entries let them: what pads each line to
// the longest of all is paid for by what there is no room for.
func aligned(rows [][]string) (lines []string) {
	most := []int{nameColumn, typeColumn}
	widths := make([]int, len(most)+1)
	for _, row := range rows {
		for i := range widths {
			if n := utf8.RuneCountInString(row[i]); i == len(most) || n <= most[i] {
				widths[i] = max(widths[i], n)
			}
		}
	}
	for _, row := range rows {
		var line strings.Builder
		for i, text := range row {
			line.WriteString(text)
			if i < len(widths) && (widths[i] > 0 || text != "") {
				line.WriteString(strings.Repeat(" ", max(0, widths[i]-utf8.RuneCountInString(text))+2))
			}
		}
		lines = append(lines, strings.TrimRight(line.String(), " "))
	}
	return lines
}

// cell is a name or a type, which may be any text.
func cell(text string) string { return answer.Clip(answer.OneLine(text), longestCell) }

func kindOf(v sessions.Variable) string {
	switch kind := cell(v.Type); {
	case len(v.Shape) == 1:
		return fmt.Sprintf("%s (%d,)", kind, v.Shape[0])
	case v.Shape != nil:
		return kind + " (" + strings.Trim(strings.ReplaceAll(fmt.Sprint(v.Shape), " ", ", "), "[]") + ")"
	case v.Length != nil:
		return kind + " len " + humanize.Comma(int64(*v.Length))
	default:
		return kind
	}
}

func sizeOf(v sessions.Variable) string {
	if v.Size < humanize.KiByte { // of small values it would be noise
		return ""
	}
	return humanize.IBytes(uint64(v.Size))
}

// valueOf is what a variable holds, or begins with. What a type and its extent
// say already is not said again.
func valueOf(v sessions.Variable, share int) string {
	value := answer.OneLine(v.Repr)
	if value == "<"+v.Type+" object>" {
		return ""
	}
	return answer.Clip(value, share)
}

// lineOf lists names after a label, the first in any case.
func lineOf(label string, names []string) string {
	if len(names) == 0 {
		return ""
	}
	text := label + ": " + answer.Clip(answer.OneLine(names[0]), lineOfNames)
	for i, name := range names[1:] {
		name = ", " + answer.OneLine(name)
		if utf8.RuneCountInString(text)+utf8.RuneCountInString(name) > lineOfNames {
			return text + fmt.Sprintf(" and %d more", len(names)-i-1)
		}
		text += name
	}
	return text
}
