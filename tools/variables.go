package tools

import (
	"fmt"
	"path"
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

// found is what of a namespace is to be listed.
type found struct {
	sessions.Namespace
	match
	all int // variables, those that don't match among them
}

// of returns what matches.
func (m match) of(all sessions.Namespace) found {
	f := found{Namespace: all, match: m, all: len(all.Variables) + all.LeftOut}
	if m.pattern == "" {
		return f
	}
	f.Variables = nil
	for _, v := range all.Variables {
		if m.fits(v.Name) || m.fits(v.Type) {
			f.Variables = append(f.Variables, v)
		}
	}
	f.Functions, f.Classes, f.Imports = m.names(all.Functions), m.names(all.Classes), m.names(all.Imports)
	return f
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

// described lists a namespace, one variable a line, as many as the budget has
// room for.
func described(f found, remarks []string, budget int) reply {
	heads := make([]string, 0, min(len(f.Variables), mostVariables))
	for _, v := range f.Variables[:cap(heads)] {
		heads = append(heads, variableHead(v))
	}
	alignColumns(heads)
	others := answer.Sections(
		lineOf("functions", f.Functions), lineOf("classes", f.Classes), lineOf("imports", f.Imports))
	room := budget - utf8.RuneCountInString(others) - 300 // the first line, and the one about the rest
	share := min(max(valueRoom/max(len(heads), 1), leastValue), mostValue)
	var lines []string
	for i, head := range heads {
		line := strings.TrimRight(head+valueOf(f.Variables[i], share), " ")
		if room -= utf8.RuneCountInString(line) + 1; room < 0 && i > 0 {
			break
		}
		lines = append(lines, line)
	}
	record := f.record(len(lines))
	text := answer.Sections(f.title(), strings.Join(lines, "\n"), f.rest(len(lines)), others, notes(remarks))
	if len(remarks) > 0 {
		record["notes"] = remarks
	}
	return reply{text, record}
}

func (f found) record(shown int) map[string]any {
	record := map[string]any{"variables": append([]sessions.Variable{}, f.Variables[:shown]...)}
	for key, names := range map[string][]string{"functions": f.Functions, "classes": f.Classes, "imports": f.Imports} {
		if len(names) > 0 {
			record[key] = names
		}
	}
	if left := f.left(shown); left > 0 {
		record["left_out"] = left
	}
	return record
}

// left is how many variables are not listed.
func (f found) left(shown int) int {
	if f.pattern != "" {
		return len(f.Variables) - shown
	}
	return f.all - shown
}

func (f found) title() string {
	switch {
	case f.all == 0:
		return "No variables are defined."
	case f.pattern != "" && len(f.Variables) == 0:
		if f.LeftOut > 0 {
			return fmt.Sprintf("None of the first %s of %s matches %q.", humanize.Comma(int64(f.all-f.LeftOut)), phrase.Count(f.all, "variable"), answer.Clip(f.asked, 60))
		}
		return fmt.Sprintf("None of %s matches %q.", phrase.Count(f.all, "variable"), answer.Clip(f.asked, 60))
	case f.pattern != "":
		return fmt.Sprintf("%d of %s:", len(f.Variables), phrase.Count(f.all, "variable"))
	}
	return phrase.Count(f.all, "variable") + ":"
}

// rest tells of what is not listed, and how to see it.
func (f found) rest(shown int) string {
	var parts []string
	if left := f.left(shown); left > 0 {
		parts = append(parts, fmt.Sprintf("[%s more left out; narrow the list with match, or look them up with code]", humanize.Comma(int64(left))))
	}
	if f.pattern != "" && f.LeftOut > 0 {
		parts = append(parts, fmt.Sprintf("[of %s only the first %s were looked at]", phrase.Count(f.all, "variable"), humanize.Comma(int64(f.all-f.LeftOut))))
	}
	return strings.Join(parts, "\n")
}

// variableHead has the columns before the value, with tabs between.
func variableHead(v sessions.Variable) string {
	kind := answer.Clip(answer.OneLine(v.Type), 80)
	switch {
	case v.Shape != nil:
		kind += " " + dimensions(v.Shape)
	case v.Length != nil:
		kind += " len " + humanize.Comma(int64(*v.Length))
	}
	size := ""
	if v.Size >= humanize.KiByte { // of small values it would be noise
		size = humanize.IBytes(uint64(v.Size))
	}
	return answer.Clip(answer.OneLine(v.Name), 100) + "\t" + kind + "\t" + size
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

// alignColumns puts spaces in the place of tabs, so that columns stand below each
// other as far as few long entries let them. A column that is empty has no width.
func alignColumns(rows []string) {
	most := [2]int{nameColumn, typeColumn}
	var widths [3]int
	for _, row := range rows {
		for i, cell := range strings.Split(row, "\t") {
			if n := utf8.RuneCountInString(cell); i == len(most) || n <= most[i] {
				widths[i] = max(widths[i], n)
			}
		}
	}
	for r, row := range rows {
		var b strings.Builder
		for i, cell := range strings.Split(row, "\t") {
			if widths[i] == 0 && cell == "" {
				continue
			}
			b.WriteString(cell)
			b.WriteString(strings.Repeat(" ", max(0, widths[i]-utf8.RuneCountInString(cell))+2))
		}
		rows[r] = b.String()
	}
}

// lineOf lists names after a label.
func lineOf(label string, names []string) string {
	if len(names) == 0 {
		return ""
	}
	text, shown := label+": ", 0
	for i, name := range names {
		name = answer.OneLine(name)
		if i > 0 {
			name = ", " + name
		}
		if i > 0 && utf8.RuneCountInString(text)+utf8.RuneCountInString(name) > lineOfNames {
			break
		}
		text += answer.Clip(name, lineOfNames)
		shown++
	}
	if left := len(names) - shown; left > 0 {
		text += fmt.Sprintf(" and %d more", left)
	}
	return text
}

func dimensions(shape []int) string {
	parts := make([]string, len(shape))
	for i, n := range shape {
		parts[i] = fmt.Sprint(n)
	}
	if len(parts) == 1 {
		return "(" + parts[0] + ",)"
	}
	return "(" + strings.Join(parts, ", ") + ")"
}
