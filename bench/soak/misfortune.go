package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strconv"
	"time"

	"understudy/internal/worker"
)

// How the server's log names the processes that fork workers. From outside a
// root can't be told from a worker that has lost one.
var (
	rootIsUp     = regexp.MustCompile(`msg="the root process is up".* pid=(\d+)\s`)
	zygoteIsWarm = regexp.MustCompile(`msg="the zygote is warm".* pid=(\d+)\s`)
	forkedAhead  = regexp.MustCompile(`msg="an interpreter is forked ahead".* pid=(\d+)\s`)
)

// lastNamed returns the process that the log named last, 0 if it named none.
func (s *server) lastNamed(pattern *regexp.Regexp) (int, error) {
	text, err := os.ReadFile(s.log)
	if err != nil {
		return 0, err
	}
	all := pattern.FindAllSubmatch(text, -1)
	if len(all) == 0 {
		return 0, nil
	}
	return strconv.Atoi(string(all[len(all)-1][1]))
}

// warm waits until the process that forks workers with the libraries is up.
func (l *life) warm(ctx context.Context) error {
	if !l.forks() {
		return nil
	}
	deadline := time.Now().Add(answerTime)
	for {
		pid, err := l.server.lastNamed(zygoteIsWarm)
		if err != nil || pid != 0 && isRunning(pid) {
			return err
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("there is no warm zygote after %s", answerTime)
		}
		if err := pause(ctx, 10*time.Millisecond); err != nil {
			return err
		}
	}
}

// awaitSpares waits, in a server without sessions, until the workers are there
// that are forked ahead of sessions to come.
func (l *life) awaitSpares(ctx context.Context) error {
	if !l.forks() {
		return nil
	}
	deadline := time.Now().Add(answerTime)
	for {
		if ready, err := l.sparesAreReady(); err != nil || ready {
			return err
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("no interpreters are forked ahead after %s", answerTime)
		}
		if err := pause(ctx, 10*time.Millisecond); err != nil {
			return err
		}
	}
}

// sparesAreReady goes by the log, too: the server has descriptors to close after
// each fork.
func (l *life) sparesAreReady() (bool, error) {
	zygote, err := l.server.lastNamed(zygoteIsWarm)
	if err != nil || zygote == 0 {
		return false, err
	}
	newest, err := l.server.lastNamed(forkedAhead)
	spares := childrenOf(zygote)
	return len(spares) == worker.UsualSpares && slices.Contains(spares, newest), err
}

// misfortunes kills what forks the workers, now and then. No session may notice.
func (l *life) misfortunes(ctx context.Context, random *rand.Rand) error {
	for l.forks() {
		if err := l.restUnlessWinding(ctx, time.Duration(1000+random.IntN(4000))*time.Millisecond); err != nil || l.winding.Load() {
			return err
		}
		what, name := zygoteIsWarm, "zygotes killed"
		if random.IntN(4) == 0 {
			what, name = rootIsUp, "roots killed"
		}
		if err := l.misfortune(ctx, what, name, random); err != nil {
			return err
		}
	}
	return nil
}

// misfortune kills one of them; the next new session must start as ever.
func (l *life) misfortune(ctx context.Context, what *regexp.Regexp, name string, random *rand.Rand) error {
	pid, err := l.server.lastNamed(what)
	if err != nil || l.over.Load() {
		return err
	}
	l.unknown.Add(1)
	if pid == 0 || killProcess(pid) != nil {
		l.unknown.Add(-1)
		return nil // it is being replaced
	}
	l.counts.add(name, 1)
	s := l.newSession(random)
	err = s.open(ctx, false)
	if err == nil {
		err = s.ok(ctx, step{code: "v_0 = 6 * 7\nv_0", stdout: "42\n", change: set("v_0", number(42))})
	}
	if err == nil {
		err = s.remove(ctx)
	}
	return s.blame(err)
}

// restUnlessWinding waits, but not for long once the sessions are to end.
func (l *life) restUnlessWinding(ctx context.Context, long time.Duration) error {
	for until := time.Now().Add(long); time.Now().Before(until) && !l.winding.Load() && !l.over.Load(); {
		if err := pause(ctx, 20*time.Millisecond); err != nil {
			return err
		}
	}
	if l.over.Load() {
		return errOver
	}
	return nil
}

// pause waits unless ctx ends.
func pause(ctx context.Context, long time.Duration) error {
	select {
	case <-time.After(long):
		return nil
	case <-ctx.Done():
		return errors.Join(errOver, context.Cause(ctx))
	}
}
