package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// work runs a step that comes to its end.
func (s *session) work(ctx context.Context) error { return s.ok(ctx, s.anyStep()) }

// workAfterReset runs a step in a fresh interpreter.
func (s *session) workAfterReset(ctx context.Context) error {
	n := s.small()
	t := step{code: fmt.Sprintf("v_0 = %d", n), change: set("v_0", number(n)), added: []string{"v_0"}}
	_, err := s.runAs(ctx, t, call{reset: true}, want{status: "ok"})
	s.counts.add("resets", 1)
	return err
}

// raise runs a step that ends with an exception, which takes nothing back.
func (s *session) raise(ctx context.Context) error {
	ending := pick(s.random,
		[2]string{"raise ValueError('soak')", "ValueError"},
		[2]string{"1 / 0", "ZeroDivisionError"},
		[2]string{"import sys; sys.exit(3)", "SystemExit"},
		[2]string{"raise KeyboardInterrupt", "KeyboardInterrupt"},
		[2]string{"def f(): f()\nf()", "RecursionError"},
		[2]string{"no_such_name", "NameError"},
	)
	t := s.anyStep().then(ending[0])
	t.variable, t.result = "", ""
	_, err := s.run(ctx, t, want{status: "error", excType: ending[1]})
	s.counts.add("exceptions", 1)
	return err
}

// printMuch prints more than an answer holds.
func (s *session) printMuch(ctx context.Context) error {
	return s.ok(ctx, printBulk(100+s.random.IntN(20_000)))
}

func (s *session) show(ctx context.Context) error {
	s.counts.add("figures", 1)
	return s.ok(ctx, showFigure(s))
}

// crowd makes several calls at once, which must run one after the other: the
// order of their numbers is the order of their effects.
func (s *session) crowd(ctx context.Context) error {
	const name = "v_0"
	if err := s.ok(ctx, step{code: name + " = []", change: set(name, list{})}); err != nil {
		return err
	}
	answers := make([]answer, 2+s.random.IntN(4))
	errs := make([]error, len(answers))
	var calls sync.WaitGroup
	for i := range answers {
		calls.Go(func() {
			code := fmt.Sprintf("%s.append(%d); print(%d)", name, i, i)
			answers[i], errs[i] = s.send(ctx, runTool, s.arguments(step{code: code}, call{}))
		})
	}
	calls.Wait()
	s.counts.add("queued calls", len(answers))
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	slices.SortFunc(answers, func(a, b answer) int { return a.record.Execution - b.record.Execution })
	return s.judgeCrowd(name, answers)
}

// judgeCrowd judges answers in the order of their executions. Each tells by
// what it printed which call it is of.
func (s *session) judgeCrowd(name string, answers []answer) error {
	seen := map[int]bool{}
	so := list{}
	for _, a := range answers {
		i, err := strconv.Atoi(strings.TrimSpace(a.record.Stdout))
		if err != nil || i < 0 || i >= len(answers) || seen[i] {
			return s.wrong("one of %d calls at once printed %q", len(answers), a.record.Stdout)
		}
		seen[i] = true
		so = so.with(int64(i))
		t := step{stdout: fmt.Sprintf("%d\n", i), change: set(name, so)}
		if err := s.judge(a, t, want{status: "ok"}); err != nil {
			return err
		}
	}
	return nil
}
