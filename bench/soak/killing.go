package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// kill kills a process of the session's and waits until it is dead.
func (s *session) kill(pid int) error {
	if pid == 0 {
		return s.wrong("the list has no process")
	}
	if err := killProcess(pid); err != nil {
		return s.wrong("killing process %d: %w", pid, err)
	}
	return awaitDeath(pid)
}

// settled waits until the list says of the idle session what must be: then the
// copy of its state has been made, if it can be.
func (s *session) settled(ctx context.Context) (listing, error) {
	l, err := s.listedAs(ctx, s.model.recoverable())
	if err == nil && l.Status != "running" {
		err = s.wrong("the list says that the interpreter is %s", l.Status)
	}
	return l, err
}

// listedAs waits until the list says whether the state is recoverable.
func (s *session) listedAs(ctx context.Context, recoverable bool) (listing, error) {
	deadline := time.Now().Add(endTime)
	for {
		l, err := s.listed(ctx)
		if err != nil || l.Recoverable == recoverable {
			return l, err
		}
		if time.Now().After(deadline) {
			return l, s.wrong("the list has said for %s that recoverable is %t", endTime, l.Recoverable)
		}
		if err := pause(ctx, 5*time.Millisecond); err != nil {
			return l, err
		}
	}
}

// killIdle kills the process while nothing runs and its state has been copied.
func (s *session) killIdle(ctx context.Context) error {
	l, err := s.settled(ctx)
	if err != nil {
		return err
	}
	if err := s.kill(l.PID); err != nil {
		return err
	}
	s.counts.add("killed while idle", 1)
	return s.afterKill(ctx, true)
}

// killJustAfter kills the process in the moment in which an answer has come:
// the copy of its state may not have been made yet.
func (s *session) killJustAfter(ctx context.Context) error {
	l, err := s.settled(ctx)
	if err != nil {
		return err
	}
	if err := s.ok(ctx, s.anyStep()); err != nil {
		return err
	}
	if err := s.kill(l.PID); err != nil {
		return err
	}
	s.counts.add("killed just after an answer", 1)
	return s.afterKill(ctx, false)
}

// afterKill makes the first call after the process was killed while nothing
// ran. Two outcomes are legitimate as far as the call goes: the server knew of
// the death, brought the state back and ran the code; or it did not know yet,
// so that the code met a dead process and did not run. If the copy of the
// state had not been made for sure, the state may be lost besides.
func (s *session) afterKill(ctx context.Context, copied bool) error {
	t := step{code: "pass"}
	a, err := s.send(ctx, runTool, s.arguments(t, call{}))
	if err != nil {
		return err
	}
	restored := a.record.StateRestored != nil && *a.record.StateRestored
	w := want{status: "ok"}
	switch {
	case a.record.Status == "crashed":
		w = want{status: "crashed", excType: "InterpreterCrash", dies: "SIGKILL"}
		if !copied && !restored && s.model.recoverable() {
			w.lost = "cop"
		}
	default:
		lost := !copied && !restored && s.model.recoverable()
		if s.model.died, err = s.model.diesIdle(a.record, lost); err != nil {
			return s.blame(err)
		}
	}
	if restored {
		s.counts.add("restored", 1)
	}
	s.counts.add("deaths", 1)
	return s.judge(a, t, w)
}

// killRunning kills the process while it runs code that has told so.
func (s *session) killRunning(ctx context.Context) error {
	l, err := s.begin(ctx, s.anyStep(), pick(s.random, append(endless, stubborn...)...))
	if err != nil {
		return err
	}
	seen, err := s.listed(ctx)
	if err != nil {
		return err
	}
	if err := s.kill(seen.PID); err != nil {
		return err
	}
	return l.endCrashed(ctx, want{dies: "SIGKILL"}, "SIGKILL from outside")
}

// endCrashed waits for the end of an execution whose process died.
func (l *long) endCrashed(ctx context.Context, w want, name string) error {
	w.status, w.excType = "crashed", "InterpreterCrash"
	err := l.end(ctx, w)
	l.session.died(name, answer{record: l.last.record})
	return err
}

// killSometime kills the process at any moment of a short call. It may be dead
// before the code runs, while it runs, or after it has come to its end.
func (s *session) killSometime(ctx context.Context) error {
	seen, err := s.settled(ctx)
	if err != nil {
		return err
	}
	if seen.PID == 0 {
		return nil // nothing has run yet
	}
	n := s.small()
	t := step{
		code:   fmt.Sprintf("import time\nv_0 = %d\nfor _ in range(10):\n    time.sleep(0.001)\nv_1 = %d\n", n, n+1),
		change: func(now *state) { now.variables["v_0"], now.variables["v_1"] = number(n), number(n+1) },
	}
	pause := time.Duration(s.random.IntN(25_000)) * time.Microsecond
	killed := make(chan error, 1)
	go func() {
		time.Sleep(pause)
		killed <- killProcess(seen.PID)
	}()
	a, err := s.send(ctx, runTool, s.arguments(t, call{}))
	if err := errors.Join(err, <-killed, awaitDeath(seen.PID)); err != nil {
		return err
	}
	s.counts.add("killed at any time", 1)
	switch {
	case a.record.Status == "crashed":
		s.died("SIGKILL from outside", a)
		return s.judge(a, t, want{status: "crashed", excType: "InterpreterCrash", dies: "SIGKILL"})
	case a.record.InterpreterRestarted:
		if s.model.died, err = s.model.diesIdle(a.record, false); err != nil {
			return s.blame(err)
		}
		return s.judge(a, t, want{status: "ok"})
	}
	if err := s.judge(a, t, want{status: "ok"}); err != nil {
		return err
	}
	return s.afterKill(ctx, false)
}

// killFlood kills the process while it prints without end. What has come is
// the beginning of what it would have printed, without a gap.
func (s *session) killFlood(ctx context.Context) error {
	flood := blocker{"i = 0", "while True:\n    print(f'line {i:07d} ' + 'x' * 50)\n    i += 1"}
	l, err := s.begin(ctx, s.quickStep(), flood)
	if err != nil {
		return err
	}
	seen, err := s.listed(ctx)
	if err != nil {
		return err
	}
	time.Sleep(time.Duration(s.random.IntN(50)) * time.Millisecond)
	if err := s.kill(seen.PID); err != nil {
		return err
	}
	if err := l.wait(ctx); err != nil {
		return err
	}
	all := l.last.record.Stdout
	if l.last.record.OutputPath != "" {
		if all, err = wholeOutput(l.last.record); err != nil {
			return s.blame(err)
		}
	}
	var would strings.Builder
	would.WriteString(l.step.stdout)
	for i := 0; would.Len() < len(all); i++ {
		would.WriteString(bulkLine(i))
	}
	if len(all) < len(l.step.stdout) || !strings.HasPrefix(would.String(), all) {
		return s.wrong("the output before the death has a gap: %s", shorten(all))
	}
	l.step.stdout, l.last.record.Stdout, l.last.record.StdoutTruncated = all, all, 0
	s.died("SIGKILL from outside in a flood", l.last)
	return s.judge(l.last, l.step, want{status: "crashed", excType: "InterpreterCrash", dies: "SIGKILL"})
}

// understudies returns the lead's children, of which the newest holds the
// present state.
func (s *session) understudies(lead int) ([]int, error) {
	all := childrenOf(lead)
	if len(all) == 0 {
		return nil, s.wrong("process %d has no understudy", lead)
	}
	return all, nil
}

// killUnderstudies kills the newest understudy, or all that are the lead's
// children, while nothing runs. The state must survive a crash all the same.
func (s *session) killUnderstudies(ctx context.Context) error {
	l, err := s.settled(ctx)
	if err != nil {
		return err
	}
	found, err := s.understudies(l.PID)
	if err != nil {
		return err
	}
	if s.random.IntN(2) == 0 {
		found = found[len(found)-1:]
	} else {
		s.model.killUnderstudies()
	}
	if err := s.killAll(ctx, found); err != nil {
		return err
	}
	if s.random.IntN(2) == 0 {
		return s.takeBack(ctx)
	}
	return s.die(ctx)
}

// killAll kills understudies and waits until the server knows of it.
func (s *session) killAll(ctx context.Context, pids []int) error {
	for _, pid := range pids {
		if err := s.kill(pid); err != nil {
			return err
		}
	}
	s.counts.add("understudies killed", len(pids))
	_, err := s.listedAs(ctx, false)
	return err
}

// killUnderstudiesInCall kills them while code runs that then dies: the one
// way to lose the present state for good.
func (s *session) killUnderstudiesInCall(ctx context.Context) error {
	if _, err := s.settled(ctx); err != nil {
		return err
	}
	gate, e := s.gate(), pick(s.random, endings...)
	l, err := s.begin(ctx, s.anyStep(), blocker{gate.setup, gate.code + "\n" + e.code})
	if err != nil {
		return err
	}
	seen, err := s.listed(ctx)
	if err != nil {
		return err
	}
	found, err := s.understudies(seen.PID)
	if err != nil {
		return err
	}
	if err := s.killAll(ctx, found); err != nil {
		return err
	}
	s.model.killUnderstudies()
	l.step.stderr += e.stderr
	if err := s.openGate(); err != nil {
		return err
	}
	s.counts.add("lost on purpose", 1)
	return l.endCrashed(ctx, want{dies: e.reason, lost: "from outside"}, e.name)
}
