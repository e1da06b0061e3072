package sessions

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
)

// fakeLine is a worker and its copies that stand by. Its faults are breaches
// of what Worker and Understudy demand of a session.
type fakeLine struct {
	mu     sync.Mutex
	lead   *fakeWorker
	open   int // workers that are not closed
	asleep map[*fakeUnderstudy]bool
	faults []string
}

func (l *fakeLine) fault(text string) { l.faults = append(l.faults, text) }

// fakeUnderstudy is a copy of a fakeWorker.
type fakeUnderstudy struct {
	of      *fakeWorker
	purpose Purpose
	memory  []string
	exited  chan struct{}
	once    sync.Once

	mu        sync.Mutex
	dismissed bool
	woken     bool
}

// shared returns w's line, which a first copy makes.
func (w *fakeWorker) shared() *fakeLine {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.line == nil {
		w.line = &fakeLine{lead: w, open: 1, asleep: map[*fakeUnderstudy]bool{}}
	}
	return w.line
}

func (w *fakeWorker) Fork(ctx context.Context, purpose Purpose) (Understudy, error) {
	select {
	case <-w.exited:
		return nil, w.crash
	default:
	}
	if f := w.starter.forking; f != nil {
		if err := f(ctx, w, purpose); err != nil {
			return nil, err
		}
	}
	u := &fakeUnderstudy{of: w, purpose: purpose, memory: w.remembered(), exited: make(chan struct{})}
	if purpose == ToStandBy {
		l := w.shared()
		l.mu.Lock()
		l.asleep[u] = true
		l.mu.Unlock()
	}
	w.starter.mu.Lock()
	defer w.starter.mu.Unlock()
	w.starter.understudies = append(w.starter.understudies, u)
	return u, nil
}

func (w *fakeWorker) Close(context.Context) error {
	w.closed = true
	w.die("closed")
	l := w.shared()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open--; l.open == 0 && len(l.asleep) > 0 {
		l.fault("the last worker was closed before its copies")
	}
	return nil
}

// remembered returns a copy of what the code has done.
func (w *fakeWorker) remembered() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.memory)
}

func (w *fakeWorker) remember(code string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.memory = append(w.memory, code)
}

func (u *fakeUnderstudy) Rouse(ctx context.Context) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.dismissed || u.woken {
		return errors.New("it is gone")
	}
	if f := u.of.starter.rousing; f != nil {
		if err := f(ctx, u); err != nil {
			u.gone()
			return err
		}
	}
	return nil
}

func (u *fakeUnderstudy) Wake(ctx context.Context, spec Spec) (Worker, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.dismissed || u.woken {
		return nil, errors.New("it is gone")
	}
	if f := u.of.starter.waking; f != nil {
		if err := f(ctx, u); err != nil {
			u.gone()
			return nil, err
		}
	}
	select {
	case <-u.exited:
		u.gone()
		return nil, errors.New("it has ended")
	default:
	}
	if err := ctx.Err(); err != nil {
		u.gone()
		return nil, err
	}
	u.woken = true
	u.leave()
	w := &fakeWorker{run: u.of.run, spec: spec, memory: slices.Clone(u.memory), notes: []string{"a note of waking"}}
	u.of.starter.live(w)
	if u.purpose == ToStandBy {
		w.line = u.succeed(w)
	}
	return w, nil
}

// succeed checks that the place is free which w takes.
func (u *fakeUnderstudy) succeed(w *fakeWorker) *fakeLine {
	l := u.of.shared()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open != 1 {
		l.fault("a copy was woken while the line had not one worker")
	}
	select {
	case <-l.lead.exited:
	default:
		l.fault("a copy was woken while its worker lived")
	}
	l.open++
	l.lead = w
	return l
}

func (u *fakeUnderstudy) gone() {
	u.dismissed = true
	u.leave()
}

// leave takes u out of its line.
func (u *fakeUnderstudy) leave() {
	l := u.of.shared()
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.asleep, u)
}

func (u *fakeUnderstudy) Dismiss() {
	u.mu.Lock()
	defer u.mu.Unlock()
	if !u.woken {
		u.gone()
		u.die()
	}
}

func (u *fakeUnderstudy) die()                    { u.once.Do(func() { close(u.exited) }) }
func (u *fakeUnderstudy) Exited() <-chan struct{} { return u.exited }
func (u *fakeUnderstudy) Usage() (Usage, error) {
	return Usage{Memory: 90 << 20, Private: 5 << 20}, nil
}

// copies returns all copies that were made, and how many of them sleep.
func (f *fakeStarter) copies() (all []*fakeUnderstudy, asleep int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, u := range f.understudies {
		u.mu.Lock()
		if !u.dismissed && !u.woken {
			asleep++
		}
		u.mu.Unlock()
	}
	return slices.Clone(f.understudies), asleep
}

// lead returns the worker that was started or woken last.
func (f *fakeStarter) lead() *fakeWorker {
	workers := f.started()
	return workers[len(workers)-1]
}

// checkEnd wants every worker closed and every copy gone, in the right order.
func (f *fakeStarter) checkEnd(t *testing.T) {
	t.Helper()
	if _, asleep := f.copies(); asleep > 0 {
		t.Errorf("%d copies sleep on", asleep)
	}
	for i, w := range f.started() {
		if !w.closed {
			t.Errorf("worker %d was not closed", i)
		}
		l := w.shared()
		l.mu.Lock()
		for _, fault := range l.faults {
			t.Errorf("worker %d: %s", i, fault)
		}
		l.mu.Unlock()
	}
}
