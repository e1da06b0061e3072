package live

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"understudy/internal/journal"
	"understudy/internal/phrase"
)

// mostPage bounds the lines of a page; whoever wants to read more opens the file that
// is named.
const mostPage = 20_000

// page collects the lines that show an execution.
type page struct {
	styles styles
	width  int
	lines  []string
}

// add adds text that is clean and may have colours, over as many lines as it needs.
func (d *page) add(text string) {
	if len(d.lines) < mostPage {
		lines := strings.Split(ansi.Wrap(text, max(1, d.width), ""), "\n")
		d.lines = append(d.lines, lines[:min(len(lines), mostPage)]...)
	}
}

// part adds text under a title, nothing where it is blank.
func (d *page) part(title, text string) {
	if text = strings.TrimRight(strings.Trim(text, "\n"), " \n"); text != "" {
		d.lines = append(d.lines, "", d.styles.title.Render(title))
		d.add(text)
	}
}

func (d *page) summary(e *journal.Execution) {
	title := "Execution " + place(e.Place)
	t := e.Trial
	if t != nil {
		title = fmt.Sprintf("Trial #%d (%s)", t.Number, clean(t.Stage))
	}
	d.add(d.styles.title.Render(title))
	mark, word := outcome(e)
	line := d.styles.outcome(e, false).Render(mark + " " + word)
	if t != nil && t.MetricName != "" {
		line += "  " + firstLine(t.MetricName) + ", " + direction(t)
	}
	if t != nil && t.Buggy {
		line += ": " + firstLine(t.Why)
	}
	d.add(line)
	times := "started " + clock(e.Started)
	unfinished := runs(e) || e.Status == journal.StatusLost
	switch {
	case !unfinished:
		times += ", took " + phrase.Short(e.ExecTime)
	case e.ExecTime > 0:
		times += ", ran for " + phrase.Short(e.ExecTime) + " at least"
	}
	if e.Limit > 0 {
		times += ", time limit " + phrase.Short(e.Limit)
	}
	if e.Memory > 0 {
		times += ", " + memory(e.Memory) + " afterwards"
	}
	d.add(d.styles.quiet.Render(times))
	if calls := toolCalls(e.ToolCalls); calls != "" {
		d.add(d.styles.quiet.Render(calls))
	}
	who := "status " + clean(string(e.Status)) + ", interpreter " + place(e.Place)
	if e.Client != "" {
		who += ", client " + firstLine(e.Client)
	}
	d.add(d.styles.quiet.Render(who))
}

// rest adds what is known of an execution once it has ended.
func (d *page) rest(detail *journal.Detail) {
	d.part("Output", printed(cmp.Or(strings.Join(detail.TermOut, ""), detail.Stdout.Text+detail.Stderr.Text)))
	for _, o := range []journal.Output{detail.Stdout, detail.Stderr} {
		if o.Path != "" {
			d.add(d.styles.quiet.Render("all of it: " + clean(o.Path)))
		}
	}
	var calls []string
	for _, u := range detail.ToolUses {
		calls = append(calls, toolUse(u))
	}
	d.part("Tool calls", strings.Join(calls, "\n"))
	r := detail.Record
	d.part("Result", clean(string(r.Result)))
	exception := cmp.Or(r.Traceback, r.ExcType)
	if r.Traceback == "" && r.ExcInfo != nil {
		exception += ": " + r.ExcInfo.Msg
	}
	d.part("Exception", printed(exception))
	d.part("Restarted", clean(r.RestartReason))
	d.part("Notes", clean(strings.Join(r.Notes, "\n")))
	var figures, artifacts []string
	for _, f := range detail.Figures {
		figures = append(figures, cmp.Or(f.File, f.Path)+"  "+f.Title)
	}
	for _, a := range detail.Artifacts {
		artifacts = append(artifacts, cmp.Or(a.File, a.Path)+"  "+a.Name)
	}
	d.part("Figures", clean(strings.Join(figures, "\n")))
	d.part("Artifacts", clean(strings.Join(artifacts, "\n")))
}
