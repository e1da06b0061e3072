package worker

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"understudy/internal/worker/proc"
	"understudy/internal/worker/wire"
	"understudy/sessions"
)

const (
	// mostNamed is how many files a note names.
	mostNamed = 3
	// clockTick is more than by how much the time of a file lags behind the clock.
	clockTick = 20 * time.Millisecond
	// diskFull is with how many free bytes a disk is called full.
	diskFull = 64 << 20
)

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
func (d *warden) endRun(s *store, w *worker, met *trouble) (notes []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.runs[w]
	delete(s.runs, w)
	met.held = met.held || r.held
	room := max(0, s.limit-s.last)
	if d.limits.FileSize > 0 {
		room = min(room, d.limits.FileSize)
	}
	free := freeOn(s.place)
	usedUp := met.written > room/2 || r.free > free && r.free-free > uint64(room/2)
	if !met.tooLarge && !met.full && !r.held && !usedUp && !s.isFull() {
		return nil
	}
	largest := s.largest()
	largest.full, largest.since = d.limits.FileSize, r.began
	deleted, _ := d.count(s, largest) // or what the last count said
	if largest.capped != "" {
		met.file = largest.capped
	}
	if r.killed > 0 {
		notes = append(notes, fmt.Sprintf("processes ended because they went on writing beyond the disk limit: %d", r.killed))
	}
	switch {
	case r.held && !s.isFull():
		return append(notes, fmt.Sprintf("the disk limit of %s (--disk-limit) was reached during this run; there is room again", sessions.SizeInWords(s.most)))
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
func (s *store) report(largest *largestFiles, deleted int64) string {
	used, where := s.last, "are in "+s.place
	if s.common {
		used, where = used-(s.limit-s.most), "were added to "+s.place+" since this server first ran code there"
	}
	text := fmt.Sprintf("disk limit of %s (--disk-limit) reached: %s %s", sessions.SizeInWords(s.most), sessions.SizeInWords(used), where)
	if largest.count > 1 {
		text += fmt.Sprintf(" (%d files)", largest.count)
	}
	if names := largest.names(s.place); names != "" {
		text += "; largest: " + names
	}
	if deleted > s.most/10 {
		text += fmt.Sprintf("; %s in deleted files that are still open: close them", sessions.SizeInWords(deleted))
	}
	if s.common {
		return text + ". Delete what your code wrote there and doesn't need, and nothing else, or have the limit raised"
	}
	return text + ". Delete what is not needed, or have the limit raised"
}

// fileNotes says what there is to say of the size of a single file, and of a full disk.
func (d *warden) fileNotes(workdir string, met *trouble, told bool) (notes []string) {
	most := d.limits.FileSize
	if most > 0 && !met.held && (met.raised || met.file != "") && !(told && most >= d.limits.Disk) {
		text := fmt.Sprintf("a file may become %s at most (--file-size-limit)", sessions.SizeInWords(most))
		if met.file != "" {
			text += ", as " + met.file + " is"
		}
		notes = append(notes, text+": write several smaller ones, or have the limit raised")
	}
	if free := freeOn(workdir); met.full && free < diskFull {
		notes = append(notes, fmt.Sprintf("the disk of %s is full (%s free): delete what is not needed", workdir, sessions.SizeInWords(int64(free))))
	}
	return notes
}

// largestFiles are some of those that a walk has met. The zero value keeps nothing less.
type largestFiles struct {
	made   time.Time // only files that have changed since count
	count  int
	files  []sizedFile
	full   int64     // how large a file may become; 0 without limit
	since  time.Time // when the run began
	capped string    // a file of the run's that has become so large
}

type sizedFile struct {
	path string
	size int64 // bytes on disk
}

// largest is for a walk over the store. In a common directory a file that has not changed
// since the first run there is somebody else's.
func (s *store) largest() *largestFiles {
	if s.common {
		return &largestFiles{made: s.made}
	}
	return &largestFiles{}
}

func (l *largestFiles) add(path string, stat *syscall.Stat_t) {
	if l == nil || stat.Mode&unix.S_IFMT != unix.S_IFREG {
		return
	}
	changed := time.Unix(stat.Ctim.Unix()).Add(clockTick)
	if l.full > 0 && stat.Size >= l.full && changed.After(l.since) {
		l.capped = path
	}
	if changed.Before(l.made) {
		return
	}
	l.count++
	l.files = append(l.files, sizedFile{path, stat.Blocks * 512})
	slices.SortFunc(l.files, func(a, b sizedFile) int { return int(b.size - a.size) })
	l.files = l.files[:min(len(l.files), mostNamed)]
}

// names lists them, as "data/a.bin (20 MiB), b.bin (3 MiB)"; small ones are left out.
func (l *largestFiles) names(below string) string {
	var texts []string
	for _, file := range l.files {
		if file.size < diskLeast {
			break
		}
		path, err := filepath.Rel(below, file.path)
		if err != nil {
			path = file.path
		}
		texts = append(texts, fmt.Sprintf("%.200s (%s)", path, sessions.SizeInWords(file.size)))
	}
	return strings.Join(texts, ", ")
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
