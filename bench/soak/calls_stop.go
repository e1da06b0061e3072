package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// shortLimit is a time limit, in seconds, that quick steps are far from, also while
// the machine is busy with others; grace is how long code may take to obey then.
const (
	shortLimit = 6.0
	grace      = 5 * time.Second
)

// blocker is code that takes for ever, after some that prepares it. The two are
// apart because Python loses an interrupt that comes while it imports: it is
// raised in a callback of the import's locks, and ignored there.
type blocker struct{ setup, code string }

// endless are blockers that obey an interrupt.
var endless = []blocker{
	{"", "while True: pass"},
	{"import time", "time.sleep(1000)"},
	{"import subprocess", "subprocess.run(['sleep', '1000'])"},
	{"import asyncio", "await asyncio.sleep(1000)"},
}

// stubborn are blockers that nothing but a kill ends.
var stubborn = []blocker{
	{"import time", "while True:\n    try:\n        time.sleep(1000)\n    except KeyboardInterrupt:\n        pass"},
	{"import os, signal", "os.kill(os.getpid(), signal.SIGSTOP)"},
	{"import signal, time", "old = signal.signal(signal.SIGINT, signal.SIG_IGN)\ntime.sleep(1000)"},
	{"import ctypes\nlock = ctypes.create_string_buffer(64)", "for _ in range(2):\n    ctypes.CDLL(None).pthread_mutex_lock(lock)"},
}

// blocked is a quick step with a blocker after it, which has been prepared: imports
// count for a time limit.
func (s *session) blocked(ctx context.Context, b blocker) (step, error) {
	if b.setup != "" {
		if err := s.ok(ctx, step{code: b.setup}); err != nil {
			return step{}, err
		}
	}
	t := s.quickStep().then(b.code)
	t.variable, t.result = "", ""
	return t, nil
}

// exceed runs into the time limit, which interrupts it and keeps its state.
func (s *session) exceed(ctx context.Context) error {
	t, err := s.blocked(ctx, pick(s.random, endless...))
	if err != nil {
		return err
	}
	s.counts.add("time limits", 1)
	_, err = s.runAs(ctx, t, call{timeout: shortLimit}, want{status: "timeout", excType: "TimeoutError"})
	return err
}

// hang runs into the time limit and ignores it.
func (s *session) hang(ctx context.Context) error {
	t, err := s.blocked(ctx, pick(s.random, stubborn...))
	if err != nil {
		return err
	}
	a, err := s.runAs(ctx, t, call{timeout: shortLimit}, want{status: "timeout", excType: "TimeoutError", dies: "ignored the interrupt"})
	s.counts.add("died of: a hang", 1)
	s.counts.add("deaths", 1)
	if restored := a.record.StateRestored; restored != nil && *restored {
		s.counts.add("restored", 1)
	}
	return err
}

// begin starts a step that goes on with a blocker; in between it tells of
// itself through a file. The call has answered "running" when begin returns.
func (s *session) begin(ctx context.Context, t step, b blocker) (*long, error) {
	l := &long{session: s, step: t.then(b.setup).then(s.telling()).then(b.code)}
	l.step.variable, l.step.result = "", ""
	soon := 0.001 // 0 is what models write who have no wish
	a, err := s.send(ctx, runTool, s.arguments(l.step, call{wait: &soon}))
	if err != nil {
		return nil, err
	}
	if err := l.follow(a); err != nil {
		return nil, err
	}
	return l, s.told(ctx)
}

// telling is code that makes a file, for told to find.
func (s *session) telling() string {
	s.marks++
	return fmt.Sprintf("open(%q, 'w').close();", s.markFile())
}

func (s *session) markFile() string { return s.file(fmt.Sprintf("mark_%d", s.marks)) }

// told waits until the code has made the file.
func (s *session) told(ctx context.Context) error {
	path := filepath.Join(s.workdir, s.markFile())
	deadline := time.Now().Add(answerTime)
	for {
		if err := os.Remove(path); err == nil {
			return nil
		}
		if s.over.Load() {
			return errOver
		}
		if time.Now().After(deadline) {
			return s.wrong("the code has not come as far as %s in %s", s.markFile(), answerTime)
		}
		if err := pause(ctx, 2*time.Millisecond); err != nil {
			return err
		}
	}
}

// gate is a blocker that openGate ends.
func (s *session) gate() blocker {
	return blocker{"import os, time", fmt.Sprintf("while not os.path.exists(%[1]q):\n    time.sleep(0.01)\nos.remove(%[1]q)", s.file("gate"))}
}

func (s *session) openGate() error {
	return os.WriteFile(filepath.Join(s.workdir, s.file("gate")), nil, 0o644)
}

// long is an execution that is waited for.
type long struct {
	session *session
	step    step
	last    answer // with the output of all earlier ones
}

// follow takes the next answer about the execution.
func (l *long) follow(a answer) error {
	if a.refused {
		return l.session.wrong("it was refused: %s", a.text)
	}
	a.record.merge(l.last.record)
	a.images += l.last.images
	l.last = a
	return nil
}

// wait waits on until the execution is done.
func (l *long) wait(ctx context.Context) error {
	for {
		a, err := l.session.manage(ctx, "wait", arguments{"wait": 20})
		if err != nil {
			return err
		}
		if err := l.follow(a); err != nil || a.record.Status != "running" {
			return err
		}
	}
}

// end waits for the end and judges all that was answered.
func (l *long) end(ctx context.Context, w want) error {
	if err := l.wait(ctx); err != nil {
		return err
	}
	return l.session.judge(l.last, l.step, w)
}

// interrupt stops a running step from outside.
func (s *session) interrupt(ctx context.Context) error {
	l, err := s.begin(ctx, s.anyStep(), pick(s.random, endless...))
	if err != nil {
		return err
	}
	a, err := s.manage(ctx, "interrupt", nil)
	if err != nil {
		return err
	}
	s.counts.add("interrupts", 1)
	if err := l.end(ctx, want{status: "interrupted", excType: "KeyboardInterrupt"}); err != nil {
		return err
	}
	if i := a.record.Interruption; i == nil || !i.Stopped || !i.StateKept {
		return s.wrong("the interrupt says %+v", i)
	}
	return nil
}

// cancel has the client take back a call while its code runs.
func (s *session) cancel(ctx context.Context) error {
	b := pick(s.random, endless...)
	t := s.anyStep().then(b.setup).then(s.telling()).then(b.code)
	t.variable, t.result = "", ""
	taken, cancel := context.WithCancel(ctx)
	defer cancel()
	done := make(chan error, 1)
	go func() {
		entry := s.trail.sent(runTool, s.arguments(t, call{}))
		_, err := s.server.call(taken, runTool, s.arguments(t, call{}))
		entry.failed(fmt.Errorf("cancelled: %w", orAnswered(err)))
		done <- err
	}()
	err := s.told(ctx)
	cancel()
	if answered := <-done; err != nil {
		return err
	} else if s.over.Load() {
		return errOver
	} else if answered == nil {
		return s.wrong("a call was answered although it was cancelled")
	}
	s.counts.add("cancelled calls", 1)
	l := &long{session: s, step: t}
	return l.end(ctx, want{status: "interrupted", excType: "KeyboardInterrupt"})
}

func orAnswered(err error) error {
	if err == nil {
		return errors.New("it was answered")
	}
	return err
}

// awaitLong waits for an execution in several answers.
func (s *session) awaitLong(ctx context.Context) error {
	gate := s.gate()
	l, err := s.begin(ctx, s.anyStep(), blocker{gate.setup, gate.code + "\nprint('went on')"})
	if err != nil {
		return err
	}
	for range s.random.IntN(3) {
		a, err := s.manage(ctx, "wait", arguments{"wait": 0.01})
		if err != nil {
			return err
		}
		if err := errors.Join(same("status", a.record.Status, "running"), l.follow(a)); err != nil {
			return s.blame(err)
		}
	}
	if err := s.openGate(); err != nil {
		return err
	}
	l.step.stdout += "went on\n"
	s.counts.add("waits", 1)
	return l.end(ctx, want{status: "ok"})
}

// leaveUnfetched turns to something else while an execution goes on: the next answer must
// tell of it, and it must still be there.
func (s *session) leaveUnfetched(ctx context.Context) error {
	gate := s.gate()
	l, err := s.begin(ctx, s.anyStep(), gate)
	if err != nil {
		return err
	}
	if err := s.openGate(); err != nil {
		return err
	}
	next := step{code: "print('next')", stdout: "next\n"}
	a, err := s.send(ctx, runTool, s.arguments(next, call{}))
	if err != nil {
		return err
	}
	if err := l.end(ctx, want{status: "ok"}); err != nil {
		return err
	}
	s.counts.add("answers fetched late", 1)
	told := fmt.Sprintf("execution %d has ended (ok) and its answer was not fetched", l.last.record.Execution)
	return errors.Join(s.judge(a, next, want{status: "ok"}),
		s.blame(contains("the notes", strings.Join(a.record.Notes, "\n"), told)))
}

// findBusy tries what a busy interpreter refuses.
func (s *session) findBusy(ctx context.Context) error {
	if hasChild(s) {
		return nil // the interrupt would reach it too
	}
	l, err := s.begin(ctx, s.anyStep(), pick(s.random, endless...))
	if err != nil {
		return err
	}
	little := 0.05
	a, err := s.send(ctx, runTool, s.arguments(step{code: "print('never')"}, call{wait: &little}))
	if err != nil {
		return err
	}
	if !a.refused || !strings.Contains(a.text, "busy") {
		return s.wrong("a call to a busy interpreter was not refused: %s", a.text)
	}
	if s.model.forks {
		for _, operation := range []string{"branch", "undo"} {
			if err := s.refused(ctx, operation, "running"); err != nil {
				return err
			}
		}
	}
	if _, err := s.manage(ctx, "interrupt", nil); err != nil {
		return err
	}
	return l.end(ctx, want{status: "interrupted", excType: "KeyboardInterrupt"})
}
