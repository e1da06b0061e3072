package sessions

import (
	"sync"
	"sync/atomic"
	"time"
)

// progressEvery is how often a waiting caller hears of its execution.
const progressEvery = time.Second

// watch tells a waiting caller how its call stands, until end.
type watch struct {
	execution atomic.Pointer[execution] // nil while the call is queued
	stop      chan struct{}
	running   sync.WaitGroup
	began     time.Time
	phase     func() string // what the start of an interpreter waits for
}

// newWatch starts telling report, which may be nil.
func (m *Manager) newWatch(report func(Progress)) *watch {
	w := &watch{stop: make(chan struct{}), began: time.Now(), phase: m.options.waiting}
	if report != nil {
		w.running.Go(func() { w.tell(report) })
	}
	return w
}

// follow says that the call's turn has come.
func (w *watch) follow(e *execution) { w.execution.Store(e) }

// end returns when report will not be called any more.
func (w *watch) end() {
	close(w.stop)
	w.running.Wait()
}

func (w *watch) tell(report func(Progress)) {
	tick := time.NewTicker(progressEvery)
	defer tick.Stop()
	for {
		select {
		case <-w.stop:
			return
		case <-tick.C:
			report(w.progress())
		}
	}
}

func (w *watch) progress() Progress {
	if e := w.execution.Load(); e != nil {
		return e.progress()
	}
	return Progress{Elapsed: time.Since(w.began), Queued: true, Phase: w.phase()}
}
