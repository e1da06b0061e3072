package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
)

// life is that of one server, with all sessions in it.
type life struct {
	*soak
	server  *server
	history int
	burst   bool        // copies have their usual share of the time; else each run is copied
	idle    descriptors // of the server, warm and without sessions
	group   *errgroup.Group
	live    atomic.Int32 // sessions
	winding atomic.Bool  // sessions are to be deleted, and no new ones to be made
	over    atomic.Bool  // the server is being left or killed
	unknown atomic.Int32 // forkers that were killed, less the deaths that nobody knows the reason of
}

// begin starts a server, and warms it so that its descriptors are those of any
// idle server.
func (k *soak) begin(ctx context.Context) (*life, error) {
	l := &life{soak: k, history: 1 + k.random.IntN(3), burst: k.forks() && k.random.IntN(2) == 0}
	share := "1"
	if l.burst {
		share = "0.2"
	}
	var err error
	if l.server, err = k.startServer(ctx, l.history, "--copy-share", share); err != nil {
		return nil, err
	}
	if err := l.settleDown(ctx); err != nil {
		return nil, errors.Join(err, l.explain(l.server))
	}
	if err := l.awaitSpares(ctx); err != nil {
		return nil, errors.Join(err, l.explain(l.server))
	}
	if l.idle, err = l.server.steadyDescriptors(ctx); err != nil {
		return nil, errors.Join(err, l.explain(l.server))
	}
	return l, nil
}

// settleDown makes and deletes a session in a server that is otherwise idle,
// so that whatever comes with the first one is there.
func (l *life) settleDown(ctx context.Context) error {
	s := l.newSession(rand.New(rand.NewPCG(0, 0)))
	if err := s.open(ctx, false); err != nil {
		return err
	}
	if err := l.warm(ctx); err != nil {
		return err
	}
	if err := l.lookAround(ctx, s); err != nil {
		return err
	}
	return s.remove(ctx)
}

// libraries are those that the server's Python has.
type libraries struct{ known, numpy, pandas, matplotlib bool }

// lookAround asks a session which libraries there are.
func (l *life) lookAround(ctx context.Context, s *session) error {
	if l.has.known {
		return nil
	}
	code := "import importlib.util\n" +
		"print([importlib.util.find_spec(name) is not None for name in ('numpy', 'pandas', 'matplotlib')])"
	a, err := s.send(ctx, runTool, s.arguments(step{code: code}, call{}))
	if err != nil {
		return err
	}
	var numpy, pandas, matplotlib string
	if _, err := fmt.Sscanf(a.record.Stdout, "[%5s %6s %s", &numpy, &pandas, &matplotlib); err != nil {
		return s.wrong("the libraries are not told: %w", err)
	}
	l.has = libraries{true, numpy[0] == 'T', pandas[0] == 'T', matplotlib[0] == 'T'}
	return nil
}

// run drives sessions for a while, and returns when the last has ended.
func (l *life) run(ctx context.Context, long time.Duration, end func(*life) error) error {
	l.group, ctx = errgroup.WithContext(ctx)
	for i := range l.options.sessions {
		random := l.branchRandom()
		l.spawn(func() error { return l.slot(ctx, random, i == 0) })
	}
	random := l.branchRandom()
	l.group.Go(func() error { return unlessOver(l.misfortunes(ctx, random)) })
	l.group.Go(func() error {
		if err := l.rest(ctx, long); err != nil {
			return unlessOver(err)
		}
		return end(l)
	})
	return l.group.Wait()
}

// rest waits for the time, or the number of calls, that the life may have.
func (l *life) rest(ctx context.Context, long time.Duration) error {
	for until := time.Now().Add(long); time.Now().Before(until) && !l.enough(); {
		if err := pause(ctx, 20*time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}

// enough reports whether the wanted number of calls has been made.
func (k *soak) enough() bool {
	return k.options.calls > 0 && k.counts.get("calls") >= k.options.calls
}

// branchRandom returns a source that no other goroutine draws from.
func (k *soak) branchRandom() *rand.Rand {
	return rand.New(rand.NewPCG(k.random.Uint64(), k.random.Uint64()))
}

// spawn runs the life of a session, or of several one after the other.
func (l *life) spawn(drive func() error) {
	l.live.Add(1)
	l.group.Go(func() error {
		defer l.live.Add(-1)
		return unlessOver(drive())
	})
}

func unlessOver(err error) error {
	if errors.Is(err, errOver) {
		return nil
	}
	return err
}

func (l *life) newSession(random *rand.Rand) *session {
	m := newModel(l.forks(), l.history)
	m.burst = l.burst
	return &session{life: l, random: random, model: m}
}

// slot has one session live after the other.
func (l *life) slot(ctx context.Context, random *rand.Rand, byDefault bool) error {
	for !l.winding.Load() {
		s := l.newSession(random)
		if err := s.open(ctx, byDefault); err != nil {
			return s.blame(err)
		}
		l.counts.add("sessions", 1)
		if err := s.drive(ctx); err != nil {
			return err
		}
	}
	return nil
}

// drive has a session act for a while, and deletes it.
func (s *session) drive(ctx context.Context) error {
	for range 5 + s.random.IntN(60) {
		if s.winding.Load() {
			break
		}
		if err := s.act(ctx); err != nil {
			return err
		}
	}
	return s.blame(s.remove(ctx))
}

// The ways in which a life ends.

// windDown has all sessions delete themselves.
func windDown(l *life) error {
	l.winding.Store(true)
	return nil
}

// leave closes the conversation while the sessions are at work.
func leave(l *life) error {
	l.over.Store(true)
	l.counts.add("servers left", 1)
	return errors.Join(l.server.leave(), l.server.gone())
}

// slay kills the server while the sessions are at work.
func slay(l *life) error {
	l.over.Store(true)
	l.counts.add("servers killed", 1)
	return errors.Join(l.server.signal(killSignal), l.server.gone())
}
