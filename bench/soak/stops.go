package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
)

// shortLimit is a time limit, in seconds, that quick steps are far from, also while
// the machine is busy with others.
const shortLimit = 6.0

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

// overrun runs a quick step, with a blocker after it, into the time limit. The blocker is
// prepared before: imports count for a time limit.
func (s *session) overrun(b blocker, w want) answer {
	if b.setup != "" {
		s.ok(step{code: b.setup})
	}
	w.status, w.excType = "timeout", "TimeoutError"
	return s.run(s.quickStep().then(b.code), arguments{"timeout": shortLimit}, w)
}

// exceed runs into the time limit, which interrupts it and keeps its state.
func (s *session) exceed() {
	s.overrun(pick(s.random, endless...), want{})
}

// hang runs into the time limit and ignores it.
func (s *session) hang() {
	s.died("a hang", s.overrun(pick(s.random, stubborn...), want{dies: "ignored the interrupt"}))
}

// long is an execution that is waited for.
type long struct {
	session *session
	step    step
	last    answer // with the output of all earlier ones
}

// begin starts a step that goes on with a blocker; in between it tells of
// itself through a file. The call has answered "running" when begin returns.
func (s *session) begin(t step, b blocker) *long {
	l := &long{session: s, step: s.telling(t, b)}
	l.follow(s.send(runTool, s.arguments(l.step, arguments{"wait": 0.001}))) // 0 is what models write who have no wish
	s.awaitTold()
	return l
}

// telling is a step that goes on with a blocker, and makes a file in between.
func (s *session) telling(t step, b blocker) step {
	s.marks++
	return t.then(b.setup).then(fmt.Sprintf("open(%q, 'w').close();", s.file(s.mark()))).then(b.code)
}

func (s *session) mark() string { return fmt.Sprintf("mark_%d", s.marks) }

// awaitTold waits until the code has made the file.
func (s *session) awaitTold() {
	s.eventually(answerTime, func() error {
		if os.Remove(s.path(s.mark())) != nil {
			return errNotYet
		}
		return nil
	})
}

// gate is a blocker that openGate ends.
func (s *session) gate() blocker {
	return blocker{"import os, time", fmt.Sprintf("while not os.path.exists(%[1]q):\n    time.sleep(0.01)\nos.remove(%[1]q)", s.file("gate"))}
}

func (s *session) openGate() { fail(os.WriteFile(s.path("gate"), nil, 0o644)) }

// follow takes the next answer about the execution. It reports whether that is the last.
func (l *long) follow(a answer) (done bool) {
	if a.refused {
		failf("it was refused: %s", a.text)
	}
	before := l.last
	if l.session.given > 0 && before.record.Execution != 0 && before.record.Execution != a.record.Execution {
		return false // of a call that was given up, whose answer nobody has fetched
	}
	a.record.Stdout, a.record.Stderr = before.record.Stdout+a.record.Stdout, before.record.Stderr+a.record.Stderr
	a.record.Figures = append(before.record.Figures, a.record.Figures...)
	a.images += before.images
	l.last = a
	return a.record.Status != "running"
}

// wait waits until the execution is done.
func (l *long) wait() {
	for !l.follow(l.session.manage("wait", arguments{"wait": 20})) {
	}
}

// end waits for the end and judges all that was answered.
func (l *long) end(w want) {
	l.wait()
	l.session.judge(l.last, l.step, w)
}

// interrupt stops a running step from outside.
func (s *session) interrupt() {
	l := s.begin(s.anyStep(), pick(s.random, endless...))
	a := s.manage("interrupt", nil)
	l.end(interrupted)
	if i := a.record.Interruption; i == nil || !i.Stopped || !i.StateKept {
		failf("the interrupt says %+v", i)
	}
}

// cancel has the client take back a call while its code runs.
func (s *session) cancel() {
	t := s.telling(s.anyStep(), pick(s.random, endless...))
	ctx, cancel := context.WithCancel(s.ctx)
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		_, err := s.try(ctx, runTool, s.arguments(t, nil))
		ended <- err
	}()
	s.awaitTold()
	cancel()
	switch err := <-ended; {
	case errors.Is(err, errOver):
		fail(err)
	case err == nil:
		failf("a call was answered although it was cancelled")
	}
	l := &long{session: s, step: t}
	l.end(interrupted)
}

// awaitLong waits for an execution in several answers.
func (s *session) awaitLong() {
	gate := s.gate()
	l := s.begin(s.anyStep(), blocker{gate.setup, gate.code + "\nprint('went on')"})
	for range s.random.IntN(3) {
		if l.follow(s.manage("wait", arguments{"wait": 0.01})) {
			failf("status is %s before the end", l.last.record.Status)
		}
	}
	s.openGate()
	l.step.stdout += "went on\n"
	l.end(fine)
}

// leaveUnfetched turns to something else while an execution goes on: the next answer must
// tell of it, and it must still be there.
func (s *session) leaveUnfetched() {
	l := s.begin(s.anyStep(), s.gate())
	s.openGate()
	next := step{code: "print('next')", stdout: "next\n"}
	a := s.send(runTool, s.arguments(next, nil))
	l.end(fine)
	s.judge(a, next, fine)
	fail(contains("the notes", strings.Join(a.record.Notes, "\n"),
		fmt.Sprintf("execution %d has ended (ok) and its answer was not fetched", l.last.record.Execution)))
}

// findBusy tries what a busy interpreter refuses.
func (s *session) findBusy() {
	l := s.begin(s.anyStep(), pick(s.random, endless...))
	a := s.send(runTool, s.arguments(step{code: "print('never')"}, arguments{"wait": 0.05}))
	if !a.refused || !strings.Contains(a.text, "busy") {
		failf("a call to a busy interpreter was not refused: %s", a.text)
	}
	if s.model.forks {
		s.refused("branch", "running")
		s.refused("undo", "running")
	}
	s.manage("interrupt", nil)
	l.end(interrupted)
}
