package live

import (
	"strings"

	"understudy/internal/journal"
)

// row is a line of the tree.
type row struct {
	heading   string // of an experiment; there is no execution then
	execution *journal.Execution
	parent    int64 // the execution above it in the tree; 0 for a root
	guide     string
	best      bool
	branches  bool // something is below it
	folded    bool
}

// rows makes the lines of the trees. Trials are indented below the one that they go
// on from. Of states, which mostly follow each other in one long line, only those
// are indented that begin at a state from which several go on.
func (p *picture) rows(folds map[int64]bool, filter string) []row {
	var all []row
	for _, x := range p.experiments {
		if len(p.experiments) > 1 {
			all = append(all, row{heading: experimentHeading(x)})
		}
		g := grower{folds: folds, chains: !p.trials}
		g.grow(x.tree.Roots)
		all = append(all, g.rows...)
	}
	if filter == "" {
		return all
	}
	return filtered(all, strings.ToLower(filter))
}

func experimentHeading(x experiment) string {
	who := clean(x.client)
	if who == "" {
		who = clean(x.name)
	}
	return "Experiment of " + who + ", " + many(x.all, "trial")
}

// grower flattens a tree. It keeps a stack of its own, since a line of states may be
// thousands deep.
type grower struct {
	folds  map[int64]bool
	chains bool // an only child is not indented
	rows   []row
}

// pending is a node that has not become a row yet.
type pending struct {
	node   *journal.Node
	parent int64
	guide  string // what is left of its own rows
	below  string // what is left of rows below it
}

func (g *grower) grow(roots []*journal.Node) {
	var stack []pending
	for i := len(roots) - 1; i >= 0; i-- {
		stack = append(stack, pending{node: roots[i]})
	}
	for len(stack) > 0 {
		p := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		n := p.node
		r := row{
			execution: n.Execution, parent: p.parent, guide: p.guide, best: n.Best,
			branches: len(n.Children) > 0, folded: g.folds[n.ID] && len(n.Children) > 0,
		}
		g.rows = append(g.rows, r)
		if r.folded {
			continue
		}
		stack = append(stack, g.below(p)...)
	}
}

// below returns the children of a node, the last first.
func (g *grower) below(p pending) []pending {
	children := p.node.Children
	if g.chains && len(children) == 1 {
		return []pending{{children[0], p.node.ID, p.below, p.below}}
	}
	var all []pending
	for i := len(children) - 1; i >= 0; i-- {
		guide, below := "├─", "│ "
		if i == len(children)-1 {
			guide, below = "└─", "  "
		}
		kept := keepEnd(p.below)
		all = append(all, pending{children[i], p.node.ID, kept + guide, kept + below})
	}
	return all
}

// mostGuide bounds a guide, in characters: a trial may be thousands deep, and no
// screen shows more.
const mostGuide = 200

func keepEnd(guide string) string {
	if len(guide) <= mostGuide {
		return guide
	}
	all := []rune(guide)
	return string(all[max(0, len(all)-mostGuide):])
}

// filtered keeps the rows that hold a text in their plan, code, client or outcome.
func filtered(all []row, text string) []row {
	var kept []row
	for _, r := range all {
		if r.execution != nil && r.holds(text) {
			r.guide = ""
			kept = append(kept, r)
		}
	}
	return kept
}

func (r row) holds(text string) bool {
	e := r.execution
	_, word := outcome(e)
	fields := []string{e.Code, word, string(e.Status), name(e), e.Client, place(e.Place)}
	if t := e.Trial; t != nil {
		fields = append(fields, t.Plan, t.Analysis, t.Why)
	}
	if r.best {
		fields = append(fields, "best")
	}
	for _, f := range fields {
		if strings.Contains(strings.ToLower(f), text) {
			return true
		}
	}
	return false
}

// line is a row as text. Its guide takes at most a quarter of the width: how deep a
// trial is matters less than what it says.
func (r row) line(s styles, p *picture, width int, chosen, focused bool) string {
	pointer := "  "
	if chosen {
		pointer = "› "
	}
	if r.execution == nil {
		return fit(pointer+s.title.Render(r.heading), width)
	}
	fold := ""
	if r.folded {
		fold = "▸ "
	}
	e := r.execution
	mark, word := outcome(e)
	if runs(e) {
		word += " " + elapsed(p.at.Sub(e.Started))
	}
	if r.best {
		word += " (best)"
	}
	label := name(e)
	if e.Trial != nil {
		label += " " + stageLetters[e.Trial.Stage]
	}
	guide := deepEnd(r.guide, width/4)
	if chosen && focused {
		return s.chosen.Render(fill(pointer+guide+fold+mark+" "+word+"  "+label+"  "+subject(e), width))
	}
	return fit(pointer+s.quiet.Render(guide)+fold+s.outcome(e, r.best, mark+" "+word)+"  "+s.quiet.Render(label)+"  "+subject(e), width)
}

// deepEnd keeps the right end of a guide. Guides are made of single columns.
func deepEnd(guide string, width int) string {
	all := []rune(guide)
	if len(all) <= width {
		return guide
	}
	return "…" + string(all[len(all)-max(width-1, 0):])
}

func (s styles) outcome(e *journal.Execution, best bool, text string) string {
	switch {
	case runs(e):
		return s.busy.Render(text)
	case failed(e):
		return s.bad.Render(text)
	case best:
		return s.good.Render(text)
	default:
		return text
	}
}
