package live

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"understudy/internal/journal"
	terminal "understudy/internal/screen"
)

// block is a titled part of the screen.
type block struct {
	title string
	lines []string
	// keep says which block is cut first where there is no room: that with the least.
	keep int
	// brief are the lines to show where there is no room for all; nil for none.
	brief []string
}

const (
	manyRunning = 3   // more than these get a line each
	codeLines   = 3   // of code that runs
	outputLines = 4   // of what it printed last
	widestBar   = 40  // columns
	mostListed  = 200 // interpreters
)

// share cuts blocks until they fit into a height with an empty line between each
// two.
func share(blocks []block, height int) []block {
	blocks = slices.DeleteFunc(slices.Clone(blocks), func(b block) bool { return len(b.lines) == 0 })
	for i := range blocks {
		if b := &blocks[i]; b.brief != nil && len(b.lines) >= height {
			b.lines = b.brief
		}
	}
	for len(blocks) > 0 {
		extra := -height - 1
		least := 0
		for i, b := range blocks {
			extra += len(b.lines) + 2
			if b.keep < blocks[least].keep {
				least = i
			}
		}
		if extra <= 0 {
			break
		}
		b := &blocks[least]
		room := len(b.lines) - extra
		if room < 1 || room < 2 && len(b.lines) > 2 {
			blocks = slices.Delete(blocks, least, least+1)
			continue
		}
		left := len(b.lines) - room + 1
		b.lines = append(slices.Clone(b.lines[:room-1]), "… "+many(left, "more line"))
	}
	return blocks
}

// draw puts blocks below each other.
func (s styles) draw(blocks []block, width int) []string {
	var lines []string
	for i, b := range blocks {
		if i > 0 {
			lines = append(lines, "")
		}
		lines = append(lines, fit(s.title.Render(b.title), width))
		for _, l := range b.lines {
			lines = append(lines, fit(l, width))
		}
	}
	return lines
}

// heading is the first line: which run, and whether its server is there.
func (s *screen) heading() string {
	p := &s.picture
	r := p.run
	if r == nil {
		return s.styles.title.Render("understudy")
	}
	text := s.styles.title.Render(cmp.Or(firstLine(r.Name), "understudy")) + "  run " + clean(r.ID) + "  "
	switch {
	case r.Alive:
		text += s.styles.good.Render("alive") + " for " + elapsed(p.at.Sub(r.Started)) + ", since " + moment(r.Started, p.at)
	case !r.Ended.IsZero():
		text += "ended " + moment(r.Ended, p.at) + ", after " + elapsed(r.Ended.Sub(r.Started))
	default:
		text += s.styles.bad.Render("killed") + ", started " + moment(r.Started, p.at)
	}
	about := fmt.Sprintf("  %s, pid %d", clean(r.Version), r.PID)
	if r.Python != "" {
		about += ", Python " + clean(r.Python)
	}
	return text + s.styles.quiet.Render(about)
}

// progress is the second line of an experiment, "" elsewhere.
func (s *screen) progress(width int) string {
	x := s.picture.experimentOf(s.selected)
	if x == nil {
		return ""
	}
	text, bar := "", ""
	if steps := s.picture.run.Steps; steps > 0 {
		text = number(x.ended) + " of " + many(steps, "trial")
		if x.ended > steps {
			text = many(x.ended, "trial") + ", " + number(steps) + " planned"
		}
		bar = "  " + s.styles.bar(float64(x.ended), float64(steps), min(widestBar, width/4))
	} else {
		text = many(x.ended, "trial")
	}
	if best := x.tree.Best; best != nil {
		t := best.Trial
		bar += "  best " + s.styles.good.Render(metric(*t.Metric)) + " by " + name(best.Execution) +
			s.styles.quiet.Render("  "+firstLine(t.MetricName)+", "+direction(t))
	}
	return text + bar
}

// taskLine is the beginning of what an experiment is to solve, "" where nobody said.
func (s *screen) taskLine() string {
	if s.picture.run == nil || !s.picture.trials {
		return ""
	}
	if task := firstLine(s.picture.run.Task); task != "" {
		return s.styles.quiet.Render("task  ") + task
	}
	return ""
}

// treePage is the path of the page with the tree of the experiment that is looked at,
// "" where there is none.
func (s *screen) treePage() string {
	p := &s.picture
	x := p.experimentOf(s.selected)
	if x == nil || p.run.RunDir == "" {
		return ""
	}
	return clean(treePage(p.run, x.name))
}

func treePage(r *journal.Run, experiment string) string {
	return filepath.Join(r.FilesOf(r.RunDir, experiment), "tree_plot.html")
}

// pageLine is that path on a line, to be opened: behind a label if both fit, else in
// the short form that a shell knows.
func (s *screen) pageLine(width int) string {
	path := s.treePage()
	if path == "" {
		return ""
	}
	if below, found := strings.CutPrefix(path, s.home+string(filepath.Separator)); found && s.home != "" {
		path = filepath.Join("~", below)
	}
	line := s.styles.quiet.Render(pageLabel) + path
	if ansi.StringWidth(line) <= width {
		return line
	}
	if extra := ansi.StringWidth(path) - width; extra > 0 {
		path = ansi.TruncateLeft(path, extra+1, "…")
	}
	return path
}

const pageLabel = "tree  "

// now is what runs at this moment; of a killed server, what it took with it.
func (s *screen) now(width int) block {
	var lines, brief []string
	var running []journal.Pulse
	for _, p := range s.picture.pulses {
		if p.Execution != 0 {
			running = append(running, p)
		}
	}
	for _, p := range running {
		brief = append(brief, s.runningLine(p))
		lines = append(lines, s.running(p, width)...)
	}
	if len(running) > manyRunning {
		lines = brief
	}
	if len(lines) > 0 {
		return block{title: "Running now", lines: lines, keep: 2, brief: brief}
	}
	for _, all := range [][]journal.Execution{s.picture.executions, s.picture.lost} {
		for i := range all {
			if e := &all[i]; e.Status == journal.StatusLost {
				lines = append(lines, s.styles.bad.Render("◍ "+name(e))+"  "+lostAfter(e)+subject(e))
			}
		}
	}
	if len(lines) > 0 {
		return block{title: "Lost with the server", lines: lines, keep: 2}
	}
	if s.picture.run != nil && s.picture.run.Alive {
		lines = []string{s.styles.quiet.Render("nothing")}
	}
	return block{title: "Running now", lines: lines, keep: 2}
}

// lostAfter says how long a lost execution had run, where that is known.
func lostAfter(e *journal.Execution) string {
	if e.ExecTime == 0 {
		return ""
	}
	return "after " + elapsed(e.ExecTime) + "  "
}

// runningLine is an execution in a line.
func (s *screen) runningLine(p journal.Pulse) string {
	return s.styles.busy.Render("◌ "+shortID(p.InterpreterID)+fmt.Sprintf("@%d", p.Execution)) + "  " +
		elapsed(s.picture.at.Sub(p.Started)) + "  " + firstLine(p.Code)
}

// running is an execution with the beginning of its code and the end of its output.
func (s *screen) running(p journal.Pulse, width int) []string {
	took := s.picture.at.Sub(p.Started)
	line := s.styles.busy.Render(fmt.Sprintf("◌ %s@%d", shortID(p.InterpreterID), p.Execution)) + "  " + elapsed(took)
	if p.Limit > 0 {
		line += " of " + span(p.Limit) + "  " + s.styles.bar(took.Seconds(), p.Limit.Seconds(), min(widestBar, width/4))
	}
	if p.Memory > 0 {
		line += "  " + memory(p.Memory)
	}
	if p.Waiting > 0 {
		line += "  " + many(p.Waiting, "call") + " waiting"
	}
	lines := []string{line}
	code := spoken(p.Code)
	for i, l := range code {
		if i == codeLines {
			lines = append(lines, s.styles.quiet.Render("  │ … "+many(len(code)-i, "more line")))
			break
		}
		lines = append(lines, s.styles.quiet.Render("  │ ")+l)
	}
	output := spoken(terminal.Text(p.Tail))
	for _, l := range output[max(0, len(output)-outputLines):] {
		lines = append(lines, s.styles.quiet.Render("  › ")+l)
	}
	return lines
}

// spoken are the lines of a text that aren't blank, clean.
func spoken(text string) []string {
	var lines []string
	for l := range strings.Lines(clean(text)) {
		if l = strings.TrimRight(l, " \n"); l != "" {
			lines = append(lines, l)
		}
	}
	return lines
}

// interpreters lists them, those that live first and of these the newest.
func (s *screen) interpreters() block {
	p := &s.picture
	pulses := map[string]journal.Pulse{}
	for _, pulse := range p.pulses {
		pulses[pulse.InterpreterID] = pulse
	}
	all := slices.Clone(p.interpreters)
	slices.Reverse(all)
	living := 0
	slices.SortStableFunc(all, func(a, b journal.Interpreter) int { return rank(a) - rank(b) })
	var lines []string
	for _, in := range all {
		if in.Ended.IsZero() {
			living++
		}
		if len(lines) < mostListed {
			lines = append(lines, s.interpreter(in, pulses))
		}
	}
	title := "Interpreters"
	if p.run != nil && p.run.Alive && len(all) > 0 {
		title += fmt.Sprintf(" (%s of %s live)", number(living), number(len(all)))
	}
	lines = lines[min(s.interpretersTop, max(0, len(lines)-1)):]
	if s.focus == paneInterpreters {
		title = "› " + title
	}
	return block{title: title, lines: lines, keep: 1}
}

func rank(in journal.Interpreter) int {
	if in.Ended.IsZero() {
		return 0
	}
	return 1
}

func (s *screen) interpreter(in journal.Interpreter, pulses map[string]journal.Pulse) string {
	pulse, beats := pulses[in.ID]
	status := "idle"
	switch {
	case !in.Ended.IsZero():
		status = "ended"
	case s.picture.run == nil || !s.picture.run.Alive:
		status = "lost"
		if s.picture.run != nil && !s.picture.run.Ended.IsZero() {
			status = "ended"
		}
	case beats && pulse.Execution != 0:
		status = "running"
	}
	line := shortID(in.ID) + "  " + fill(status, len("running"))
	switch at := in.Present; {
	case at.Execution > 0 && at.InterpreterID != in.ID:
		line += "  as after " + place(at)
	case at.Execution > 0:
		line += fmt.Sprintf("  @%d", at.Execution)
	}
	if m := memory(pulse.Memory); m != "" {
		line += "  " + m
	}
	if in.Parent != "" {
		line += "  branch of " + place(in.Origin)
	}
	if in.Client != "" {
		line += "  " + firstLine(in.Client)
	}
	switch status {
	case "running":
		return s.styles.busy.Render(line)
	case "ended", "lost":
		return s.styles.quiet.Render(line)
	}
	return line
}

// files are the paths. Their ends say more than their beginnings.
func (s *screen) files(width int) block {
	paths := [][2]string{{"journal", s.path}}
	if r := s.picture.run; r != nil {
		if page := s.treePage(); page != "" {
			paths = append(paths, [2]string{"tree", page})
		} else {
			paths = append(paths, [2]string{"experiments", r.RunDir})
		}
		paths = append(paths, [2]string{"workspace", r.Workspace})
	}
	var lines []string
	for _, p := range paths {
		if p[1] == "" {
			continue
		}
		label := fill(p[0], len("experiments")) + "  "
		path := clean(p[1])
		if extra := ansi.StringWidth(label+path) - width; extra > 0 {
			path = ansi.TruncateLeft(path, extra+1, "…")
		}
		lines = append(lines, s.styles.quiet.Render(label)+path)
	}
	return block{title: "Files", lines: lines}
}
