package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sync/errgroup"
)

// operation is something that a session does or suffers, with its weight on stdio and
// over the network. Afterwards all its variables are read back.
type operation struct {
	onStdio, onNetwork int
	fits               func(*session) bool
	do                 func(*session)
}

// operations returns all of them. deaths.go and stops.go have those that end a process
// or a call, network.go those that end a connection.
func operations() []operation {
	return []operation{
		{60, 40, always, (*session).work},
		{4, 0, always, (*session).workAfterReset},
		{4, 2, always, (*session).raise},
		{2, 4, always, func(s *session) { s.ok(s.bulk()) }},
		{1, 6, hasMatplotlib, (*session).show},
		{4, 2, always, (*session).crowd},
		{2, 0, hasNoChild, func(s *session) { s.ok(startChild()) }},
		{3, 0, hasNoThread, (*session).thread},
		{4, 0, hasThread, func(s *session) { s.ok(endThread()) }},

		{24, 0, always, (*session).die},
		{3, 0, always, (*session).dieInFlood},
		{6, 0, hasNoChild, (*session).dieWithChild},
		{5, 0, hasRun, (*session).killIdle},
		{4, 0, hasRun, (*session).killJustAfter},
		{5, 0, always, (*session).killRunning},
		{3, 0, hasRun, (*session).killSometime},
		{1, 0, always, (*session).killFlood},
		{4, 0, hasUnderstudies, (*session).killUnderstudies},
		{3, 0, hasUnderstudies, (*session).killUnderstudiesInCall},

		{2, 0, hasNoChild, (*session).exceed},
		{2, 0, always, (*session).hang},
		{4, 0, hasNoChild, (*session).interrupt},
		{3, 0, hasNoChild, (*session).cancel},
		{3, 8, always, (*session).awaitLong},
		{2, 0, hasNoChild, (*session).findBusy},
		{3, 0, hasNoThread, (*session).leaveUnfetched},

		{6, 0, always, (*session).branch},
		{8, 0, always, (*session).undo},
		{2, 0, always, (*session).restart},

		{0, 8, always, (*session).giveUp},
		{0, 6, always, (*session).comeBack},
		{0, 4, always, (*session).renew},
		{0, 4, isNoVictim, (*session).intrude},
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

func isNoVictim(s *session) bool { return s.id != s.victim }

// work runs a step that comes to its end.
func (s *session) work() { s.ok(s.anyStep()) }

// workAfterReset runs a step in a fresh interpreter.
func (s *session) workAfterReset() {
	n := s.small()
	t := step{code: fmt.Sprintf("v_0 = %d", n), change: set("v_0", number(n)), added: []string{"v_0"}}
	s.run(t, arguments{"reset": true}, fine)
	s.counts.add("resets", 1)
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
	s.counts.add("exceptions", 1)
}

func (s *session) show() {
	s.counts.add("figures", 1)
	s.ok(showFigure(s))
}

func (s *session) thread() {
	s.counts.add("threads", 1)
	s.ok(startThread())
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
	s.counts.add("queued calls", len(answers))
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
	if !s.model.forks {
		s.refused("branch", "--start")
		return
	}
	if obstacle := s.model.now.obstacle(); obstacle != "" {
		s.refused("branch", obstacle)
		return
	}
	if s.live.Load() >= mostSessions {
		return
	}
	b := s.newSession(rand.New(rand.NewPCG(s.random.Uint64(), s.random.Uint64())), s.link.kind)
	b.id, b.model = s.manage("branch", nil).record.InterpreterID, s.model.branch()
	b.trail.follow(&s.trail)
	l := b.listed()
	b.workdir = l.Workdir
	fail(same("the parent in the list", l.Parent, s.id), same("the branch's directory", b.workdir, s.workdir))
	if b.id == s.id {
		failf("the branch is no other: %+v", l)
	}
	s.counts.add("branches", 1)
	s.spawn(func() error {
		return b.guard(func() {
			b.check()
			b.drive()
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
		s.counts.add("undos refused in a burst", 1)
	case a.refused && why == "":
		failf("undo was refused: %s", a.text)
	case a.refused:
		fail(contains("the refusal of undo", strings.ToLower(a.text), why))
	case why != "":
		failf("undo was done; it should have been refused because of %q", why)
	default:
		s.model.undo()
		s.counts.add("undos", 1)
	}
}

// restart drops all variables, sometimes while code runs.
func (s *session) restart() {
	s.counts.add("restarts", 1)
	if s.random.IntN(2) == 0 {
		s.manage("restart", nil)
		s.model.restart()
		return
	}
	l := s.begin(s.anyStep(), pick(s.random, endless...))
	s.manage("restart", nil)
	l.wait()
	s.model.executions++
	for name, text := range l.step.files {
		s.model.files[name] = text
	}
	s.model.restart()
	fail(
		same("status", l.last.record.Status, "interrupted"),
		s.sameOutput(l.last, l.step.stdout),
		same("stderr", l.last.record.Stderr, l.step.stderr),
		contains("restart_reason", l.last.record.RestartReason, "restart was asked for"),
		sameFlag("state_restored", l.last.record.StateRestored, false),
	)
}
