package live

import (
	"fmt"
	"strings"

	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"

	"understudy/internal/journal"
	terminal "understudy/internal/screen"
	"understudy/sessions"
)

// mostDetail bounds the lines of a detail; whoever wants to read more opens the file
// that is named.
const mostDetail = 20_000

// detail is the pane that shows an execution with all that belongs to it.
type detail struct {
	execution *journal.Execution // nil while it is read
	problem   error
	top       int // the first line that is seen

	width int // what lines were made for
	lines []string
	tail  string // the last output of what runs, when lines were made
}

// stale reports whether the execution has changed since it was read.
func (d *detail) stale(e *journal.Execution) bool {
	return d.execution != nil && d.execution.Revision != e.Revision
}

// view returns the lines that are seen. Of what runs, tail is the output so far.
func (d *detail) view(s styles, tail string, width, height int) []string {
	if d.problem != nil {
		return words("It could not be read: "+d.problem.Error(), width)
	}
	if d.execution == nil {
		return []string{fit(s.quiet.Render("reading …"), width)}
	}
	if d.lines == nil || d.width != width || d.tail != tail {
		d.width, d.tail, d.lines = width, tail, describe(d.execution, s, tail, width)
	}
	d.top = max(0, min(d.top, len(d.lines)-height))
	seen := d.lines[d.top:min(len(d.lines), d.top+height)]
	if rest := len(d.lines) - d.top - len(seen); rest > 0 && len(seen) > 1 {
		seen = append(append([]string{}, seen[:len(seen)-1]...), s.quiet.Render(fit("↓ "+many(rest+1, "more line"), width)))
	}
	return seen
}

// describer collects the lines of a detail.
type describer struct {
	styles styles
	width  int
	lines  []string
}

func describe(e *journal.Execution, s styles, tail string, width int) []string {
	d := &describer{styles: s, width: width}
	d.summary(e)
	if t := e.Trial; t != nil {
		d.say("What had been found", t.Analysis)
		d.say("Plan", t.Plan)
	}
	switch e.Kind {
	case sessions.RunsPlugin:
		d.part("Plugin", e.Code+" "+string(e.Arguments))
	case sessions.RunsCommand:
		d.part("Command", e.Code)
	default:
		d.part("Code", e.Code)
	}
	d.part("The last output so far", tail)
	if e.Detail != nil {
		d.rest(e.Detail)
	}
	if len(d.lines) > mostDetail {
		d.lines = append(d.lines[:mostDetail], "… and more, which the journal has")
	}
	return d.lines
}

func (d *describer) summary(e *journal.Execution) {
	title := "Execution " + place(e.Place)
	if t := e.Trial; t != nil {
		title = fmt.Sprintf("Trial #%d (%s)", t.Number, clean(t.Stage))
	}
	d.add(d.styles.title.Render(title))
	mark, word := outcome(e)
	line := d.styles.outcome(e, false, mark+" "+word)
	if t := e.Trial; t != nil {
		if t.MetricName != "" {
			line += "  " + firstLine(t.MetricName) + ", " + direction(t)
		}
		if t.Buggy {
			line += ": " + firstLine(t.Why)
		}
	}
	d.add(line)
	times := "started " + clock(e.Started)
	switch {
	case e.Status == journal.StatusLost && e.ExecTime > 0:
		times += ", ran for " + span(e.ExecTime) + " at least"
	case !runs(e) && e.Status != journal.StatusLost:
		times += ", took " + span(e.ExecTime)
	}
	switch {
	case e.Limit > 0 && (runs(e) || e.Status == journal.StatusLost):
		times += ", time limit " + span(e.Limit)
	case e.Limit > 0:
		times += " of " + span(e.Limit)
	}
	if e.Memory > 0 {
		times += ", " + memory(e.Memory) + " afterwards"
	}
	d.add(d.styles.quiet.Render(times))
	who := "status " + clean(string(e.Status)) + ", interpreter " + place(e.Place)
	if e.Client != "" {
		who += ", client " + firstLine(e.Client)
	}
	d.add(d.styles.quiet.Render(who))
}

func (d *describer) rest(detail *journal.Detail) {
	output := strings.Join(detail.TermOut, "")
	if output == "" {
		output = detail.Stdout.Text + detail.Stderr.Text
	}
	d.part("Output", terminal.Text(output))
	for _, o := range []journal.Output{detail.Stdout, detail.Stderr} {
		if o.Path != "" {
			d.add(d.styles.quiet.Render("all of it: " + clean(o.Path)))
		} else if o.Pending {
			d.add(d.styles.quiet.Render("the file with all of it is being made"))
		}
	}
	r := detail.Record
	d.part("Result", string(r.Result))
	exception := r.Traceback
	if exception == "" && r.ExcType != "" {
		exception = r.ExcType
		if r.ExcInfo != nil {
			exception += ": " + r.ExcInfo.Msg
		}
	}
	d.part("Exception", exception)
	d.say("Restarted", r.RestartReason)
	d.say("Notes", strings.Join(r.Notes, "\n"))
	var figures, artifacts []string
	for _, f := range detail.Figures {
		figures = append(figures, strings.TrimSpace(either(f.File, f.Path)+"  "+f.Title))
	}
	for _, a := range detail.Artifacts {
		artifacts = append(artifacts, strings.TrimSpace(either(a.File, a.Path)+"  "+a.Name))
	}
	d.part("Figures", strings.Join(figures, "\n"))
	d.part("Artifacts", strings.Join(artifacts, "\n"))
}

func either(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// part adds code or output under a title, nothing where it is blank. Its lines are
// broken at the width, so that nothing of them is changed.
func (d *describer) part(title, text string) { d.under(title, wrap(text, d.width)) }

// say does the same with prose, which is broken between words.
func (d *describer) say(title, text string) { d.under(title, words(text, d.width)) }

func (d *describer) under(title string, lines []string) {
	if len(lines) > 0 {
		d.lines = append(d.lines, "", fit(d.styles.title.Render(title), d.width))
		d.lines = append(d.lines, lines...)
	}
}

// add adds a line that is clean and may have colours, over as many lines as it needs.
func (d *describer) add(line string) {
	d.lines = append(d.lines, strings.Split(lipgloss.Wrap(line, max(1, d.width), ""), "\n")...)
}

// wrap breaks a text into lines of a width, clean; a blank one has none.
func wrap(text string, width int) []string {
	return breaking(text, func(text string) string { return ansi.Hardwrap(text, max(1, width), true) })
}

// words does the same between words where it can.
func words(text string, width int) []string {
	return breaking(text, func(text string) string { return ansi.Wrap(text, max(1, width), "") })
}

func breaking(text string, by func(string) string) []string {
	if text = strings.TrimRight(strings.Trim(clean(text), "\n"), " \n"); text == "" {
		return nil
	}
	return strings.Split(by(text), "\n")
}
