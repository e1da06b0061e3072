package worker

import (
	"golang.org/x/sys/unix"

	"understudy/internal/worker/proc"
)

// endWriters ends those of the workers, whose runs are too much, that have written, or what
// they have started where only that has. Space can also be taken without: of that one is
// guilty who is alone with files of its own. Whoever goes on is measured anew when they
// have ended. The caller has the store's lock.
func (d *limiter) endWriters(s *store, tooMuch []*worker, alone bool) {
	var ending []*worker
	for _, w := range tooMuch {
		r := s.runs[w]
		r.base = uncounted
		itself, started, known := s.writers(w, r)
		switch {
		case itself || (r.unheld || !known) && (alone && !s.common || len(s.runs) == 1) || len(started) == 0 && alone && !s.common:
			ending = append(ending, w)
		default:
			for _, each := range started {
				d.log.Info("a process is ended that went on writing beyond the disk limit", "pid", each.PID)
				if proc.Kill(each) {
					r.killed++
				}
			}
		}
	}
	if len(ending) == 0 {
		return
	}
	largest := s.largest()
	deleted, _ := d.count(s, largest)
	report := s.report(largest, deleted)
	for _, w := range ending {
		cause := "it went on writing: " + report
		if s.runs[w].unheld { // and met no error
			cause = report
		}
		s.runs[w].ending = true
		d.log.Info("an interpreter is ended", "pid", w.process.pid, "reason", cause)
		w.process.blame(cause)
		d.running.Go(func() { w.process.kill(cause) })
	}
}

// writers says who has written since files were held, wherever: the worker itself, or
// processes that its code has started. That is not known of files in memory, which the
// kernel doesn't count, and of processes that the server may not look at (root without the
// capability SYS_PTRACE): in a common directory nobody is ended for what another, as likely,
// has written.
func (s *store) writers(w *worker, r *run) (itself bool, started []proc.ID, known bool) {
	var stat unix.Statfs_t
	if unix.Statfs(s.place, &stat) != nil || stat.Type == unix.TMPFS_MAGIC {
		return false, nil, false
	}
	kin, known := w.livingKin()
	for _, each := range kin {
		n, ok := proc.WrittenBy(each.PID)
		switch {
		case !ok:
			known = known && each.PID != w.process.pid
		case n < r.written[each.PID]+diskLittle:
		case each.PID == w.process.pid:
			return true, nil, true
		default:
			started = append(started, each)
		}
	}
	return false, started, known || len(started) > 0
}

// livingKin returns the living kin of a worker, itself included; not known while they are
// being ended, or have been. It waits for nobody.
func (w *worker) livingKin() (all []proc.ID, known bool) {
	p := w.process
	if !p.alive.TryRLock() {
		return nil, false
	}
	defer p.alive.RUnlock()
	if p.reaped {
		return nil, false
	}
	return w.line.kin.Living()
}
