package report

import (
	_ "embed"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"understudy/internal/journal"
	"understudy/sessions"
)

// Python that stands in a script which needs it.
var (
	//go:embed script_begin.py
	scriptBegin string
	//go:embed script_session.py
	scriptSession string
	//go:embed script_run.py
	scriptRun string
	//go:embed script_shell.py
	scriptShell string
	//go:embed script_metric.py
	scriptMetric string
)

// Script makes a Python file that runs without Jupyter, with "# %%" between its cells,
// which many editors know. It has no outputs.
func (d *Document) Script() []byte {
	return []byte(script(append([]string{d.title() + ".", ""}, d.facts()...), d.Cells))
}

// solution is best_solution.py: what was run from the first execution to the best
// trial, and its metric printed at the end. It is nil where nothing was measured.
func solution(x *Experiment) []byte {
	if x.Best == nil {
		return nil
	}
	trial := x.Best.Trial
	head := []string{
		fmt.Sprintf("Best solution: trial %d of run %s, %s = %s (%s is better).",
			trial.Number, x.Run.ID, trial.MetricName, number(*trial.Metric), direction(trial.Maximize)),
		"",
		"Run it in a directory that has the files which it reads.",
	}
	if x.Run.Workspace != "" {
		head[2] = "Made in " + x.Run.Workspace + "; run it in such a directory, with the same input/."
	}
	if x.Run.Python != "" {
		head = append(head, "Python was "+x.Run.Python+".")
	}
	text := script(head, newCells(x.Line))
	if identifier.MatchString(trial.MetricName) {
		text += fmt.Sprintf("\n\n# %%%% The metric\n%s\n\nunderstudy_metric(%s, %s, %s)\n", scriptMetric,
			strconv.Quote(trial.MetricName), trial.MetricName, strconv.FormatFloat(*trial.Metric, 'g', -1, 64))
	}
	return []byte(text)
}

var identifier = regexp.MustCompile(`^[\pL_][\pL\pN_]*$`)

// asText finds code that a script runs from a text: what awaits at top level, and what a
// file may have at its beginning only. It may find too much, as any code runs the same so.
var asText = regexp.MustCompile(`\bawait\b|\basync[ \t]+(?:for|with)\b|\b__future__\b`)

// plainPython is what the code of a cell became as it ran, and whether that is known.
// Where it was not told, as by earlier versions, a script finds it out as it runs.
func plainPython(c Cell) (code string, known bool) {
	code = c.Code
	if d := c.Execution.Detail; d != nil && d.Python != nil {
		known = true
		if *d.Python != "" {
			code = *d.Python
		}
	}
	return plainEnds(code), known
}

var (
	// laterAnnotations finds the one __future__ import that still means something.
	laterAnnotations = regexp.MustCompile(`from[ \t]+__future__[ \t]+import[^;]*?\bannotations\b`)
	// inSessions finds code that may call what sessions have beside Python.
	inSessions = regexp.MustCompile(`\bartifact\b|\bdisplay\(`)
)

// script makes one script of cells: the Python that ran. What awaits is run from texts, and
// so is what failed, so that the script goes on behind it. What is lost with its process,
// and what needs more than Python, is left as comments, as is head.
func script(head []string, cells []Cell) string {
	var body strings.Builder
	later := false
	for i, cell := range cells {
		writeCell(&body, i+1, cell)
		later = later || !cell.Skipped && laterAnnotations.MatchString(cell.Code)
	}
	var text strings.Builder
	text.WriteString(comment(strings.Join(head, "\n")))
	if later {
		text.WriteString("\nfrom __future__ import annotations\n")
	}
	text.WriteString("\n\n" + scriptBegin)
	tools := replay(cells)
	withIPython := strings.Contains(body.String(), "get_ipython(")
	for _, helper := range []struct {
		needed bool
		text   string
	}{
		{inSessions.MatchString(body.String()), scriptSession},
		{strings.Contains(body.String(), "understudy_run(") || withIPython, scriptRun},
		{withIPython, "understudy_ipython()\n"},
		{strings.Contains(body.String(), "understudy_shell("), scriptShell},
		{tools != "", tools},
	} {
		if helper.needed {
			text.WriteString("\n\n" + helper.text)
		}
	}
	return text.String() + "\n" + body.String()
}

func writeCell(to *strings.Builder, number int, c Cell) {
	e := c.Execution
	title := fmt.Sprintf("\n# %%%% [%d] %s", number, placeName(e))
	if e.Trial != nil {
		title += fmt.Sprintf(", trial %d (%s)", e.Trial.Number, e.Trial.Stage)
	}
	to.WriteString(title + "\n")
	if e.Trial != nil && strings.TrimSpace(e.Trial.Plan) != "" {
		to.WriteString(comment(e.Trial.Plan))
	}
	if c.Note != "" {
		to.WriteString(comment(c.Note))
	}
	if calls := toolCalls(e); len(calls) > 0 {
		to.WriteString(comment(strings.Join(calls, "\n")))
	}
	code, known := plainPython(c)
	switch {
	case e.Kind == sessions.RunsPlugin:
		to.WriteString(comment("Left out, as plugins live in the server: " + code))
	case c.Refused && !c.Skipped:
		to.WriteString(comment(refusal(e) + "\n" + code))
	case c.Skipped:
		to.WriteString(comment(code))
	case e.Kind == sessions.RunsCommand:
		fmt.Fprintf(to, "understudy_shell(%s%s)\n", pythonText(plainEnds(e.Code)), endedAfter(e))
	case c.Failed:
		to.WriteString(comment(fmt.Sprintf("It failed (%s). It is run all the same, for what it did before that.", failure(e))))
		fmt.Fprintf(to, "understudy_run(%s, fails=True%s)\n", pythonText(code), endedAfter(e))
	case !known || asText.MatchString(code) || strings.ContainsFunc(code, isHidden):
		fmt.Fprintf(to, "understudy_run(%s)\n", pythonText(code))
	default:
		to.WriteString(strings.Trim(code, "\n") + "\n")
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

// plainEnds has lines end with "\n", as Python's tokenizer sees them.
func plainEnds(code string) string {
	return strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(code)
}

// comment makes comments of the lines of a text.
func comment(text string) string {
	var commented strings.Builder
	for line := range strings.SplitSeq(shownCode(strings.TrimRight(plainEnds(text), "\n")), "\n") {
		commented.WriteString(strings.TrimRight("# "+line, " \t") + "\n")
	}
	return commented.String()
}

// pythonText writes code as a literal of Python, over several lines where it has some.
func pythonText(code string) string {
	if !strings.Contains(code, "\n") {
		return strconv.Quote(code)
	}
	code = strings.TrimRight(code, "\n") + "\n"
	for _, quotes := range []string{"'''", `"""`} {
		if !strings.Contains(code, quotes) && !strings.ContainsFunc(code, isHidden) {
			return "r" + quotes + "\n" + code + quotes
		}
	}
	var lines strings.Builder
	for line := range strings.Lines(code) {
		lines.WriteString("\n    " + strconv.Quote(line))
	}
	return lines.String() + "\n"
}
