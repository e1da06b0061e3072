package tools

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"understudy/sessions"
)

// longEnough is how many seconds a run takes before its time is told.
const longEnough = 1

// closing is the last line of a text, only of what a model can use: the time of what
// took some, the limit where it matters, the interpreter to who named one. Most
// answers have none.
func (v view) closing() string {
	var news []string
	if v.named {
		news = append(news, v.InterpreterID)
	}
	if v.ExecTime >= longEnough && !v.Status.Runs() {
		news = append(news, shortSpan(secondsOf(v.ExecTime)))
	}
	switch {
	case v.TimeLimit == 0 && v.Status.Runs():
		news = append(news, "no time limit")
	case v.TimeLimit > 0 && (v.Status.Runs() || v.ExecTime > v.TimeLimit/2) && v.Status != sessions.StatusTimeout:
		news = append(news, "time limit "+sessions.InWords(secondsOf(v.TimeLimit)))
	}
	if v.Tasks > 0 && !v.Status.Runs() {
		news = append(news, sessions.Counted(v.Tasks, "task")+" going on")
	}
	if len(news) == 0 {
		return ""
	}
	return "[" + strings.Join(news, ", ") + "]"
}

// nameInCode is a name in a program, or as good as one.
var nameInCode = regexp.MustCompile(`[\p{L}_][\p{L}\p{N}_]*`)

// variableLine names the variables that have changed and that the code doesn't: those
// that it names its author knows of.
func (v view) variableLine() string {
	if v.Variables == nil {
		return ""
	}
	said := nameInCode.FindAllString(v.code, -1)
	var parts []string
	for _, group := range []struct {
		verb, sign string
		names      []string
	}{{"added", "+", v.Variables.Added}, {"changed", "~", v.Variables.Changed}, {"removed", "-", v.Variables.Removed}} {
		news := slices.DeleteFunc(slices.Clone(group.names), func(name string) bool { return slices.Contains(said, name) })
		if len(news) > 0 {
			parts = append(parts, group.sign+someNames(news, v.Variables.More[group.verb]))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return "[variables] " + strings.Join(parts, "; ")
}

// someNames lists at most twenty names; further ones are only known by number.
func someNames(names []string, further int) string {
	const most = 20
	short := make([]string, 0, most)
	for _, name := range names[:min(most, len(names))] {
		short = append(short, clip(name, 60))
	}
	text := strings.Join(short, ", ")
	if more := len(names) - len(short) + further; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}
