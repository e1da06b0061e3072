package live

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"understudy/internal/journal"
)

const (
	wide      = 100 // columns from which on the tree has the rest of the screen beside it
	widestBar = 40  // columns
)

// screen is the picture, and how its reader looks at it.
type screen struct {
	picture picture
	styles  styles
	path    string // of the journal
	home    string // of who looks; "" where it is not known
	width   int    // columns
	height  int    // lines

	all bool // executions that are no trials are shown as well

	experiments []experiment
	trials      bool // the tree has trials only
	rows        []row
	selected    int64 // execution; 0 is none
	top         int   // the first row that is seen
	follow      bool  // what is newest is selected
	filter      string
	typing      bool // keys go to the filter

	help   bool
	opened int64 // execution that is shown in place of the rest; 0 for none
	scroll int   // the first line that is seen of it, or of the help
}

func newScreen(options Options) *screen {
	home, _ := os.UserHomeDir() // paths are whole without it
	return &screen{path: options.Path, home: home, width: 80, height: 24, follow: true}
}

// take takes in what a look at the journal found.
func (s *screen) take(p picture) {
	old := s.picture.run
	switch {
	case p.problem != nil:
		s.picture.at, s.picture.problem = p.at, p.problem
		return
	case old != nil && old.ID != p.run.ID: // nothing of it is in the other one
		s.all, s.selected, s.opened, s.top, s.scroll, s.follow, s.filter = false, 0, 0, 0, 0, true, ""
	}
	s.picture = p
	s.plant()
}

// plant makes the rows anew and keeps the selection on what it was on.
func (s *screen) plant() {
	all := s.picture.executions
	s.trials = !s.all && slices.ContainsFunc(all, func(e journal.Execution) bool { return e.Trial != nil })
	s.experiments = experimentsOf(all, s.trials)
	s.rows = rowsOf(s.experiments, s.trials, s.filter)
	if s.follow {
		s.selected = 0
	}
	if s.row() >= 0 {
		return
	}
	s.selected = 0
	for _, r := range s.rows { // the newest that is there
		if r.execution != nil {
			s.selected = max(s.selected, r.execution.ID)
		}
	}
}

// row is the index of the selected row, or -1.
func (s *screen) row() int {
	return slices.IndexFunc(s.rows, func(r row) bool { return r.execution != nil && r.execution.ID == s.selected })
}

// experiment returns the one that the selected execution belongs to, the last where
// that is not known; nil where nothing is a trial.
func (s *screen) experiment() *experiment {
	if !s.trials {
		return nil
	}
	for i := range s.experiments {
		if e := s.picture.find(s.selected); e != nil && e.Trial != nil && e.Trial.Experiment == s.experiments[i].name {
			return &s.experiments[i]
		}
	}
	return &s.experiments[len(s.experiments)-1]
}

// view draws the screen: exactly its height in lines, none wider than it.
func (s *screen) view() string {
	width, height := max(s.width, 1), max(s.height, 1)
	var lines []string
	if height > 3 {
		lines = s.head(width, height)
	}
	lines = append(lines, s.body(width, height-len(lines)-1)...)
	lines = append(lines, s.footer())
	lines = lines[len(lines)-height:]
	for i := range lines {
		lines[i] = strings.TrimRight(fit(lines[i], width), " ")
	}
	return strings.Join(lines, "\n")
}

// head are the lines that are always there.
func (s *screen) head(width, height int) []string {
	lines := []string{s.heading()}
	if p := s.progress(width); p != "" && height > 5 {
		lines = append(lines, p)
	}
	if height >= 20 {
		if task := s.taskLine(); task != "" {
			lines = append(lines, task)
		}
		if page := s.treePage(); page != "" {
			lines = append(lines, fitLeft(page, width))
		}
		lines = append(lines, "")
	}
	return lines
}

func (s *screen) body(width, height int) []string {
	switch {
	case s.help:
		return s.window(helpText, width, height)
	case s.picture.run == nil:
		return pad(s.nothing(width), height)
	case width < wide && s.opened != 0:
		return s.window(s.detail(width), width, height)
	case width < wide:
		return s.stacked(width, height)
	}
	left := width * 11 / 20
	right := width - left - 3
	side := s.blocks(right, height)
	if s.opened != 0 {
		side = s.window(s.detail(right), right, height)
	}
	side = pad(side, height)
	lines := pad(s.tree(left, height), height)
	for i := range lines {
		lines[i] = fill(lines[i], left) + s.styles.quiet.Render(" │ ") + side[i]
	}
	return lines
}

// stacked puts the rest below the tree, in at most half of the room and what the tree
// does not need.
func (s *screen) stacked(width, height int) []string {
	rest := s.blocks(width, max(height/2, height-len(s.rows)-2))
	if height <= 8 || len(rest) == 0 {
		return pad(s.tree(width, height), height)
	}
	room := height - len(rest) - 1
	return append(append(pad(s.tree(width, room), room), ""), rest...)
}

// window is what is seen of a text that may be higher than the screen.
func (s *screen) window(lines []string, width, height int) []string {
	s.scroll = max(0, min(s.scroll, len(lines)-height))
	seen := slices.Clone(lines[s.scroll:min(len(lines), s.scroll+max(0, height))])
	if rest := len(lines) - s.scroll - len(seen); rest > 0 && len(seen) > 1 {
		seen[len(seen)-1] = s.styles.quiet.Render(fit("↓ "+many(rest+1, "more line"), width))
	}
	return pad(seen, height)
}

// tree draws the rows that are seen below their title.
func (s *screen) tree(width, height int) []string {
	var lines []string
	if height > 3 {
		lines = append(lines, s.treeTitle())
		height--
	}
	if len(s.rows) == 0 {
		text := "  nothing has run yet"
		if s.filter != "" {
			text = "  nothing has “" + s.filter + "” in its plan, code or outcome"
		}
		return append(lines, s.styles.quiet.Render(text))
	}
	if i := s.row(); i >= 0 {
		s.top = max(min(s.top, i), i-height+1)
	}
	s.top = max(0, min(s.top, len(s.rows)-height))
	for _, r := range s.rows[s.top:min(len(s.rows), s.top+height)] {
		lines = append(lines, r.line(s.styles, &s.picture, width, r.execution != nil && r.execution.ID == s.selected))
	}
	return lines
}

func (s *screen) treeTitle() string {
	title, thing, shown := "Executions", "execution", len(s.picture.executions)
	if s.trials {
		title, thing, shown = "Trials", "trial", 0
		for _, x := range s.experiments {
			shown += x.all
		}
	}
	about := many(shown, thing)
	switch run := s.picture.run; {
	case s.filter != "":
		about = number(len(s.rows)) + " of " + about + " with “" + s.filter + "”"
	case run.Executions > len(s.picture.executions):
		about = "the newest " + about + "; older ones are not shown"
	case s.trials && run.Executions > shown:
		about += "; " + many(run.Executions-shown, "other execution") + " not shown"
	}
	return s.styles.title.Render(title) + s.styles.quiet.Render("  "+about)
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
	x := s.experiment()
	if x == nil {
		return ""
	}
	text := many(x.ended, "trial")
	if steps := s.picture.run.Steps; steps > 0 {
		if x.ended <= steps {
			text = number(x.ended) + " of " + many(steps, "trial")
		} else {
			text += ", " + number(steps) + " planned"
		}
		text += "  " + s.styles.bar(float64(x.ended), float64(steps), min(widestBar, width/4))
	}
	if best := x.tree.Best; best != nil {
		t := best.Trial
		text += "  best " + s.styles.good.Render(metric(*t.Metric)) + " by " + name(best.Execution) +
			s.styles.quiet.Render("  "+firstLine(t.MetricName)+", "+direction(t))
	}
	return text
}

// taskLine is the beginning of what an experiment is to solve, "" where nobody said.
func (s *screen) taskLine() string {
	if s.picture.run == nil || !s.trials {
		return ""
	}
	if task := firstLine(s.picture.run.Task); task != "" {
		return s.styles.quiet.Render("task  ") + task
	}
	return ""
}

// treePage is the path of the page with the tree of the experiment that is looked at,
// in the short form that a shell knows; "" where there is none.
func (s *screen) treePage() string {
	x := s.experiment()
	if x == nil || s.picture.run.RunDir == "" {
		return ""
	}
	path := clean(treePage(s.picture.run, x.name))
	if below, found := strings.CutPrefix(path, s.home+string(filepath.Separator)); found && s.home != "" {
		path = filepath.Join("~", below)
	}
	return path
}

func treePage(r *journal.Run, experiment string) string {
	return filepath.Join(r.FilesOf(r.RunDir, experiment), "tree_plot.html")
}

// nothing is said before there is a run.
func (s *screen) nothing(width int) []string {
	text := "Reading the journal …"
	switch p := &s.picture; {
	case isAbsent(p.problem):
		text = p.problem.Error() + "\n\nq quits."
	case p.waiting():
		text = "No server has written to the journal yet. This waits for one.\n\nJournal: " + s.path +
			"\n\nA server that is told another one with --journal writes there."
	case p.problem != nil:
		text = "The journal can't be read: " + p.problem.Error()
	}
	return strings.Split(ansi.Wrap(clean(text), width, ""), "\n")
}

// footer says what can be done, or what has to be said.
func (s *screen) footer() string {
	p := &s.picture
	switch {
	case s.typing:
		return "/" + s.filter + "▏" + s.styles.quiet.Render("  enter keeps the filter, esc drops it")
	case p.run != nil && isAbsent(p.problem):
		return s.styles.bad.Render("This run is no more in the journal.") + s.styles.quiet.Render("  q quit")
	case errors.Is(p.problem, errGone):
		return s.styles.bad.Render("The journal was removed or replaced. Start watch again.") + s.styles.quiet.Render("  q quit")
	case p.run != nil && p.problem != nil:
		return s.styles.bad.Render("The journal can't be read: " + firstLine(p.problem.Error()))
	case s.help || s.opened != 0:
		return s.styles.quiet.Render("↑↓ scroll  esc back  q quit")
	}
	keys := "? help  q quit  ↑↓ enter / f b a"
	if s.follow {
		keys = "following  " + keys
	}
	return s.styles.quiet.Render(keys)
}

// helpText is what the help says.
var helpText = strings.Split(`Keys
↑ ↓ j k    move, or scroll what is open; PgUp PgDn Home End g G in larger steps
enter      open the selected one, close it again
/          filter by text in plan, code, outcome
f          follow the newest
b          go to the best trial
a          all executions, or trials only
esc        one step back
q ctrl-c   quit; the server goes on

Signs
●          ended well, with its metric or "ok"
◍          bug, error, time limit, crash, or lost
◌          runs now
D B I      stages: draft, debug (goes on from a bug), improve
3fa9c1@7   interpreter 3fa9c1…, its execution 7`, "\n")
