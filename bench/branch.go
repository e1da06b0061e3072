package main

import (
	"context"
	"errors"
	"fmt"
)

const (
	branches           = 50
	branchedItems      = 62_500_000 // 500 MB
	wantedBranchMemory = 1e9        // bytes that all branches may need beyond what there was
)

// branchCheck prints a sum over the array, which reads all of it.
const branchCheck = "print(int(a.sum()))"

// trunk is a session with an array that is branched, and whose calls are undone.
type trunk struct {
	ctx    context.Context
	server *server
	id     string
	count  int
}

// measureBranches measures branches of one session, and undo in it.
func measureBranches(ctx context.Context, b *bench) (err error) {
	if !needsFork("branch") {
		return nil
	}
	s, err := startWarmServer(ctx, b)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.closeWithin(longestClose)) }()
	t := &trunk{ctx: ctx, server: s}
	if t.id, err = s.create(); err != nil {
		return err
	}
	code := fmt.Sprintf("import numpy as np\na = np.ones(%d)\n%s", branchedItems, branchCheck)
	if _, err = s.expect(t.id, code, t.sum()); err != nil {
		return err
	}
	undos, err := rounds(b.rounds, []contender{{"undo", t.undo}})
	if err != nil {
		return err
	}
	return t.branch(b, undos[0])
}

func (t *trunk) sum() string { return fmt.Sprintf("%d\n", branchedItems) }

// undo runs something and has it undone; the array and the variable of the call
// before must be there.
func (t *trunk) undo() (float64, error) {
	t.count++
	for _, code := range []string{fmt.Sprintf("x = %d", t.count), "x = 'wrong'"} {
		if _, err := t.server.runIn(t.id, code); err != nil {
			return 0, err
		}
	}
	if err := t.server.awaitCopies(t.ctx); err != nil {
		return 0, err
	}
	undone, err := t.server.manage("undo", t.id)
	if err != nil {
		return 0, err
	}
	_, err = t.server.expect(t.id, "print(x, len(a))", fmt.Sprintf("%d %d\n", t.count, branchedItems))
	return undone.seconds, err
}

// weigh returns what all processes use, and what the machine has left.
func (t *trunk) weigh() (used, left float64, err error) {
	if err = t.server.awaitCopies(t.ctx); err != nil {
		return 0, 0, err
	}
	if used, _, err = familyMemory(t.server.cmd.Process.Pid); err != nil {
		return 0, 0, err
	}
	left, err = available()
	return used, left, err
}

func (t *trunk) branch(b *bench, undos values) error {
	usedBefore, leftBefore, err := t.weigh()
	if err != nil {
		return err
	}
	var made, asked values
	for range branches {
		branch, err := t.server.manage("branch", t.id)
		if err != nil {
			return err
		}
		answer, err := t.server.expect(branch.Record.InterpreterID, branchCheck, t.sum())
		if err != nil {
			return fmt.Errorf("asking a branch: %w", err)
		}
		made, asked = append(made, branch.seconds), append(asked, answer.seconds)
	}
	usedAfter, leftAfter, err := t.weigh()
	if err != nil {
		return err
	}
	b.report.add(branchTable(made, asked, undos))
	b.report.add(table{
		title: fmt.Sprintf("Memory of %d branches", branches),
		note: "What they need beyond the session that they were made from, each with its own copy, after each was asked for the array's sum. " +
			"Proportional (PSS): over the server and all its processes, shared pages counted once.",
		unit: size,
		rows: []row{
			{name: "proportional", values: values{usedAfter - usedBefore}},
			{name: "drop of MemAvailable", values: values{leftBefore - leftAfter}},
		},
	})
	more := max(usedAfter-usedBefore, leftBefore-leftAfter)
	b.report.aim(target{
		fmt.Sprintf("%d branches of a session that holds a 500 MB array: extra memory", branches),
		"under " + size(wantedBranchMemory, wantedBranchMemory),
		fmt.Sprintf("%s (PSS), %s (drop of MemAvailable)", size(usedAfter-usedBefore, 0), size(leftBefore-leftAfter, 0)),
		more < wantedBranchMemory,
	})
	return nil
}

func branchTable(made, asked, undos values) table {
	return table{
		title: "Branch and undo, in a session that holds a 500 MB array",
		note: "From the request to its answer, after which the branch can be called; its first call sums the array. " +
			"Undo comes when the copy that follows the call before is made.",
		unit: seconds,
		rows: []row{
			{name: "branch", values: made},
			{name: "the first call in the branch, `a.sum()`", values: asked},
			{name: "undo", values: undos},
		},
	}
}
