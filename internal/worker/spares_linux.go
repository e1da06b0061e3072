package worker

import (
	"context"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"understudy/internal/proc"
	"understudy/internal/sandbox"
	"understudy/internal/worker/pipes"
	"understudy/internal/worker/wire"
)

const (
	// spareRest is how long after one was taken the next is forked: the session
	// that has got it is just beginning, and its first call is on its way.
	spareRest = 20 * time.Millisecond
	// spareRetry is how long after a fork that failed another is tried.
	spareRetry = 5 * time.Second
	// spareRecent is how long one has to live for its end not to be laid to its beginning:
	// a preloaded module may end each fork. The next waits for lossPause then, and twice as
	// long with each further one, up to lossLongest; at lossTold the operator is told.
	spareRecent = 10 * time.Second
	lossPause   = 10 * time.Millisecond
	lossTold    = 4 * lossPause
	lossLongest = 30 * time.Second
)

// A spare is a fork of the zygote that has everything of a worker but its
// session: it waits for its start frame. Nobody's code has run in it.
type spare struct {
	zygote  *forker
	forked  time.Time
	process *process
	ends    *pipes.Ends // our side
	output  *pipes.Outputs
	ahead   *sandbox.Base // what it has put into force; nil: nothing
	// left is closed when it is a spare no longer.
	left chan struct{}
}

// spares keeps a few spares ready, for as long as there is a warm zygote that
// they are forks of.
type spares struct {
	tending
	spawner *Spawner
	forkers *forkers
	wanted  int
	// poke says that one was taken, or has ended.
	poke chan struct{}

	mu   sync.Mutex
	idle []*spare
	// Of the zygote whose spares ended at once:
	losing *forker
	pause  time.Duration // after the last of them
	next   time.Time     // no other is forked before
	told   bool          // the operator knows
}

func newSpares(f *forkers, wanted int) *spares {
	return &spares{tending: newTending(), spawner: f.spawner, forkers: f, wanted: wanted, poke: make(chan struct{}, 1)}
}

// keep makes spares until life ends, and discards those that are left.
func (s *spares) keep(life context.Context) {
	for life.Err() == nil {
		zygote, changed := s.forkers.present()
		s.discard(s.outdated(zygote))
		var retry <-chan time.Time
		if zygote != nil && s.count() < s.wanted {
			pause := s.replenish(zygote)
			if pause == 0 {
				continue
			}
			retry = time.After(pause)
		}
		select {
		case <-life.Done():
		case <-changed:
		case <-retry:
		case <-s.poke:
			s.rest(life)
		}
	}
	s.discard(s.outdated(nil))
}

// replenish has the zygote fork one more, unless it is to be left alone. It
// returns how long to wait before the next try, 0 when there is one more.
func (s *spares) replenish(zygote *forker) time.Duration {
	s.mu.Lock()
	pause, losing := time.Until(s.next), s.losing == zygote
	s.mu.Unlock()
	if losing && pause > 0 {
		return pause
	}
	if err := s.add(zygote); err != nil {
		s.spawner.log.Debug("no interpreter could be forked ahead", "error", err)
		return spareRetry
	}
	return 0
}

// rest lets the session that has taken a spare begin.
func (s *spares) rest(life context.Context) {
	select {
	case <-life.Done():
	case <-time.After(spareRest):
	}
}

// prod has keep look again.
func (s *spares) prod() {
	select {
	case s.poke <- struct{}{}:
	default: // it is going to
	}
}

func (s *spares) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.idle)
}

// outdated takes out those that have ended, and those of another zygote.
func (s *spares) outdated(zygote *forker) (old []*spare) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.idle = slices.DeleteFunc(s.idle, func(sp *spare) bool {
		if sp.zygote == zygote && !sp.process.hasExited() {
			return false
		}
		old = append(old, sp)
		return true
	})
	return old
}

// add has the zygote fork one more.
func (s *spares) add(zygote *forker) error {
	ends, output, err := pipes.Open()
	if err != nil {
		return err
	}
	ahead := s.spawner.options.Wall.Ahead()
	pid, body, err := s.forkers.forkWorker(zygote, ends, ahead)
	if err != nil {
		output.Close()
		ends.Close()
		return err
	}
	ends.Started()
	p := adopt(pid, body, proc.Worker, nil, nil, s.spawner)
	sp := &spare{zygote: zygote, forked: time.Now(), process: p, ends: ends, output: output, ahead: ahead, left: make(chan struct{})}
	s.running.Go(func() { s.watch(sp) })
	s.mu.Lock()
	defer s.mu.Unlock()
	s.idle = append(s.idle, sp)
	s.spawner.log.Debug("an interpreter is forked ahead", "pid", pid)
	return nil
}

// watch has a spare that ends replaced.
func (s *spares) watch(sp *spare) {
	select {
	case <-sp.process.exited:
		if s.lost(sp) {
			s.spawner.log.Warn("interpreters that are forked ahead end at once; others are forked after pauses that grow (a module of --preload may do that)", "reason", sp.process.crash.Reason)
		}
		s.prod()
	case <-sp.left:
	}
}

// lost notes the end of a spare, for which the next waits, and reports whether the operator
// is to be told: once of each zygote.
func (s *spares) lost(sp *spare) (tell bool) {
	if time.Since(sp.forked) > spareRecent {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.losing != sp.zygote {
		s.losing, s.pause, s.told = sp.zygote, 0, false
	}
	s.pause = min(max(2*s.pause, lossPause), lossLongest)
	s.next = time.Now().Add(s.pause)
	tell = s.pause >= lossTold && !s.told
	s.told = s.told || tell
	return tell
}

// take hands out the oldest spare as the worker of that mark, nil when there is
// none. It has yet to be greeted. One that has another base in force, as a directory was
// replaced since, is of no use.
func (s *spares) take(mark proc.Mark, base *sandbox.Base) *worker {
	s.mu.Lock()
	s.pause, s.next = 0, time.Time{} // a start has come: what there is is tried again
	s.mu.Unlock()
	for sp := s.oldest(); sp != nil; sp = s.oldest() {
		s.prod()
		if sp.ahead == nil || sp.ahead.Same(base) {
			if w := s.engage(sp, mark); w != nil {
				return w
			}
		}
		s.dismiss(sp)
	}
	return nil
}

// engage makes a spare a worker, nil if its id may be another process's by now.
func (s *spares) engage(sp *spare, mark proc.Mark) (w *worker) {
	sp.process.withPID(func() {
		close(sp.left)
		kin := proc.NewKin(sp.process.pid, mark, s.spawner.registry, s.spawner.log)
		sp.process.lead(kin, sp.ends.Fault)
		sp.process.body.(*forked).signal(unix.SIGCONT) // somebody may have stopped it
		w = s.spawner.newWorker(sp.process, newLine(sp.output, sp.ends.Fault, kin))
		w.join(wire.NewConn(sp.ends.Frames, s.spawner.log))
	})
	return w
}

// oldest takes out the oldest that lives.
func (s *spares) oldest() *spare {
	s.mu.Lock()
	defer s.mu.Unlock()
	place := slices.IndexFunc(s.idle, func(sp *spare) bool { return !sp.process.hasExited() })
	if place < 0 {
		return nil
	}
	sp := s.idle[place]
	s.idle = slices.Delete(s.idle, place, place+1)
	return sp
}

// discard ends spares that are not wanted.
func (s *spares) discard(all []*spare) {
	var group sync.WaitGroup
	for _, sp := range all {
		group.Go(func() { s.dismiss(sp) })
	}
	group.Wait()
}

// dismiss closes a spare's socket, which ends it, and goes through the stop sequence if it
// doesn't.
func (s *spares) dismiss(sp *spare) {
	close(sp.left)
	_ = sp.ends.Frames.Close()
	sp.process.end(context.Background())
	sp.output.Close()
	_ = sp.ends.Fault.Close()
}
