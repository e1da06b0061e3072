package worker

import (
	"bytes"
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// endWriters ends those of the workers, whose runs are too much, that have written, or what
// they have started where only that has. Space can also be taken without: of that one is
// guilty who is alone with files of its own. Whoever goes on is measured anew when they
// have ended. The caller has the store's lock.
func (d *warden) endWriters(s *store, tooMuch []*worker, alone bool) {
	var ending []*worker
	for _, w := range tooMuch {
		r := s.runs[w]
		r.base = uncounted
		itself, started := s.writers(w, r)
		switch {
		case itself || len(started) == 0 && alone && !s.common:
			ending = append(ending, w)
		default:
			for _, each := range started {
				d.log.Info("a process is ended that went on writing beyond the disk limit", "pid", each.pid)
				if killExactly(each) {
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
	cause := "it went on writing: " + s.report(largest, deleted)
	for _, w := range ending {
		s.runs[w].ending = true
		d.log.Info("an interpreter is ended", "pid", w.process.pid, "reason", cause)
		w.process.blame(cause)
		d.running.Go(func() { w.process.kill(cause) })
	}
}

// writers says who has written since files were held, wherever: the worker itself, or
// processes that its code has started. The kernel doesn't count that of files in memory:
// there it is the worker.
func (s *store) writers(w *worker, r *run) (itself bool, started []procID) {
	var stat unix.Statfs_t
	if unix.Statfs(s.place, &stat) != nil || stat.Type == unix.TMPFS_MAGIC {
		return true, nil
	}
	kin, known := w.livingKin()
	if !known {
		return true, nil
	}
	for _, each := range kin {
		n, ok := writtenBy(each.pid)
		switch {
		case ok && n < r.written[each.pid]+diskLittle:
		case each.pid == w.process.pid:
			return true, nil
		default:
			started = append(started, each)
		}
	}
	return false, started
}

// livingKin returns the living kin of a worker, itself included; not known while they are
// being ended, or have been. It waits for nobody.
func (w *worker) livingKin() (all []procID, known bool) {
	p, kin := w.process, w.line.kin
	if !p.alive.TryRLock() {
		return nil, false
	}
	defer p.alive.RUnlock()
	if p.reaped || !kin.mu.TryLock() {
		return nil, false
	}
	defer kin.mu.Unlock()
	all, err := kin.find()
	return all, err == nil
}

// writtenBy is how many bytes a process, and those of its children that have ended, have
// had written to disks; not ok if that can't be told.
func writtenBy(pid int) (n uint64, ok bool) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/io", pid))
	if err != nil {
		return 0, false
	}
	_, rest, ok := bytes.Cut(data, []byte("\nwrite_bytes: "))
	line, _, _ := bytes.Cut(rest, []byte("\n"))
	n, err = strconv.ParseUint(string(line), 10, 64)
	return n, ok && err == nil
}
