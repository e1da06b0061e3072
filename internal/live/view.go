package live

import (
	"strings"

	terminal "understudy/internal/screen"
)

const (
	wide      = 100 // columns from which on the tree has the rest of the screen beside it
	treeLeast = 3   // lines that the tree has before anything else gets some
)

// view draws the screen: exactly its height in lines, none wider than it.
func (s *screen) view() string {
	width, height := max(s.width, 1), max(s.height, 1)
	var lines []string
	if height > 2 {
		lines = append(lines, fit(s.heading(), width))
		if p := s.progress(width); p != "" && height > 5 {
			lines = append(lines, fit(p, width))
		}
		if task := s.taskLine(); task != "" && height >= 24 {
			lines = append(lines, fit(task, width))
		}
		if page := s.pageLine(width); page != "" && height >= 20 {
			lines = append(lines, fit(page, width))
		}
		if height > 12 {
			lines = append(lines, "")
		}
	}
	room := height - len(lines)
	if height > 1 {
		room--
	}
	lines = append(lines, pad(s.body(width, room), room)...)
	if height > 1 {
		lines = append(lines, fit(s.footer(), width))
	}
	return strings.Join(lines, "\n")
}

// pad makes it exactly so many lines.
func pad(lines []string, height int) []string {
	for len(lines) < height {
		lines = append(lines, "")
	}
	return lines[:height]
}

func (s *screen) body(width, height int) []string {
	switch {
	case s.cover == coverHelp:
		return s.help(width, height)
	case s.cover == coverRuns:
		return s.listRuns(width, height)
	case s.picture.run == nil:
		return s.nothing(width)
	case width >= wide:
		return s.columns(width, height)
	case s.opened != 0:
		return s.detail.view(s.styles, s.tail(), width, height)
	default:
		return s.stacked(width, height)
	}
}

// columns puts the tree on the left; on the right is the rest, or an execution that
// is open.
func (s *screen) columns(width, height int) []string {
	left := width * 11 / 20
	right := width - left - 3
	tree := pad(s.tree(left, height), height)
	var side []string
	if s.opened != 0 {
		side = s.detail.view(s.styles, s.tail(), right, height)
	} else {
		side = s.styles.draw(share([]block{s.now(right), s.interpreters(), s.files(right)}, height), right)
	}
	side = pad(side, height)
	bar := s.styles.quiet.Render(" │ ")
	lines := make([]string, height)
	for i := range lines {
		lines[i] = strings.TrimRight(fill(tree[i], left)+bar+side[i], " ")
	}
	return lines
}

// stacked puts everything below each other. The rest gets at most half of the room,
// and what the tree does not need.
func (s *screen) stacked(width, height int) []string {
	rest := 0
	if height > 2*treeLeast {
		rest = max(height/2, height-max(len(s.rows)+1, treeLeast)-2)
	}
	blocks := share([]block{s.now(width), s.interpreters(), s.files(width)}, rest)
	var above, below []block
	for _, b := range blocks {
		if b.keep == 2 {
			above = append(above, b)
		} else {
			below = append(below, b)
		}
	}
	lines := s.styles.draw(above, width)
	if len(lines) > 0 {
		lines = append(lines, "")
	}
	end := s.styles.draw(below, width)
	if len(end) > 0 {
		end = append([]string{""}, end...)
	}
	room := height - len(lines) - len(end)
	return append(append(lines, pad(s.tree(width, room), room)...), end...)
}

// tail is the last output of the execution that is open, if it runs.
func (s *screen) tail() string {
	e := s.detail.execution
	if e == nil || !runs(e) {
		return ""
	}
	for _, p := range s.picture.pulses {
		if p.InterpreterID == e.Place.InterpreterID && p.Execution == e.Place.Execution {
			return terminal.Text(p.Tail)
		}
	}
	return ""
}

// tree draws the rows that are seen below their title.
func (s *screen) tree(width, height int) []string {
	var lines []string
	if height > treeLeast {
		lines = append(lines, fit(s.treeTitle(), width))
		height--
	}
	if len(s.rows) == 0 {
		text := "nothing has run yet"
		if s.filter != "" {
			text = "nothing has “" + s.filter + "” in its plan, code or outcome"
		}
		return append(lines, s.styles.quiet.Render(fit("  "+text, width)))
	}
	s.scroll(height)
	for i := s.top; i < min(len(s.rows), s.top+height); i++ {
		r := s.rows[i]
		chosen := r.execution != nil && r.execution.ID == s.selected
		lines = append(lines, r.line(s.styles, &s.picture, width, chosen, s.focus == paneTree))
	}
	return lines
}

// scroll moves the window over the rows as little as it must for the selected one to
// be in it.
func (s *screen) scroll(height int) {
	if i := s.row(); i >= 0 {
		s.top = max(min(s.top, i), i-height+1)
	}
	s.top = max(0, min(s.top, len(s.rows)-height))
}

func (s *screen) treeTitle() string {
	p := &s.picture
	thing := "execution"
	title := "Executions"
	if p.trials {
		thing, title = "trial", "Trials"
	}
	about := many(len(p.executions), thing)
	switch {
	case s.filter != "":
		about = number(len(s.rows)) + " of " + about + " with “" + s.filter + "”"
	case p.left() > 0:
		about = "the newest " + about + "; " + number(p.left()) + " older ones are not shown"
	case p.others() > 0:
		about += "; " + many(p.others(), "other execution") + " not shown"
	}
	return s.styles.title.Render(title) + s.styles.quiet.Render("  "+about)
}

// nothing is said before there is a run.
func (s *screen) nothing(width int) []string {
	text := "Reading the journal …"
	if isAbsent(s.picture.problem) {
		text = s.picture.problem.Error() + "\n\nr lists the runs, q quits."
	} else if s.picture.waiting {
		text = "No server has written to the journal yet. This waits for one.\n\nJournal: " + s.path +
			"\n\nA server that is told another one with --journal writes there."
	} else if s.picture.problem != nil {
		text = "The journal can't be read: " + s.picture.problem.Error()
	}
	return words(text, width)
}

// listRuns is the list of runs to choose from.
func (s *screen) listRuns(width, height int) []string {
	lines := []string{s.styles.title.Render(fit("Runs, the newest first", width)), ""}
	room := max(1, height-len(lines))
	top := max(0, min(s.coverRow-room/2, len(s.picture.runs)-room))
	for i := top; i < min(len(s.picture.runs), top+room); i++ {
		r := &s.picture.runs[i]
		line := clean(r.ID) + "  " + fill(standing(r), len("killed")) + "  " + r.Started.Local().Format("2006-01-02 15:04") +
			"  " + many(r.Executions, "execution")
		if r.Trials > 0 {
			line += ", " + many(r.Trials, "trial")
		}
		if i == s.coverRow {
			line = s.styles.chosen.Render(fill("› "+line, width))
		} else {
			line = fit("  "+line, width)
		}
		lines = append(lines, line)
	}
	return lines
}

// footer says what can be done, or what has to be said.
func (s *screen) footer() string {
	p := &s.picture
	switch {
	case s.typing:
		return "/" + s.filter + "▏" + s.styles.quiet.Render("  enter keeps the filter, esc drops it")
	case s.cover == coverRuns:
		return s.styles.quiet.Render("↑↓ move  enter choose  esc back")
	case s.cover == coverHelp:
		return s.styles.quiet.Render("↑↓ scroll  esc q back")
	case p.run != nil && p.waiting:
		return s.styles.bad.Render("The journal was taken away. This waits for a new one.")
	case p.run != nil && isAbsent(p.problem):
		return s.styles.bad.Render("This run is no more in the journal.") + s.styles.quiet.Render("  r runs  q quit")
	case p.run != nil && p.problem != nil:
		return s.styles.bad.Render("The journal can't be read: " + firstLine(p.problem.Error()))
	}
	newer := ""
	if r := p.newer(); r != nil && !s.chosen && !s.listed {
		newer = s.styles.busy.Render("newer run: "+clean(r.ID)+" (r)") + "  "
	}
	return newer + s.styles.quiet.Render(s.keys())
}

// keys names those that matter now.
func (s *screen) keys() string {
	keys := "? help  q quit  ↑↓ move  ←→ fold  enter open  tab pane  / filter  f follow  b best  a all  r runs"
	switch {
	case s.opened != 0 && s.focus == paneDetail:
		keys = "↑↓ scroll  enter close  tab pane  ? help  q quit"
	case s.width < wide:
		keys = "? help  q quit  ↑↓ enter / f b a r"
	}
	if s.follow {
		keys = "following  " + keys
	}
	return keys
}

// helpText is what the help says; the first column is the key.
var helpText = [][2]string{
	{"↑ ↓ j k", "move; PgUp PgDn Home End, space, ctrl-u ctrl-d, g G in larger steps"},
	{"← → h l", "hide and show what is below"},
	{"enter", "open the selected one, close it again"},
	{"tab", "next pane: tree, interpreters or the open one"},
	{"/", "filter by text in plan, code, outcome"},
	{"f", "follow the newest"},
	{"b", "go to the best trial"},
	{"a", "all executions, or trials only"},
	{"r", "choose another run"},
	{"esc", "one step back"},
	{"q ctrl-c", "quit; the server goes on"},
	{"", ""},
	{"●", "ended well, with its metric or \"ok\""},
	{"◍", "bug, error, time limit, crash, or lost"},
	{"◌", "runs now"},
	{"D B I", "stages: draft, debug (goes on from a bug), improve"},
	{"3fa9c1@7", "interpreter 3fa9c1…, its execution 7"},
}

// help is what is seen of the help text from a row on.
func (s *screen) help(width, height int) []string {
	lines := []string{fit(s.styles.title.Render("Keys and signs"), width), ""}
	s.coverRow = max(0, min(s.coverRow, len(helpText)-height+len(lines)))
	for _, h := range helpText[s.coverRow:] {
		lines = append(lines, fit(s.styles.busy.Render(fill(h[0], 10))+h[1], width))
	}
	return lines
}
