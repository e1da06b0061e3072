package live

import (
	"cmp"
	"slices"
	"strings"

	"understudy/internal/journal"
)

// experiment is a tree: that of the trials of an experiment, or of the states of all
// executions.
type experiment struct {
	name   string
	client string
	tree   *journal.Tree
	ended  int // trials that do not run any more
	all    int
}

// experimentsOf makes the trees of executions.
func experimentsOf(executions []journal.Execution, trials bool) []experiment {
	if !trials {
		return []experiment{{tree: journal.States(executions), all: len(executions)}}
	}
	var all []experiment
	groups := map[string][]journal.Execution{}
	for _, e := range executions {
		if e.Trial == nil {
			continue
		}
		name := e.Trial.Experiment
		if groups[name] == nil {
			all = append(all, experiment{name: name, client: e.Client})
		}
		groups[name] = append(groups[name], e)
	}
	for i := range all {
		x := &all[i]
		x.tree, x.all = journal.Trials(groups[x.name]), len(groups[x.name])
		for _, e := range groups[x.name] {
			if !runs(&e) {
				x.ended++
			}
		}
	}
	return all
}

// find returns the execution with an id, nil when it is not there.
func (p *picture) find(id int64) *journal.Execution {
	i, found := slices.BinarySearchFunc(p.executions, id, func(e journal.Execution, id int64) int { return cmp.Compare(e.ID, id) })
	if !found {
		return nil
	}
	return &p.executions[i]
}

// row is a line of the tree.
type row struct {
	heading   string // of an experiment; there is no execution then
	execution *journal.Execution
	guide     string
	best      bool
}

// rowsOf makes the lines of the trees. Trials are indented below the one that they go
// on from. Of states, which mostly follow each other in one long line, only those
// are indented that begin at a state from which several go on.
func rowsOf(experiments []experiment, trials bool, filter string) []row {
	var all []row
	for _, x := range experiments {
		if len(experiments) > 1 {
			all = append(all, row{heading: "Experiment of " + clean(cmp.Or(x.client, x.name)) + ", " + many(x.all, "trial")})
		}
		all = grow(all, x.tree.Roots, !trials)
	}
	if filter == "" {
		return all
	}
	filter = strings.ToLower(filter)
	var kept []row
	for _, r := range all {
		if r.execution != nil && r.holds(filter) {
			r.guide = ""
			kept = append(kept, r)
		}
	}
	return kept
}

// pending is a node that has not become a row yet.
type pending struct {
	node  *journal.Node
	guide string // what is left of its own row
	below string // what is left of the rows below it
}

// mostGuide bounds a guide, in characters: a trial may be thousands deep, and no
// screen shows more.
const mostGuide = 200

// grow flattens a tree. It keeps a stack of its own, since a line of states may be
// thousands deep. Where there are chains an only child is not indented.
func grow(rows []row, roots []*journal.Node, chains bool) []row {
	var stack []pending
	for _, n := range slices.Backward(roots) {
		stack = append(stack, pending{node: n})
	}
	for len(stack) > 0 {
		p := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		rows = append(rows, row{execution: p.node.Execution, guide: p.guide, best: p.node.Best})
		children := p.node.Children
		if chains && len(children) == 1 {
			stack = append(stack, pending{children[0], p.below, p.below})
			continue
		}
		kept := []rune(p.below)
		kept = kept[max(0, len(kept)-mostGuide):]
		for i, child := range slices.Backward(children) {
			guide, below := "├─", "│ "
			if i == len(children)-1 {
				guide, below = "└─", "  "
			}
			stack = append(stack, pending{child, string(kept) + guide, string(kept) + below})
		}
	}
	return rows
}

// holds reports whether the plan, code, client or outcome of a row has a text.
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
	return strings.Contains(strings.ToLower(strings.Join(fields, "\n")), text)
}

// line is a row as text. Its guide takes at most a quarter of the width: how deep a
// trial is matters less than what it says.
func (r row) line(s styles, p *picture, width int, chosen bool) string {
	pointer := "  "
	if chosen {
		pointer = "› "
	}
	if r.execution == nil {
		return fit(pointer+s.title.Render(r.heading), width)
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
	guide := []rune(r.guide)
	if most := max(1, width/4); len(guide) > most {
		guide = append([]rune("…"), guide[len(guide)-most+1:]...)
	}
	if chosen {
		return s.chosen.Render(fill(pointer+string(guide)+mark+" "+word+"  "+label+"  "+subject(e), width))
	}
	return fit(pointer+s.quiet.Render(string(guide))+s.outcome(e, r.best).Render(mark+" "+word)+"  "+s.quiet.Render(label)+"  "+subject(e), width)
}
