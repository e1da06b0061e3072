package report

import (
	_ "embed"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"understudy/internal/journal"
	"understudy/sessions"
)

// Helpers that stand in a script which needs them.
var (
	//go:embed solution_begin.py
	beginHelper string
	//go:embed solution_artifact.py
	artifactHelper string
	//go:embed solution_display.py
	displayHelper string
	//go:embed solution.py
	runHelper string
	//go:embed solution_shell.py
	shellHelper string
)

// PlainPython makes one script of cells, which Python runs without a notebook's help:
// cells behind "# %%", magics as calls, what awaits at top level in an event loop, and
// what failed so that the script goes on behind it. What is lost with its process, and
// what needs more than Python, is left as comments. head is put in front, as comments
// too.
func PlainPython(head string, cells []Cell) string {
	var p plain
	for i, cell := range cells {
		p.add(i+1, cell)
	}
	var script strings.Builder
	script.WriteString(comment(head))
	if len(p.futures) > 0 {
		fmt.Fprintf(&script, "\nfrom __future__ import %s\n", strings.Join(p.futures, ", "))
	}
	script.WriteString("\n\n" + beginHelper)
	for _, helper := range []struct {
		needed bool
		text   string
	}{{mentionsArtifact.MatchString(p.body.String()), artifactHelper}, {mentionsDisplay.MatchString(p.body.String()), displayHelper}, {p.runs, runHelper}, {p.shells, shellHelper}} {
		if helper.needed {
			script.WriteString("\n\n" + helper.text)
		}
	}
	script.WriteString("\n" + p.body.String())
	return script.String()
}

// mentionsArtifact and mentionsDisplay find code that may call what sessions have beside
// Python.
var (
	mentionsArtifact = regexp.MustCompile(`\bartifact\b`)
	mentionsDisplay  = regexp.MustCompile(`\bdisplay\(`)
)

// plain is a script that is being made.
type plain struct {
	body    strings.Builder
	futures []string
	runs    bool // it needs understudy_run
	shells  bool // it needs understudy_shell and understudy_install
}

func (p *plain) add(number int, c Cell) {
	e := c.Execution
	title := fmt.Sprintf("\n# %%%% [%d] %s", number, placeName(e))
	if e.Trial != nil {
		title += fmt.Sprintf(", trial %d (%s)", e.Trial.Number, e.Trial.Stage)
	}
	p.body.WriteString(title + "\n")
	if e.Trial != nil && strings.TrimSpace(e.Trial.Plan) != "" {
		p.body.WriteString(comment(e.Trial.Plan))
	}
	if c.Note != "" {
		p.body.WriteString(comment(c.Note))
	}
	switch {
	case e.Kind == sessions.RunsPlugin:
		p.body.WriteString(comment("Left out, as plugins live in the server: " + c.Code))
	case c.Refused && !c.Skipped:
		p.body.WriteString(comment(refusal(e) + "\n" + c.Code))
	case c.Skipped:
		p.body.WriteString(comment(c.Code))
	case e.Kind == sessions.RunsCommand:
		p.shells = true
		fmt.Fprintf(&p.body, "understudy_shell(%s%s)\n", pythonText(plainEnds(e.Code)), endedAfter(e))
	default:
		p.addCode(c)
	}
}

func (p *plain) addCode(c Cell) {
	code := p.withoutCellMagic(withoutPrompts(plainEnds(c.Code)))
	found := scanPython(code)
	code = p.rewrite(code, found)
	switch {
	case c.Failed:
		p.runs = true
		p.body.WriteString(comment(fmt.Sprintf("It failed (%s). It is run all the same, for what it did before that.", failure(c.Execution))))
		fmt.Fprintf(&p.body, "understudy_run(%s, fails=True%s)\n", pythonText(code), endedAfter(c.Execution))
	case found.awaits:
		p.runs = true
		fmt.Fprintf(&p.body, "understudy_run(%s)\n", pythonText(code))
	default:
		p.body.WriteString(strings.TrimRight(code, "\n") + "\n")
	}
}

// endedAfter is the argument that says after how long an execution was ended from
// outside, "" where it ended itself.
func endedAfter(e journal.Execution) string {
	if e.Status != sessions.StatusTimeout && e.Status != sessions.StatusInterrupted {
		return ""
	}
	return ", after=" + strconv.FormatFloat(max(0.1, e.ExecTime.Seconds()), 'f', 1, 64)
}

// rewrite puts calls in the place of magics, and takes __future__ imports out, which
// may stand at the beginning of a script only.
func (p *plain) rewrite(code string, found scanned) string {
	found.futures = slices.DeleteFunc(found.futures, func(f futureImport) bool {
		return slices.ContainsFunc(f.names, func(name string) bool { return !slices.Contains(features, name) })
	})
	for _, f := range slices.Backward(found.futures) {
		code = code[:f.start] + "pass" + code[f.end:]
	}
	for _, f := range found.futures {
		for _, name := range f.names {
			if !slices.Contains(p.futures, name) {
				p.futures = append(p.futures, name)
			}
		}
	}
	if len(found.magics) == 0 {
		return code
	}
	found = scanPython(code) // the places have moved
	for _, m := range slices.Backward(found.magics) {
		code = code[:m.start] + p.call(code[m.start:m.end], m.captured) + code[m.end:]
	}
	return code
}

// features are what Python has in __future__. With any other no script would begin.
var features = []string{
	"absolute_import", "annotations", "barry_as_FLUFL", "division", "generator_stop", "generators",
	"nested_scopes", "print_function", "unicode_literals", "with_statement",
}

// plainEnds has lines end with "\n", as Python's tokenizer sees them.
func plainEnds(code string) string {
	return strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(code)
}

// comment makes comments of the lines of a text.
func comment(text string) string {
	text = shownCode(strings.TrimRight(plainEnds(text), "\n"))
	var commented strings.Builder
	for line := range strings.SplitSeq(text, "\n") {
		commented.WriteString(strings.TrimRight("# "+line, " \t") + "\n")
	}
	return commented.String()
}

// pythonText writes code as a literal of Python, over several lines where it has some.
func pythonText(code string) string {
	if !strings.Contains(code, "\n") {
		return pythonString(code)
	}
	code = strings.TrimRight(code, "\n") + "\n"
	for _, quotes := range []string{"'''", `"""`} {
		if !strings.Contains(code, quotes) && !strings.ContainsFunc(code, isHidden) {
			return "r" + quotes + "\n" + code + quotes
		}
	}
	var lines strings.Builder
	for line := range strings.Lines(code) {
		lines.WriteString("\n    " + pythonString(line))
	}
	return lines.String() + "\n"
}
