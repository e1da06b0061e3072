package live

import (
	"os"
	"slices"

	"understudy/internal/journal"
)

// pane is a part of the screen that keys act on.
type pane int

const (
	paneTree pane = iota
	paneInterpreters
	paneDetail
)

// cover is what stands in place of everything else for a while.
type cover int

const (
	coverNone cover = iota
	coverHelp
	coverRuns
)

// screen is the picture, and how its reader looks at it.
type screen struct {
	picture picture
	styles  styles
	path    string // of the journal
	home    string // of who looks; "" where it is not known
	width   int    // columns
	height  int    // lines

	wanted string // the run that is asked for; "" is the newest
	chosen bool   // its reader asked for it
	listed bool   // its reader has seen the list of runs
	all    bool   // executions that are no trials are shown as well

	rows     []row
	selected int64 // execution; 0 is none
	top      int   // the first row that is seen
	follow   bool  // what is newest is selected
	folds    map[int64]bool
	filter   string
	typing   bool // keys go to the filter

	focus           pane
	interpretersTop int

	opened int64 // execution in the detail pane; 0 is none
	detail detail

	cover    cover
	coverRow int
}

func newScreen(options Options) *screen {
	home, _ := os.UserHomeDir() // paths are whole without it
	return &screen{path: options.Path, home: home, wanted: options.Run, chosen: options.Run != "", width: 80, height: 24, follow: true, folds: map[int64]bool{}}
}

// effect is what a key or an update asks of the world outside.
type effect struct {
	quit bool
	poll bool  // look at the journal now
	load int64 // read the details of an execution; 0 for none
}

// apply takes in what a look at the journal found.
func (s *screen) apply(u update) effect {
	if u.asked != s.wanted || u.all != s.all {
		return effect{poll: true} // of what nobody watches any more
	}
	switch run := s.picture.run; {
	case u.waiting && run != nil:
		s.wanted, s.chosen = "", false // it is gone; what comes in its place is shown
	case u.problem != nil:
	case run == nil && !u.whole:
		return effect{poll: true} // it was known before, and is no more
	default:
		if run != nil && run.ID != u.run.ID {
			s.forget()
		}
		s.wanted = u.run.ID // whatever starts later, this one stays
	}
	if s.picture.apply(u) {
		s.replant()
	}
	e := s.picture.find(s.opened)
	if s.opened != 0 && e != nil && s.detail.stale(e) {
		return effect{load: s.opened}
	}
	return effect{}
}

// replant makes the rows anew and keeps the selection on what it was on.
func (s *screen) replant() {
	s.rows = s.picture.rows(s.folds, s.filter)
	if newest := s.picture.newest(); s.follow && newest != nil {
		s.selected = newest.ID
	}
	if s.row() >= 0 {
		return
	}
	s.selected = 0
	for i := len(s.rows) - 1; i >= 0; i-- {
		if s.rows[i].execution != nil {
			s.selected = s.rows[i].execution.ID
			return
		}
	}
}

// row is the index of the selected row, or -1.
func (s *screen) row() int {
	return slices.IndexFunc(s.rows, func(r row) bool { return r.execution != nil && r.execution.ID == s.selected })
}

// choose makes another run the one that is shown.
func (s *screen) choose(run journal.Run) effect {
	s.cover = coverNone
	if s.picture.run != nil && s.picture.run.ID == run.ID {
		return effect{}
	}
	s.wanted, s.chosen = run.ID, true
	s.forget()
	return effect{poll: true}
}

// forget drops what belongs to the run that was shown.
func (s *screen) forget() {
	s.picture = picture{at: s.picture.at, runs: s.picture.runs}
	s.rows, s.selected, s.top, s.follow = nil, 0, 0, true
	s.folds, s.filter = map[int64]bool{}, ""
	s.interpretersTop, s.focus = 0, paneTree
	s.close()
}

// ask is what is to be looked at.
func (s *screen) ask() ask { return ask{run: s.wanted, all: s.all, whole: s.picture.run == nil} }

// covered reports whether an open execution stands where the tree was.
func (s *screen) covered() bool { return s.opened != 0 && s.width < wide }

// open shows the details of the selected execution.
func (s *screen) open() effect {
	if s.selected == 0 {
		return effect{}
	}
	s.opened, s.detail, s.focus = s.selected, detail{}, paneDetail
	return effect{load: s.opened}
}

func (s *screen) close() {
	s.opened, s.detail = 0, detail{}
	if s.focus == paneDetail {
		s.focus = paneTree
	}
}

// loaded takes in the details of an execution.
func (s *screen) loaded(id int64, e *journal.Execution, problem error) {
	if id != s.opened {
		return
	}
	top := s.detail.top
	s.detail = detail{execution: e, problem: problem, top: top}
}
