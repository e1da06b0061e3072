package main

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
)

// mostSessions is how many sessions may live at once, branches included.
const mostSessions = 20

// branch makes a session of its own from this one's present state. Both go on.
func (s *session) branch(ctx context.Context) error {
	if !s.model.forks {
		return s.refused(ctx, "branch", "--start")
	}
	if obstacle := s.model.now.obstacle(); obstacle != "" {
		return s.refused(ctx, "branch", obstacle)
	}
	if s.live.Load() >= mostSessions {
		return nil
	}
	a, err := s.manage(ctx, "branch", nil)
	if err != nil {
		return err
	}
	b := &session{
		life: s.life, id: a.record.InterpreterID, model: s.model.branch(),
		random: rand.New(rand.NewPCG(s.random.Uint64(), s.random.Uint64())),
	}
	b.trail.follow(&s.trail)
	l, err := b.listed(ctx)
	if err != nil {
		return err
	}
	b.workdir = l.Workdir
	if err := same("the parent in the list", l.Parent, s.id); err != nil {
		return s.blame(err)
	}
	b.model.files = map[string]string{} // its own have other names
	if b.id == s.id || b.workdir != s.workdir {
		return s.wrong("the branch is not another in the same directory: %+v", l)
	}
	s.counts.add("branches", 1)
	s.spawn(func() error { return b.liveAs(ctx) })
	return nil
}

// liveAs is a branch's life: its first look is at what it has been given.
func (s *session) liveAs(ctx context.Context) error {
	if err := s.check(ctx); err != nil {
		return s.blame(err)
	}
	return s.drive(ctx)
}

// undo takes back what was run just before, as often as the server can, and
// then once more.
func (s *session) undo(ctx context.Context) error {
	if err := s.work(ctx); err != nil {
		return err
	}
	times := 1
	if s.random.IntN(4) == 0 {
		times = s.model.history + 1
	}
	for range times {
		if err := s.takeBack(ctx); err != nil {
			return err
		}
	}
	return nil
}

// takeBack undoes once, or sees that it is refused. After an execution that left
// nothing behind the first call does nothing.
func (s *session) takeBack(ctx context.Context) error {
	if s.model.fruitless {
		if _, err := s.manage(ctx, "undo", nil); err != nil {
			return err
		}
		s.model.fruitless = false
	}
	why := s.model.undoable()
	if why != "" && !s.model.burst {
		return s.refused(ctx, "undo", why)
	}
	a, err := s.tryManage(ctx, "undo", nil)
	if err != nil {
		return err
	}
	switch inTime := s.model.burst && (strings.Contains(a.text, "--copy-share") || strings.Contains(a.text, "--history")); {
	case a.refused && (inTime || why != "" && strings.Contains(strings.ToLower(a.text), why)):
		s.counts.add("undos refused in a burst", 1)
		return nil
	case a.refused:
		return s.wrong("undo was refused: %s", a.text)
	case why != "":
		return s.wrong("undo was done; it should have been refused because of %q", why)
	}
	s.model.undo()
	s.counts.add("undos", 1)
	return nil
}

// restart drops all variables, sometimes while code runs.
func (s *session) restart(ctx context.Context) error {
	var l *long
	var err error
	if s.random.IntN(2) == 0 {
		if l, err = s.begin(ctx, s.anyStep(), pick(s.random, endless...)); err != nil {
			return err
		}
	}
	if _, err := s.manage(ctx, "restart", nil); err != nil {
		return err
	}
	s.counts.add("restarts", 1)
	if l == nil {
		s.model.restart()
		return nil
	}
	return s.judgeRestarted(ctx, l)
}

// judgeRestarted judges the execution that a restart stopped.
func (s *session) judgeRestarted(ctx context.Context, l *long) error {
	if err := l.wait(ctx); err != nil {
		return err
	}
	s.model.executions++
	for name, text := range l.step.files {
		s.model.files[name] = text
	}
	s.model.restart()
	return s.blame(errors.Join(
		same("status", l.last.record.Status, "interrupted"),
		sameOutput(l.last.record, l.step.stdout),
		same("stderr", l.last.record.Stderr, l.step.stderr),
		contains("restart_reason", l.last.record.RestartReason, "restart was asked for"),
		sameFlag("state_restored", l.last.record.StateRestored, false),
	))
}
