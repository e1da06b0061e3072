package worker

import (
	"fmt"
	"strings"

	"golang.org/x/sys/unix"

	"understudy/internal/phrase"
	"understudy/internal/worker/disk"
	"understudy/internal/worker/proc"
	"understudy/internal/worker/wire"
)

// diskFull is with how many free bytes a disk is called full.
const diskFull = 64 << 20

// troubleOf says what the run that ends now has met, by its text, its notes and its exception.
func (w *worker) troubleOf(done *wire.Done) *trouble {
	w.line.output.drain()
	found := w.line.output.found()
	said := strings.Join(done.Notes, "\n") // of commands, how they ended
	if done.Exception != nil {
		said += "\n" + done.Exception.Traceback
	}
	found.read([]byte(said))
	found.raised = containsAny([]byte(said), raisesTooLarge)
	return &found
}

// endRun lets a run end, and returns what there is to say of the disk limit. It counts
// where the run may have reached it.
func (d *limiter) endRun(s *store, w *worker, met *trouble) (notes []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.runs[w]
	delete(s.runs, w)
	met.held = met.held || r.held
	room := max(0, s.limit-s.last)
	if d.limits.FileSize > 0 {
		room = min(room, d.limits.FileSize)
	}
	free := disk.Free(s.place)
	usedUp := met.written > room/2 || r.free > free && r.free-free > uint64(room/2)
	if !met.tooLarge && !met.full && !r.held && !usedUp && !s.isFull() {
		return nil
	}
	largest := s.largest()
	largest.Full, largest.Since = d.limits.FileSize, r.began
	deleted, _ := d.count(s, largest) // or what the last count said
	if largest.Capped != "" {
		met.file = largest.Capped
	}
	if r.killed > 0 {
		notes = append(notes, fmt.Sprintf("processes ended because they went on writing beyond the disk limit: %d", r.killed))
	}
	switch {
	case r.held && !s.isFull():
		return append(notes, fmt.Sprintf("the disk limit of %s (--disk-limit) was reached during this run; there is room again", phrase.Size(s.most)))
	case r.held && !r.unheld:
		return append(notes, "files could not grow any more in this run (File too large): "+s.report(largest, deleted))
	case s.isFull():
		return append(notes, s.report(largest, deleted))
	}
	return notes
}

// isFull reports whether next to nothing may be added any more.
func (s *store) isFull() bool { return s.known && s.last > s.limit-diskLittle }

// report says that the limit is reached, by how much, and what can be done.
func (s *store) report(largest *disk.Largest, deleted int64) string {
	used, where := s.last, "are in "+s.place
	if s.common {
		used, where = used-(s.limit-s.most), "were added to "+s.place+" since this server first ran code there"
	}
	text := fmt.Sprintf("disk limit of %s (--disk-limit) reached: %s %s", phrase.Size(s.most), phrase.Size(used), where)
	if largest.Count > 1 {
		text += fmt.Sprintf(" (%d files)", largest.Count)
	}
	if names := largest.Names(s.place); names != "" {
		text += "; largest: " + names
	}
	if deleted > s.most/10 {
		text += fmt.Sprintf("; %s in deleted files that are still open: close them", phrase.Size(deleted))
	}
	if s.common {
		return text + ". Delete what your code wrote there and doesn't need, and nothing else, or have the limit raised"
	}
	return text + ". Delete what is not needed, or have the limit raised"
}

// fileNotes says what there is to say of the size of a single file, and of a full disk.
func (d *limiter) fileNotes(workdir string, met *trouble, told bool) (notes []string) {
	most := d.limits.FileSize
	if most > 0 && !met.held && (met.raised || met.file != "") && !(told && most >= d.limits.Disk) {
		text := fmt.Sprintf("a file may become %s at most (--file-size-limit)", phrase.Size(most))
		if met.file != "" {
			text += ", as " + met.file + " is"
		}
		notes = append(notes, text+": write several smaller ones, or have the limit raised")
	}
	if free := disk.Free(workdir); met.full && free < diskFull {
		notes = append(notes, fmt.Sprintf("the disk of %s is full (%s free): delete what is not needed", workdir, phrase.Size(int64(free))))
	}
	return notes
}

// largest is for a walk over the store. In a common directory a file that has not changed
// since the first run there is somebody else's.
func (s *store) largest() *disk.Largest {
	if s.common {
		return &disk.Largest{Made: s.made}
	}
	return &disk.Largest{}
}

// setFileSizes lets the files of the workers, and of all that they have started, grow as
// they may, or holds them, and reports whether it could. The caller has the store's lock.
func (s *store) setFileSizes(workers []*worker, hold bool) (could bool) {
	could = true
	for _, w := range workers {
		kin, _ := w.livingKin() // those who are being ended write no more
		written, set := map[int]uint64{}, true
		for _, each := range kin {
			if p, ok := proc.Read(each.PID); ok && p.ID == each {
				set = setFileSize(each.PID, hold) && set
				written[each.PID], _ = proc.WrittenBy(each.PID)
			}
		}
		if r := s.runs[w]; r != nil && hold {
			r.written, r.unheld = written, r.held && !set
		}
		could = could && set
	}
	return could
}

// setFileSize changes only what a process may change itself: one that does so, and goes
// on writing, is ended. It reports whether it was allowed: a server that is root without
// the capability SYS_RESOURCE may not, where sessions have users of their own.
func setFileSize(pid int, hold bool) (could bool) {
	var limit unix.Rlimit
	if err := unix.Prlimit(pid, unix.RLIMIT_FSIZE, nil, &limit); err != nil {
		return err != unix.EPERM
	}
	switch {
	case hold && limit.Cur > diskLittle:
		limit.Cur = diskLittle
	case !hold && limit.Cur == diskLittle && limit.Max > diskLittle:
		limit.Cur = limit.Max
	default:
		return true
	}
	return unix.Prlimit(pid, unix.RLIMIT_FSIZE, &limit, nil) != unix.EPERM
}
