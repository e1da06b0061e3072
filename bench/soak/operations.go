package main

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sync/errgroup"
)

// operation is something that a session does or suffers, with its weight on stdio and
// over the network. Afterwards all its variables are read back.
type operation struct {
	name               string // under which it is counted
	onStdio, onNetwork int
	fits               func(*session) bool
	do                 func(*session)
}

// operations returns all of them. deaths.go and stops.go have those that end a process
// or a call, network.go those that end a connection.
func operations() []operation {
	return []operation{
		{"steps", 60, 40, always, (*session).work},
		{"resets", 4, 0, always, (*session).workAfterReset},
		{"exceptions", 4, 2, always, (*session).raise},
		{"floods", 2, 4, always, func(s *session) { s.ok(s.bulk()) }},
		{"figures", 1, 6, hasMatplotlib, func(s *session) { s.ok(s.showFigure()) }},
		{"calls at once", 4, 2, always, (*session).crowd},
		{"children", 2, 0, hasNoChild, func(s *session) { s.ok(startChild()) }},
		{"threads", 3, 0, hasNoThread, func(s *session) { s.ok(startThread()) }},
		{"threads ended", 4, 0, hasThread, func(s *session) { s.ok(endThread()) }},

		{"ended by their code", 24, 0, always, (*session).die},
		{"ended in a flood", 3, 0, always, (*session).dieInFlood},
		{"ended with a child", 6, 0, hasNoChild, (*session).dieWithChild},
		{"killed while idle", 5, 0, hasRun, (*session).killIdle},
		{"killed just after an answer", 4, 0, hasRun, (*session).killJustAfter},
		{"killed while running", 5, 0, always, (*session).killRunning},
		{"killed at any time", 3, 0, hasRun, (*session).killSometime},
		{"killed in a flood", 1, 0, always, (*session).killFlood},
		{"understudies killed", 4, 0, hasUnderstudies, (*session).killUnderstudies},
		{"understudies killed in a call", 3, 0, hasUnderstudies, (*session).killUnderstudiesInCall},

		{"time limits", 2, 0, hasNoChild, (*session).exceed},
		{"time limits ignored", 2, 0, always, (*session).hang},
		{"interrupts", 4, 0, hasNoChild, (*session).interrupt},
		{"calls cancelled", 3, 0, hasNoChild, (*session).cancel},
		{"waits", 3, 8, always, (*session).awaitLong},
		{"busy interpreters", 2, 0, hasNoChild, (*session).findBusy},
		{"answers fetched late", 3, 0, hasNoThread, (*session).leaveUnfetched},

		{"branches", 6, 0, isRoom, (*session).branch},
		{"undos", 8, 0, always, (*session).undo},
		{"restarts", 2, 0, always, (*session).restart},

		{"calls given up", 0, 8, always, (*session).giveUp},
		{"came back in a call", 0, 6, always, (*session).comeBack},
		{"came back between calls", 0, 4, always, (*session).renew},
		{"intruders", 0, 4, isNoVictim, (*session).intrude},
	}
}

func (o operation) weightFor(s *session) int {
	switch {
	case !o.fits(s):
		return 0
	case s.network:
		return o.onNetwork
	}
	return o.onStdio
}

func always(*session) bool { return true }

func hasMatplotlib(s *session) bool { return s.python.Has["matplotlib"] }

func hasRun(s *session) bool { return !s.model.now.fresh }

func hasThread(s *session) bool { return s.model.now.obstacle() != "" }

func hasNoThread(s *session) bool { return !hasThread(s) }

// hasNoChild: a child gets what its interpreter's group gets, SIGINT too, and what that
// makes of it is its own business.
func hasNoChild(s *session) bool { return !s.model.now.hasChild() }

// hasUnderstudies reports whether the lead's children are understudies, and
// there is one.
func hasUnderstudies(s *session) bool { return hasRun(s) && s.model.recoverable() && hasNoChild(s) }

func isRoom(s *session) bool { return s.live.Load() < mostSessions }

func isNoVictim(s *session) bool { return s.id != s.victim }

// work runs a step that comes to its end.
func (s *session) work() { s.ok(s.anyStep()) }

// workAfterReset runs a step in a fresh interpreter.
func (s *session) workAfterReset() {
	n := s.small()
	t := step{code: fmt.Sprintf("v_0 = %d", n), change: set("v_0", number(n)), added: []string{"v_0"}}
	s.run(t, arguments{"reset": true}, fine)
}

// raise runs a step that ends with an exception, which takes nothing back.
func (s *session) raise() {
	ending := pick(s.random,
		[2]string{"raise ValueError('soak')", "ValueError"},
		[2]string{"1 / 0", "ZeroDivisionError"},
		[2]string{"import sys; sys.exit(3)", "SystemExit"},
		[2]string{"raise KeyboardInterrupt", "KeyboardInterrupt"},
		[2]string{"def f(): f()\nf()", "RecursionError"},
		[2]string{"no_such_name", "NameError"},
	)
	s.run(s.anyStep().then(ending[0]), nil, want{status: "error", excType: ending[1]})
}

// crowd makes several calls at once, which must run one after the other: the
// order of their numbers is the order of their effects. Each tells by what it
// prints which call it is of.
func (s *session) crowd() {
	const name = "v_0"
	s.ok(step{code: name + " = []", change: set(name, listOf([]int64{}...))})
	answers := make([]answer, 2+s.random.IntN(4))
	var calls errgroup.Group
	for i := range answers {
		calls.Go(func() error {
			code := fmt.Sprintf("%s.append(%d); print(%d)", name, i, i)
			return guard(func() { answers[i] = s.send(runTool, s.arguments(step{code: code}, nil)) })
		})
	}
	fail(calls.Wait())
	slices.SortFunc(answers, func(a, b answer) int { return a.record.Execution - b.record.Execution })
	order := []int64{}
	for _, a := range answers {
		i, err := strconv.Atoi(strings.TrimSpace(a.record.Stdout))
		if err != nil || i < 0 || i >= len(answers) || slices.Contains(order, int64(i)) {
			failf("one of %d calls at once printed %q", len(answers), a.record.Stdout)
		}
		order = with(order, int64(i))
		s.judge(a, step{stdout: fmt.Sprintf("%d\n", i), change: set(name, listOf(order...))}, fine)
	}
}

// branch makes a session of its own from this one's present state. Both go on; the
// branch's first look is at what it has been given.
func (s *session) branch() {
	if why := s.model.branchable(); why != "" {
		s.refused("branch", why)
		return
	}
	b := s.newSession(branchRandom(s.random), s.link.kind)
	b.id, b.model = s.manage("branch", nil).record.InterpreterID, s.model.branch()
	b.trail.follow(&s.trail)
	l := b.listed()
	b.workdir = l.Workdir
	fail(same("the parent in the list", l.Parent, s.id), same("the branch's directory", b.workdir, s.workdir))
	if b.id == s.id {
		failf("the branch is no other: %+v", l)
	}
	s.spawn(func() error {
		return b.guard(func() {
			b.check()
			b.drive()
			b.remove()
		})
	})
}

// undo takes back what was run just before, as often as the server can, and
// then once more.
func (s *session) undo() {
	s.work()
	times := 1
	if s.random.IntN(4) == 0 {
		times = s.model.history + 1
	}
	for range times {
		s.takeBack()
	}
}

// takeBack undoes once, or sees that it is refused. After an execution that left
// nothing behind the first call does nothing.
func (s *session) takeBack() {
	if s.model.noop {
		s.manage("undo", nil)
		s.model.noop = false
	}
	why := s.model.undoable()
	a := s.tryManage("undo", nil)
	switch {
	case a.refused && s.model.burst && contains("", a.text, "--copy-share", "--history") == nil:
		s.counts.add("undos too soon", 1)
	case a.refused && why == "":
		failf("undo was refused: %s", a.text)
	case a.refused:
		fail(contains("the refusal of undo", strings.ToLower(a.text), why))
	case why != "":
		failf("undo was done; it should have been refused because of %q", why)
	default:
		s.model.undo()
	}
}

// restart drops all variables, sometimes while code runs.
func (s *session) restart() {
	if s.random.IntN(2) == 0 {
		s.manage("restart", nil)
		s.model.restart()
		return
	}
	l := s.begin(s.anyStep(), pick(s.random, endless...))
	s.manage("restart", nil)
	l.wait()
	s.model.executions++
	maps.Copy(s.model.files, l.step.files)
	s.model.restart()
	fail(
		same("status", l.last.record.Status, "interrupted"),
		s.sameOutput(l.last, l.step.stdout),
		same("stderr", l.last.record.Stderr, l.step.stderr),
		contains("restart_reason", l.last.record.RestartReason, "restart was asked for"),
		sameFlag("state_restored", l.last.record.StateRestored, false),
	)
}
