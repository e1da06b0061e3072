package journal

import (
	"cmp"
	"slices"
)

// Node is a trial, or any execution, in a tree.
type Node struct {
	*Execution
	Children []*Node
	Best     bool
}

// Tree is what was tried, and what came of what.
type Tree struct {
	Roots []*Node // oldest first, as are children
	Best  *Node   // nil where nothing was measured
}

// Trials makes the tree of the trials among executions, of one experiment.
func Trials(executions []Execution) *Tree {
	return grow(executions, func(e *Execution) bool { return e.Trial != nil }, func(e *Execution) int64 { return e.Trial.Parent })
}

// States makes the tree of all executions, each below the one whose state it began
// with.
func States(executions []Execution) *Tree {
	return grow(executions, func(*Execution) bool { return true }, func(e *Execution) int64 { return e.Parent })
}

// grow puts each wanted execution below its parent, or among the roots if that is
// not there. Executions are oldest first in the tree whatever their order was.
func grow(executions []Execution, wanted func(*Execution) bool, parentOf func(*Execution) int64) *Tree {
	nodes := map[int64]*Node{}
	var order []*Node
	for i := range executions {
		if wanted(&executions[i]) {
			n := &Node{Execution: &executions[i]}
			nodes[n.ID] = n
			order = append(order, n)
		}
	}
	slices.SortStableFunc(order, func(a, b *Node) int { return cmp.Compare(a.ID, b.ID) })
	tree := &Tree{}
	for _, n := range order {
		if parent := nodes[parentOf(n.Execution)]; parent != nil && parent.ID < n.ID { // a file that lies must not make a circle
			parent.Children = append(parent.Children, n)
		} else {
			tree.Roots = append(tree.Roots, n)
		}
	}
	if best := Best(executions); best != nil {
		tree.Best = nodes[best.ID]
		tree.Best.Best = true
	}
	return tree
}

// Best returns the best trial, nil where none was measured: of those that are not
// buggy the one with the best metric in the experiment's direction; the first wins a
// tie. The direction is that of the first trial that was measured.
func Best(executions []Execution) *Execution {
	var measured []*Execution
	for i := range executions {
		if t := executions[i].Trial; t != nil && !t.Buggy && t.Metric != nil {
			measured = append(measured, &executions[i])
		}
	}
	slices.SortStableFunc(measured, func(a, b *Execution) int { return cmp.Compare(a.Trial.Number, b.Trial.Number) })
	var best *Execution
	for _, e := range measured {
		if best == nil || e.Trial.Maximize == best.Trial.Maximize && better(*e.Trial.Metric, *best.Trial.Metric, e.Trial.Maximize) {
			best = e
		}
	}
	return best
}

// better reports whether a metric is better than another.
func better(a, b float64, maximize bool) bool {
	if maximize {
		return a > b
	}
	return a < b
}
