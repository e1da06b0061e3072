package limits

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"understudy/internal/proc"
	"understudy/sessions"
)

const (
	// walkPoll is how many looks at memory there are for one at the files, unless there
	// is reason to look sooner.
	walkPoll = 20
	// little is what a run may add that isn't taken for growth at all, and how large
	// each file may become while files are held.
	little = 64 << 10
	// briefly is how long a run takes in which nobody writes much.
	briefly = time.Millisecond
	// uncounted stands for a size that nobody knows.
	uncounted = -1
)

// files are what the Limiter remembers of them.
type files struct {
	mu     sync.Mutex
	places map[string]*place
	unheld sync.Once // whether it was said that files can't be held

	walking sync.Mutex // of one walk at a time
	next    time.Time  // when the next one may begin
}

// place is what is remembered of the files of a family, or of a working directory: it
// outlives the workers.
type place struct {
	dir string
	// common says that the directory isn't the family's own: what was there before the
	// first run is somebody else's, and what is added may be, too.
	common bool
	most   int64     // bytes that interpreters may put there
	made   time.Time // no file that is older is theirs

	mu     sync.Mutex
	limit  int64 // bytes that may be there: most, and of a common one what was there at first
	runs   map[Worker]*run
	size   int64 // at the last count, or uncounted
	held   bool  // files may not grow, but those of runs that have begun since
	looked time.Time
	free   uint64 // bytes, of the file system, at the last count
}

// run is one that is under way.
type run struct {
	base    int64 // what was there when it began, or when its files were held; or uncounted
	began   time.Time
	held    bool   // it has met the limit
	ending  bool   // it is being ended for it
	written uint64 // what its worker's kin had written when its files were held, in bytes
}

// placesOf returns the places of a worker's files: the home of the session and its
// branches, with their /tmp, or else its private directory; and the working directory
// where it is another.
func (l *Limiter) placesOf(spec *sessions.Spec) (all []*place) {
	if spec == nil || l.limits.Disk <= 0 {
		return nil
	}
	l.files.mu.Lock()
	defer l.files.mu.Unlock()
	if spec.Home != "" {
		all = append(all, l.place(spec.Home, false))
	} else if spec.PrivateDir != "" {
		all = append(all, l.place(spec.PrivateDir, false))
	}
	if spec.Home == "" || !isBelow(spec.Workdir, spec.Home) {
		all = append(all, l.place(spec.Workdir, true))
	}
	return all
}

// place is for a caller that has the lock.
func (l *Limiter) place(dir string, common bool) *place {
	if l.files.places[dir] == nil {
		l.files.places[dir] = &place{
			dir: dir, common: common, most: l.limits.Disk, limit: l.limits.Disk,
			made: time.Now(), size: uncounted, runs: map[Worker]*run{},
		}
	}
	return l.files.places[dir]
}

func isBelow(dir, other string) bool {
	rest, err := filepath.Rel(other, dir)
	return err == nil && rest != ".." && !strings.HasPrefix(rest, "../")
}

// LetRun is told that a worker of a line with these bounds is about to run something.
// What it returns is called when that is over, and says what there is to say of limits.
func (l *Limiter) LetRun(w Worker, b *Bounds) (over func(Outcome) []string) {
	spec := w.Spec()
	if l != nil {
		l.wake()
		b.forget()
	}
	if b == nil || spec == nil || l.limits.Disk <= 0 && l.limits.FileSize <= 0 {
		return func(Outcome) []string { return nil }
	}
	places := l.placesOf(spec)
	for _, p := range places {
		l.letWrite(p, w)
	}
	began := time.Now()
	return func(outcome Outcome) (notes []string) {
		t := troubleOf(outcome)
		if time.Since(began) > briefly {
			w.WithPID(func(pid int) {
				now, _ := proc.WrittenBy(pid)
				if b.writer != pid { // a copy counts from 0
					b.writer, b.written = pid, 0
				}
				t.written, b.written = int64(now-min(now, b.written)), now
			})
		}
		for _, p := range places { // what is deleted and still open counts in each: once is enough
			if told := l.endRun(p, w, t); len(notes) == 0 {
				notes = told
			}
		}
		return append(notes, l.fileNotes(spec.Workdir, t, len(notes) > 0)...)
	}
}

// writtenBy is what a worker and all that its code has started have had written to disks,
// in bytes, as far as they live or somebody has waited for them.
func writtenBy(w Worker) (sum uint64) {
	kin, _ := w.Living()
	for _, each := range kin {
		n, _ := proc.WrittenBy(each.PID)
		sum += n
	}
	return sum
}

// letWrite lets a run begin. Where nobody has looked yet it counts first, so that all
// that comes later is the run's.
func (l *Limiter) letWrite(p *place, w Worker) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.looked.IsZero() {
		p.looked = time.Now() // no run waits a second time
		_, _ = l.count(p, nil)
	}
	w.WithPID(func(pid int) { setFileSize(pid, false) }) // it has to be able to delete, and to write in the place of that
	p.runs[w] = &run{base: p.size, began: time.Now()}
}

// count counts the files of a place while a run waits. The caller has the place's lock.
func (l *Limiter) count(p *place, largest *largest) (deleted int64, err error) {
	ctx, cancel := context.WithTimeout(l.life, l.Patience/5)
	defer cancel()
	began, free := time.Now(), freeOn(p.dir)
	size, deleted, err := l.sizeOf(ctx, p, l.holders(p), largest)
	if err == nil {
		p.take(size, began, free)
	} else if largest != nil { // a part of the files
		largest.forget()
	}
	return deleted, err
}

// take keeps a count.
func (p *place) take(size int64, began time.Time, free uint64) {
	if p.common && p.size == uncounted {
		p.limit += size
	}
	p.size, p.looked, p.free = size, began, free
}

// holders are the workers whose files are those of the place.
func (l *Limiter) holders(p *place) (all []Worker) {
	for _, w := range l.Present() {
		if slices.Contains(l.placesOf(w.Spec()), p) {
			all = append(all, w)
		}
	}
	return all
}

// sizeOf counts what the files take, in bytes, those too that are deleted and still open.
func (l *Limiter) sizeOf(ctx context.Context, p *place, workers []Worker, largest *largest) (size, unnamed int64, err error) {
	if size, err = sizeBelow(ctx, p.dir, largest); err != nil {
		return size, 0, err
	}
	deleted := proc.NewDeletedFiles(p.dir)
	for _, w := range workers {
		c := proc.NewCount(l.Registry)
		w.WithPID(c.Add)
		deleted.Add(ctx, c.PIDs)
	}
	return size + deleted.Size, deleted.Size, ctx.Err()
}

// startWalk has the files of those places counted that are due, unless that is going on.
func (l *Limiter) startWalk(workers []Worker) {
	if l.limits.Disk <= 0 || !l.files.walking.TryLock() {
		return
	}
	if time.Now().Before(l.files.next) {
		l.files.walking.Unlock()
		return
	}
	l.running.Go(func() {
		defer l.files.walking.Unlock()
		began := time.Now()
		of := map[*place][]Worker{}
		for _, w := range workers {
			for _, p := range l.placesOf(w.Spec()) {
				of[p] = append(of[p], w)
			}
		}
		l.forgetPlaces(of)
		for p, workers := range of {
			l.lookAtFiles(p, workers)
		}
		l.files.next = time.Now().Add(share * time.Since(began))
	})
}

// forgetPlaces forgets those whose directories have gone with their last worker.
func (l *Limiter) forgetPlaces(used map[*place][]Worker) {
	l.files.mu.Lock()
	defer l.files.mu.Unlock()
	for dir, p := range l.files.places {
		if used[p] != nil {
			continue
		}
		if _, err := os.Lstat(dir); errors.Is(err, fs.ErrNotExist) {
			delete(l.files.places, dir)
		}
	}
}

// lookAtFiles counts a place's files if that is due, and answers growth beyond the limit.
func (l *Limiter) lookAtFiles(p *place, workers []Worker) {
	now, free := time.Now(), freeOn(p.dir)
	p.mu.Lock()
	due := p.isDue(now, free, l.limits.Poll)
	p.mu.Unlock()
	if !due {
		return
	}
	size, _, err := l.sizeOf(l.life, p, workers, nil)
	if err != nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.looked.After(now) { // a run has counted meanwhile
		return
	}
	was := p.held
	p.take(size, now, free)
	hold, tooMuch := p.judge()
	if (hold || was && !p.held) && !p.setFileSizes(l.holders(p), hold) && hold {
		l.files.unheld.Do(func() {
			l.log.Warn("files can't be kept from growing beyond the disk limit, so runs are ended without an error before; a server that is root needs the capability SYS_RESOURCE for it")
		})
		for w, r := range p.runs {
			if r.held && !slices.Contains(tooMuch, w) {
				tooMuch = append(tooMuch, w)
			}
		}
	}
	l.endWriters(p, tooMuch)
}

// isDue reports whether it is time to count. Whoever writes a lot uses up what is free:
// that is seen without a walk over the files, at once, and also while nothing runs.
func (p *place) isDue(now time.Time, free uint64, poll time.Duration) bool {
	room := max(p.limit-p.size, 0)
	usedUp := p.free > free && p.free-free > uint64(max(room/2, p.most/100))
	if len(p.runs) == 0 {
		return usedUp && !p.held || p.held && p.size <= p.limit // let them grow again
	}
	return p.size == uncounted || room < p.most/5 || usedUp || now.Sub(p.looked) >= walkPoll*poll
}

// judge takes the last count. It says whether files have to be held, and returns whose
// runs have to end as they went on when theirs were.
func (p *place) judge() (hold bool, tooMuch []Worker) {
	over := p.size > p.limit
	hold = over && len(p.runs) == 0 // by what goes on between runs
	for w, r := range p.runs {
		switch {
		case r.ending:
		case r.base == uncounted:
			r.base = p.size
		case !over || p.size <= r.base+little:
		case r.held:
			tooMuch = append(tooMuch, w)
		default:
			hold, r.held = true, true
			r.base = uncounted // what comes until files are held is still within the rules
		}
	}
	p.held = over && (p.held || hold)
	return hold, tooMuch
}

// setFileSizes lets the files of the workers, and of all that they have started, grow as
// they may, or holds them, and reports whether it could. The caller has the place's lock.
func (p *place) setFileSizes(workers []Worker, hold bool) (could bool) {
	could = true
	for _, w := range workers {
		kin, _ := w.Living() // those who are being ended write no more
		for _, each := range kin {
			if p, ok := proc.Read(each.PID); ok && p.ID == each {
				could = setFileSize(each.PID, hold) && could
			}
		}
		if r := p.runs[w]; r != nil && hold {
			r.written = writtenBy(w)
		}
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
	case hold && limit.Cur > little:
		limit.Cur = little
	case !hold && limit.Cur == little && limit.Max > little:
		limit.Cur = limit.Max
	default:
		return true
	}
	return unix.Prlimit(pid, unix.RLIMIT_FSIZE, &limit, nil) != unix.EPERM
}

// endWriters ends those of the workers, whose runs are too much, that have written since
// files were held, or who is alone, unless it is known that others have: files in memory
// the kernel doesn't count. Of several nobody is ended for what another, as likely, has
// written; who goes on is measured anew. The caller has the place's lock.
func (l *Limiter) endWriters(p *place, tooMuch []Worker) {
	for _, w := range tooMuch {
		r := p.runs[w]
		r.base = uncounted
		if r.ending || (len(p.runs) > 1 || p.showsWriters(w)) && writtenBy(w) < r.written+little {
			continue
		}
		r.ending = true
		largest := p.largest()
		deleted, _ := l.count(p, largest)
		cause := p.report(largest, deleted)
		l.running.Go(func() { w.End(cause) })
	}
}

// showsWriters reports whether others than the runs may write to the place, and the kernel
// says whether this worker has.
func (p *place) showsWriters(w Worker) (shown bool) {
	var stat unix.Statfs_t
	if !p.common || unix.Statfs(p.dir, &stat) != nil || stat.Type == unix.TMPFS_MAGIC {
		return false
	}
	w.WithPID(func(pid int) { _, shown = proc.WrittenBy(pid) })
	return shown
}
