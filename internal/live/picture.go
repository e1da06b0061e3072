package live

import (
	"cmp"
	"slices"
	"time"

	"understudy/internal/journal"
	"understudy/sessions"
)

// picture is what is known of the journal: the sum of all updates.
type picture struct {
	at           time.Time
	runs         []journal.Run // the newest first
	run          *journal.Run  // nil before one is found
	interpreters []journal.Interpreter
	pulses       []journal.Pulse
	executions   []journal.Execution // by ID, bounded
	trials       bool                // they are trials only
	lost         []journal.Execution // beside these, with the server
	waiting      bool
	problem      error

	experiments []experiment
}

// experiment is a tree: that of the trials of an experiment, or of the states of all
// executions where nothing is a trial.
type experiment struct {
	name   string
	client string
	tree   *journal.Tree
	ended  int // trials that do not run any more
	all    int
}

// apply adds what a look at the journal found. It reports whether the trees are
// others than before.
func (p *picture) apply(u update) bool {
	p.at, p.problem, p.waiting = u.at, u.problem, u.waiting
	if u.runs != nil {
		p.runs = u.runs
	}
	if u.problem != nil {
		return false
	}
	p.run, p.pulses = u.run, u.pulses
	if u.seldom {
		p.interpreters = u.interpreters
	}
	changed := u.whole || len(u.executions) > 0
	if u.whole {
		p.executions, p.trials, p.lost = nil, u.trials, u.lost
	}
	for _, e := range u.executions {
		p.put(e)
	}
	p.rest()
	if !changed {
		return false
	}
	bound := mostExecutions
	if p.trials {
		bound = mostTrials
	}
	if extra := len(p.executions) - bound; extra > 0 {
		p.executions = slices.Clone(p.executions[extra:])
	}
	p.plant()
	return true
}

// rest corrects pulses, which are up to a second old: what has ended does not run.
func (p *picture) rest() {
	ended := map[sessions.Place]bool{}
	for i := max(0, len(p.executions)-recent); i < len(p.executions); i++ {
		if e := &p.executions[i]; !runs(e) {
			ended[e.Place] = true
		}
	}
	p.pulses = slices.Clone(p.pulses)
	for i := range p.pulses {
		if b := &p.pulses[i]; ended[sessions.Place{InterpreterID: b.InterpreterID, Execution: b.Execution}] {
			b.Execution = 0
		}
	}
}

// recent is how many executions can have ended since the pulses were told.
const recent = 200

func (p *picture) put(e journal.Execution) {
	i, found := slices.BinarySearchFunc(p.executions, e.ID, func(e journal.Execution, id int64) int { return cmp.Compare(e.ID, id) })
	if found {
		p.executions[i] = e
		return
	}
	p.executions = slices.Insert(p.executions, i, e)
}

// plant makes the trees.
func (p *picture) plant() {
	p.experiments = nil
	if len(p.executions) == 0 {
		return
	}
	if !p.trials {
		p.experiments = []experiment{{tree: journal.States(p.executions), all: len(p.executions)}}
		return
	}
	groups := map[string][]journal.Execution{}
	for _, e := range p.executions {
		if e.Trial == nil {
			continue
		}
		name := e.Trial.Experiment
		if groups[name] == nil {
			p.experiments = append(p.experiments, experiment{name: name, client: e.Client})
		}
		groups[name] = append(groups[name], e)
	}
	for i := range p.experiments {
		x := &p.experiments[i]
		group := groups[x.name]
		x.tree, x.all = journal.Trials(group), len(group)
		for _, e := range group {
			if !runs(&e) {
				x.ended++
			}
		}
	}
}

// find returns the execution with an id, nil when it is not there.
func (p *picture) find(id int64) *journal.Execution {
	i, found := slices.BinarySearchFunc(p.executions, id, func(e journal.Execution, id int64) int { return cmp.Compare(e.ID, id) })
	if !found {
		return nil
	}
	return &p.executions[i]
}

// newest returns the last execution, nil when there is none.
func (p *picture) newest() *journal.Execution {
	if len(p.executions) == 0 {
		return nil
	}
	return &p.executions[len(p.executions)-1]
}

// experimentOf returns the one that an execution belongs to, the newest when that is
// not known; nil where nothing is a trial.
func (p *picture) experimentOf(id int64) *experiment {
	if !p.trials || len(p.experiments) == 0 {
		return nil
	}
	name := ""
	if e := p.find(id); e != nil {
		name = e.Trial.Experiment
	} else if e := p.newest(); e != nil {
		name = e.Trial.Experiment
	}
	for i := range p.experiments {
		if p.experiments[i].name == name {
			return &p.experiments[i]
		}
	}
	return nil
}

// newer returns the newest run when it lives and is another than the one that is
// shown.
func (p *picture) newer() *journal.Run {
	if p.run == nil || len(p.runs) == 0 || p.runs[0].ID == p.run.ID || !p.runs[0].Alive || !p.runs[0].Started.After(p.run.Started) {
		return nil
	}
	return &p.runs[0]
}

// others is how many executions are no trials where the tree has trials only.
func (p *picture) others() int {
	if p.run == nil || !p.trials {
		return 0
	}
	return max(0, p.run.Executions-p.run.Trials)
}

// left is how many executions the tree does not show because they are too many.
func (p *picture) left() int {
	if p.run == nil {
		return 0
	}
	all := p.run.Executions
	if p.trials {
		all = p.run.Trials
	}
	return max(0, all-len(p.executions))
}
