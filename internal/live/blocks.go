package live

import (
	"fmt"
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"understudy/internal/journal"
	"understudy/internal/phrase"
	"understudy/sessions"
)

const (
	manyRunning = 3 // more than these get a line each
	codeLines   = 3 // of code that runs
	outputLines = 4 // of what it printed last
)

// blocks are the parts beside the tree, below each other with an empty line between
// them. What runs comes first; where there is no room, blocks at the end are cut, and
// left out.
func (s *screen) blocks(width, height int) []string {
	var all []string
	for _, b := range [][]string{s.now(width, height*2/3), s.interpreters(), s.files(width)} {
		room := height - len(all) - min(len(all), 1)
		if len(b) == 0 || room < min(3, len(b)) {
			continue
		}
		if extra := len(b) - room; extra > 0 {
			b = append(slices.Clone(b[:room-1]), "… "+many(extra+1, "more line"))
		}
		if len(all) > 0 {
			all = append(all, "")
		}
		all = append(append(all, s.styles.title.Render(b[0])), b[1:]...)
	}
	for i := range all {
		all[i] = fit(all[i], width)
	}
	return all
}

// now is what runs at this moment, in a line each where there is no room for more; of a
// killed server, what it took with it.
func (s *screen) now(width, room int) []string {
	var brief, lines []string
	for _, p := range s.picture.heartbeats {
		if p.Execution != 0 {
			brief = append(brief, s.running(p, 0)[0]+"  "+firstLine(p.Code))
			lines = append(lines, s.running(p, width)...)
		}
	}
	if len(brief) > manyRunning || len(lines) >= room {
		lines = brief
	}
	if len(lines) > 0 {
		return append([]string{"Running now"}, lines...)
	}
	for i := range s.picture.executions {
		e := &s.picture.executions[i]
		if e.Status != journal.StatusLost {
			continue
		}
		line := s.styles.bad.Render("◍ "+name(e)) + "  "
		if e.ExecTime > 0 {
			line += "after " + elapsed(e.ExecTime) + "  "
		}
		lines = append(lines, line+subject(e))
	}
	switch {
	case len(lines) > 0:
		return append([]string{"Lost with the server"}, lines...)
	case s.picture.run.Alive:
		return []string{"Running now", s.styles.quiet.Render("nothing")}
	}
	return nil
}

// running is an execution with the beginning of its code and the end of its output.
func (s *screen) running(p journal.Heartbeat, width int) []string {
	took := s.picture.at.Sub(p.Started)
	line := s.styles.busy.Render(fmt.Sprintf("◌ %s@%d", shortID(p.InterpreterID), p.Execution)) + "  " + elapsed(took)
	if p.Limit > 0 && width > 0 {
		line += " of " + phrase.Short(p.Limit) + "  " + s.styles.bar(took.Seconds(), p.Limit.Seconds(), min(widestBar, width/4))
	}
	if p.Memory > 0 {
		line += "  " + memory(p.Memory)
	}
	if calls := toolCalls(p.ToolCalls); calls != "" {
		line += "  " + calls
	}
	if p.Waiting > 0 {
		line += "  " + many(p.Waiting, "call") + " waiting"
	}
	lines := []string{line}
	code := spoken(clean(p.Code))
	for _, l := range code[:min(codeLines, len(code))] {
		lines = append(lines, s.styles.quiet.Render("  │ ")+l)
	}
	if rest := len(code) - codeLines; rest > 0 {
		lines = append(lines, s.styles.quiet.Render("  │ … "+many(rest, "more line")))
	}
	output := spoken(printed(p.Tail))
	for _, l := range output[max(0, len(output)-outputLines):] {
		lines = append(lines, s.styles.quiet.Render("  › ")+l)
	}
	return lines
}

// interpreters lists them, those that live first and of these the newest.
func (s *screen) interpreters() []string {
	heartbeats := map[string]journal.Heartbeat{}
	for _, heartbeat := range s.picture.heartbeats {
		heartbeats[heartbeat.InterpreterID] = heartbeat
	}
	var living, ended []string
	for _, in := range slices.Backward(s.picture.interpreters) {
		if line := s.interpreter(in, heartbeats); in.Ended.IsZero() {
			living = append(living, line)
		} else {
			ended = append(ended, line)
		}
	}
	if len(living)+len(ended) == 0 {
		return nil
	}
	title := "Interpreters"
	if s.picture.run.Alive {
		title += fmt.Sprintf(" (%s of %s live)", number(len(living)), number(len(living)+len(ended)))
	}
	return append(append([]string{title}, living...), ended...)
}

func (s *screen) interpreter(in journal.Interpreter, heartbeats map[string]journal.Heartbeat) string {
	heartbeat := heartbeats[in.ID]
	status, style := "idle", s.styles.quiet.UnsetForeground()
	switch run := s.picture.run; {
	case !in.Ended.IsZero() || !run.Alive && !run.Ended.IsZero():
		status, style = "ended", s.styles.quiet
	case !run.Alive:
		status, style = "lost", s.styles.quiet
	case heartbeat.Execution != 0:
		status, style = "running", s.styles.busy
	}
	line := shortID(in.ID) + "  " + fill(status, len("running"))
	switch at := in.Present; {
	case at.Execution > 0 && at.InterpreterID != in.ID:
		line += "  as after " + place(at)
	case at.Execution > 0:
		line += fmt.Sprintf("  @%d", at.Execution)
	}
	if m := memory(heartbeat.Memory); m != "" {
		line += "  " + m
	}
	if in.Parent != "" {
		line += "  branch of " + place(in.Origin)
	}
	if in.Client != "" {
		line += "  " + firstLine(in.Client)
	}
	return style.Render(line)
}

// files are the paths.
func (s *screen) files(width int) []string {
	lines := []string{"Files"}
	add := func(label, path string) {
		if path != "" {
			label = fill(label, len("experiments")) + "  "
			lines = append(lines, s.styles.quiet.Render(label)+fitLeft(clean(path), width-len(label)))
		}
	}
	add("journal", s.path)
	r := s.picture.run
	if x := s.experiment(); x != nil && r.RunDir != "" {
		add("tree", treePage(r, x.name))
	} else {
		add("experiments", r.RunDir)
	}
	add("workspace", r.Workspace)
	return lines
}

// detail is an execution with all that belongs to it.
func (s *screen) detail(width int) []string {
	e := s.picture.opened
	if e == nil || e.ID != s.opened {
		return []string{s.styles.quiet.Render("reading …")}
	}
	d := page{styles: s.styles, width: width}
	d.summary(e)
	if t := e.Trial; t != nil {
		d.part("What had been found", clean(t.Analysis))
		d.part("Plan", clean(ansi.Strip(t.Plan)))
	}
	switch e.Kind {
	case sessions.RunsPlugin:
		d.part("Plugin", clean(e.Code+" "+string(e.Arguments)))
	case sessions.RunsCommand:
		d.part("Command", clean(e.Code))
	default:
		d.part("Code", clean(e.Code))
	}
	for _, p := range s.picture.heartbeats {
		if runs(e) && p.InterpreterID == e.Place.InterpreterID && p.Execution == e.Place.Execution {
			d.part("The last output so far", printed(p.Tail))
		}
	}
	if e.Detail != nil {
		d.rest(e.Detail)
	}
	return d.lines
}

// snapshot is the screen without an end.
func (s *screen) snapshot() string {
	const width = 120
	lines := []string{s.heading()}
	for _, line := range []string{s.progress(width), s.taskLine()} {
		if line != "" {
			lines = append(lines, line)
		}
	}
	lines = append(lines, "", s.treeTitle())
	for _, r := range s.rows {
		lines = append(lines, r.line(s.styles, &s.picture, width, false))
	}
	for _, b := range [][]string{s.now(width, 1<<16), s.interpreters(), s.files(1 << 16)} { // paths are there to be copied
		if len(b) > 0 {
			lines = append(append(lines, ""), b...)
		}
	}
	for i, l := range lines {
		lines[i] = strings.TrimRight(l, " ")
	}
	return strings.Join(lines, "\n") + "\n"
}
