package live

import "unicode/utf8"

// press does what a key asks for. Keys are named as Bubble Tea names them; text is
// what the key writes, "" if nothing.
func (s *screen) press(key, text string) effect {
	switch {
	case key == "ctrl+c":
		return effect{quit: true}
	case s.typing:
		s.write(key, text)
		return effect{}
	case s.cover != coverNone:
		return s.pressCover(key)
	}
	if s.covered() {
		s.focus = paneDetail
		switch key {
		case "tab", "/", "f", "b", "a": // they are about what is behind it
			s.close()
		}
		if key == "tab" {
			return effect{}
		}
	}
	switch key {
	case "q":
		return effect{quit: true}
	case "?":
		s.cover, s.coverRow = coverHelp, 0
	case "r":
		s.cover, s.coverRow, s.listed = coverRuns, s.shownRun(), true
	case "a":
		s.all = !s.all
		return effect{poll: true}
	case "/":
		s.typing, s.focus = true, paneTree
	case "f":
		s.follow = !s.follow
		s.replant()
	case "b":
		s.best()
	case "tab":
		s.nextPane()
	case "esc":
		s.leave()
	case "enter":
		if s.opened != 0 && (s.focus == paneDetail || s.opened == s.selected) {
			s.close()
			return effect{}
		}
		return s.open()
	default:
		s.move(key)
	}
	return effect{}
}

// write edits the filter.
func (s *screen) write(key, text string) {
	switch key {
	case "enter":
		s.typing = false
		return
	case "esc":
		s.typing, s.filter = false, ""
	case "backspace":
		_, size := utf8.DecodeLastRuneInString(s.filter)
		s.filter = s.filter[:len(s.filter)-size]
	case "ctrl+u":
		s.filter = ""
	default:
		s.filter += clean(text)
	}
	s.replant()
}

func (s *screen) pressCover(key string) effect {
	switch key {
	case "q", "esc", "?", "r":
		s.cover = coverNone
	case "enter":
		if s.cover == coverRuns && s.coverRow < len(s.picture.runs) {
			return s.choose(s.picture.runs[s.coverRow])
		}
		s.cover = coverNone
	default:
		rows := len(helpText)
		if s.cover == coverRuns {
			rows = len(s.picture.runs)
		}
		s.coverRow = within(s.coverRow+step(key, max(1, s.height-4)), rows)
	}
	return effect{}
}

// shownRun is where the run that is shown stands in the list.
func (s *screen) shownRun() int {
	for i := range s.picture.runs {
		if s.picture.run != nil && s.picture.runs[i].ID == s.picture.run.ID {
			return i
		}
	}
	return 0
}

// leave goes back one step: from the details, then from the filter.
func (s *screen) leave() {
	switch {
	case s.opened != 0:
		s.close()
	case s.filter != "":
		s.filter = ""
		s.replant()
	default:
		s.focus = paneTree
	}
}

func (s *screen) nextPane() {
	s.focus++
	if s.focus > paneDetail || s.focus == paneDetail && s.opened == 0 {
		s.focus = paneTree
	}
	if s.focus == paneInterpreters && s.opened != 0 {
		s.focus = paneDetail // it stands in their place
	}
}

// best selects the best trial of the experiment at hand, whatever is folded or
// filtered away.
func (s *screen) best() {
	x := s.picture.experimentOf(s.selected)
	if x == nil && len(s.picture.experiments) > 0 {
		x = &s.picture.experiments[0] // all executions, trials among them
	}
	if x == nil || x.tree.Best == nil {
		return
	}
	s.follow, s.focus, s.filter = false, paneTree, ""
	s.selected = x.tree.Best.ID
	s.unfold(s.selected)
}

// unfold makes an execution's row seen.
func (s *screen) unfold(id int64) {
	parents := map[int64]int64{}
	for _, r := range s.picture.rows(nil, "") {
		if r.execution != nil {
			parents[r.execution.ID] = r.parent
		}
	}
	for at := parents[id]; at != 0; at = parents[at] {
		delete(s.folds, at)
	}
	s.replant()
}

// move moves in the pane that has the focus.
func (s *screen) move(key string) {
	by := step(key, max(1, s.height/2))
	switch {
	case s.focus == paneDetail:
		s.detail.top = max(0, s.detail.top+by) // the end is known where it is drawn
	case s.focus == paneInterpreters:
		s.interpretersTop = within(s.interpretersTop+by, len(s.picture.interpreters))
	case key == "left", key == "h":
		s.fold()
	case key == "right", key == "l":
		s.unfoldOne()
	case by != 0:
		s.follow = false
		s.selectRow(s.row()+by, by)
	}
}

// selectRow selects a row, or the next one in the direction if it is a heading.
func (s *screen) selectRow(i, by int) {
	i = within(i, len(s.rows))
	for at := i; at >= 0 && at < len(s.rows); {
		if e := s.rows[at].execution; e != nil {
			s.selected = e.ID
			return
		}
		if by < 0 && at > 0 {
			at--
		} else {
			at, by = at+1, 1
		}
	}
}

// fold hides what is below the selected row, or goes to the row above it in the
// tree if nothing is.
func (s *screen) fold() {
	i := s.row()
	if i < 0 {
		return
	}
	s.follow = false
	r := s.rows[i]
	if r.branches && !r.folded && s.filter == "" {
		s.folds[s.selected] = true
		s.replant()
	} else if s.picture.find(r.parent) != nil {
		s.selected = r.parent
	}
}

// unfoldOne shows what is below the selected row, or goes there.
func (s *screen) unfoldOne() {
	i := s.row()
	if i < 0 {
		return
	}
	s.follow = false
	if s.rows[i].folded {
		delete(s.folds, s.selected)
		s.replant()
	} else if s.rows[i].branches && i+1 < len(s.rows) {
		s.selectRow(i+1, 1)
	}
}

// step is how far a key moves, in lines.
func step(key string, page int) int {
	switch key {
	case "down", "j":
		return 1
	case "up", "k":
		return -1
	case "pgdown", "space", "ctrl+d":
		return page
	case "pgup", "ctrl+u":
		return -page
	case "home", "g":
		return -farAway
	case "end", "G":
		return farAway
	}
	return 0
}

// farAway is further than any list is long.
const farAway = 1 << 30

// within keeps an index in a list.
func within(i, length int) int { return max(0, min(i, length-1)) }
