package answer

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"
	"time"

	"understudy/internal/phrase"
	"understudy/sessions"
	"understudy/tools/resources/uri"
)

// What stands below the output of a run: its pictures, what changed, and what else a
// model can use. Each line costs tokens in every answer, so none says what the model
// knows: what its code plainly assigns, that a quick run went well.

const (
	// mostPictures is how many pictures an answer has: each costs a model as much as a
	// page of text. The rest are named.
	mostPictures = 10
	tooMany      = "an answer shows 10 pictures"
	// toldSeconds is how long a run takes at least whose time is told.
	toldSeconds = 1
)

// figureLines names the figures and their files; the directory of the first is that of all.
func (v view) figureLines() string {
	var lines, unseen []string
	for i, figure := range v.Figures {
		missing := ""
		if v.pictures != nil {
			missing = v.pictures[i].missing
		}
		if missing == tooMany {
			unseen = append(unseen, uri.FileName(figure.Path))
			continue
		}
		path, title := figure.Path, plainTitle(figure)
		if i > 0 {
			path = uri.FileName(path)
		}
		if title != "" {
			title += " — "
		}
		line := fmt.Sprintf("[figure %d] %s%d×%d %s", i+1, title, figure.Width, figure.Height, path)
		if len(figure.Names) > 0 {
			line += "; the code saved it as " + strings.Join(figure.Names, ", ")
		}
		if missing != "" {
			line += "; not shown: " + missing
		}
		if v.partial(i) {
			line += "; in full: " + figure.URI
		}
		lines = append(lines, line)
	}
	if len(unseen) > 0 {
		lines = append(lines, fmt.Sprintf("[figures] not shown, %s: %s", tooMany, SomeNames(unseen, 0)))
	}
	return strings.Join(lines, "\n")
}

// plainTitle is a figure's title on one line.
func plainTitle(figure sessions.Figure) string { return Clip(OneLine(figure.Title), 120) }

// FigureTitle is a figure's title on one line, or its number.
func FigureTitle(i int, figure sessions.Figure) string {
	return cmp.Or(plainTitle(figure), fmt.Sprintf("Figure %d", i+1))
}

// variableLine names the variables that changed, but for those that the code plainly
// assigns. The record has them all.
func (v view) variableLine() string {
	if v.Variables == nil || v.Undone {
		return ""
	}
	var parts []string
	for _, group := range []struct {
		verb  string
		names []string
	}{{"added", v.Variables.Added}, {"changed", v.Variables.Changed}, {"removed", v.Variables.Removed}, {"not compared", v.Variables.NotCompared}} {
		names := group.names[:0:0]
		for i, name := range group.names {
			if i >= mostSought || !assigns(v.Code, name) {
				names = append(names, name)
			}
		}
		if more := v.Variables.More[group.verb]; len(names)+more > 0 {
			parts = append(parts, group.verb+": "+SomeNames(names, more))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return "[variables] " + strings.Join(parts, "; ")
}

// mostSought is how many names of a kind are sought in the code: more than one writes out.
const mostSought = 500

// assigns reports whether a statement of the code binds the name, or deletes it, in so
// many words.
func assigns(code, name string) bool {
	if name == "" || !strings.Contains(code, name) {
		return false
	}
	word := `\b` + regexp.QuoteMeta(name) + `\b`
	// A target, one of several among them, an item or attribute of it, or "def f", "import x
	// as y", "for i, j in".
	bound, err := regexp.Compile(`(?m)(?:^|[;:(,])[^=;#\n"']*` + word + `(?:[\w\s,.*)\[\]:|]|, *\()*(?:[-+*/%&|^@]|//|<<|>>|\*\*)?=[^=]|\b(?:def|class)\s+` + word + `|\b(?:import|as|del|global)\b[^=#\n;:]*` + word + `|\bfor\s+\(*(?:[*\w.)]+\s*,\s*\(*)*\*?` + word + `|` + word + `\s*:=|^\s*` + word + `(?:\.\w+)*(?:\[.*\])?(?:\.\w+)*\s*(?:[-+*/%&|^@]|//|<<|>>|\*\*)?=[^=]`)
	return err == nil && bound.MatchString(code)
}

// SomeNames lists at most twenty names; further ones are only known by number.
func SomeNames(names []string, further int) string {
	const most = 20
	short := make([]string, 0, most)
	for _, name := range names[:min(most, len(names))] {
		short = append(short, Clip(name, 60))
	}
	text := strings.Join(short, ", ")
	if more := len(names) - len(short) + further; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// closing is the last line, only of what a model can use: the interpreter for who named
// one, the time of what took some, the limit where it is near.
func (v view) closing() string {
	if v.Status != sessions.StatusOK && v.Status != sessions.StatusError {
		return "" // another line says it all
	}
	var parts []string
	if v.Named {
		parts = append(parts, v.InterpreterID)
	}
	if v.ExecTime >= toldSeconds {
		parts = append(parts, shortSpan(sessions.SecondsOf(v.ExecTime)))
	}
	if v.TimeLimit > 0 && v.ExecTime > v.TimeLimit/2 {
		parts = append(parts, "time limit "+phrase.Duration(sessions.SecondsOf(v.TimeLimit)))
	}
	if len(parts) == 0 {
		return ""
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

// shortSpan writes in few tokens how long something took that took a second or more.
func shortSpan(d time.Duration) string {
	switch {
	case d < 10*time.Second:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d < time.Hour:
		return fmt.Sprintf("%d s", int(d.Seconds()))
	default:
		return ShortAge(d)
	}
}

// ShortAge writes a duration in the largest unit that it has one of.
func ShortAge(d time.Duration) string {
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%d s", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%d min", int(d.Minutes()))
	default:
		return fmt.Sprintf("%d h", int(d.Hours()))
	}
}
