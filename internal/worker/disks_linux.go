package worker

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"understudy/internal/worker/disk"
	"understudy/internal/worker/proc"
	"understudy/internal/worker/wire"
	"understudy/sessions"
)

const (
	// diskPoll is how many looks at memory there are for one at the disk, unless there
	// is reason to look sooner.
	diskPoll = 20
	// diskLeast is how many bytes may always be added to what is beyond the limit.
	diskLeast = 1 << 20
	// diskLittle is what a run may add that isn't taken for growth at all, and how large
	// each file may become while files are held.
	diskLittle = 64 << 10
	// diskCount is how long a run may have to wait until its files are counted, once.
	diskCount = 200 * time.Millisecond
	// diskQuick is how long a count may take for one more to come before a run.
	diskQuick = time.Millisecond
	// uncounted stands for a size that nobody knows.
	uncounted = -1
)

// storesOf returns the stores of a worker's files: the home of the session and its
// branches, with their /tmp, or else its private directory; and the working directory
// where it is another.
func (d *limiter) storesOf(spec *sessions.Spec) (all []*store) {
	d.storing.Lock()
	defer d.storing.Unlock()
	if spec.Home != "" {
		all = append(all, d.store(spec.Home, false))
	} else if spec.PrivateDir != "" {
		all = append(all, d.store(spec.PrivateDir, false))
	}
	if spec.Home == "" || !isBelow(spec.Workdir, spec.Home) {
		all = append(all, d.store(spec.Workdir, true))
	}
	return all
}

// store is for a caller that has storing.
func (d *limiter) store(place string, common bool) *store {
	if d.stores[place] == nil {
		d.stores[place] = newStore(place, common, d.limits.Disk)
	}
	return d.stores[place]
}

// letRun is told that a worker is about to run something. What it returns is called
// when that is over, with what came of it, and says what there is to say of limits.
func (d *limiter) letRun(w *worker) (over func(*wire.Done) []string) {
	if d == nil {
		return noNotes
	}
	d.wake()
	w.line.bounds.forget()
	spec := w.spec.Load()
	if d.limits.Disk <= 0 && d.limits.FileSize <= 0 || spec == nil {
		return noNotes
	}
	var stores []*store
	if d.limits.Disk > 0 {
		stores = d.storesOf(spec)
	}
	for _, s := range stores {
		d.letWrite(s, w)
	}
	if d.disksRest.Load() {
		select {
		case d.pokeDisks <- struct{}{}:
		default: // it is awake
		}
	}
	began := time.Now()
	return func(done *wire.Done) (notes []string) {
		trouble := w.troubleOf(done)
		if time.Since(began) > diskQuick { // in less nobody writes much
			now, _ := proc.WrittenBy(w.process.pid)
			trouble.written, w.written = int64(now-min(now, w.written)), now
		}
		for _, s := range stores { // what is deleted and still open counts in each: once is enough
			if told := d.endRun(s, w, trouble); len(notes) == 0 {
				notes = told
			}
		}
		return append(notes, d.fileNotes(spec.Workdir, trouble, len(notes) > 0)...)
	}
}

func noNotes(*wire.Done) []string { return nil }

// letWrite lets a run begin. Where little room is left, or nobody has looked yet, it
// counts first, so that all that comes later is the run's.
func (d *limiter) letWrite(s *store, w *worker) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.waits() {
		if _, err := d.count(s, nil); err != nil {
			s.slow = true // the next look does so
		}
	}
	setFileSize(w.process.pid, false) // it has to be able to delete, and to write in the place of that
	begins := &run{base: uncounted, began: time.Now(), free: disk.Free(s.place)}
	if s.known && !s.unseen && !s.short {
		begins.base = s.last
	}
	s.runs[w] = begins
	s.begun++
	s.unseen = true
}

// count counts all of a store while runs wait. The caller has the store's lock.
func (d *limiter) count(s *store, largest *disk.Largest) (deleted int64, err error) {
	ctx, cancel := context.WithTimeout(d.life, d.toCount)
	defer cancel()
	began := time.Now()
	free := disk.Free(s.place)
	size, deleted, err := s.size(ctx, uncounted, d.holders(s), largest)
	s.took = time.Since(began)
	if err == nil {
		s.looked, s.free = began, free
		s.take(size, s.begun)
	} else if largest != nil { // a part of the files
		largest.Forget()
	}
	return deleted, err
}

// watchDisks sees to it that runs write no more files than they may. It has a goroutine
// of its own, for a walk over many files takes a while.
func (d *limiter) watchDisks() {
	for d.life.Err() == nil {
		d.disksRest.Store(true) // before it looks who runs, so that whoever begins later pokes
		began := time.Now()
		pause := diskPoll * d.limits.Poll
		if d.lookAtDisks() {
			d.disksRest.Store(false)
			pause = d.limits.Poll
		}
		timer := time.NewTimer(max(pause, limiterShare*time.Since(began)))
		select {
		case <-d.life.Done():
		case <-timer.C:
		case <-d.pokeDisks:
		}
		timer.Stop()
	}
}

// lookAtDisks looks at those stores that are due, and reports whether anything runs.
func (d *limiter) lookAtDisks() (busy bool) {
	workers := map[*store][]*worker{}
	for w := range d.spawner.present() {
		if spec := w.spec.Load(); spec != nil {
			for _, s := range d.storesOf(spec) {
				workers[s] = append(workers[s], w)
			}
		}
	}
	d.forgetStores(workers)
	for s, of := range workers {
		busy = d.lookAtFiles(s, of) || busy
	}
	return busy
}

// forgetStores forgets those whose directories have gone with their last worker.
func (d *limiter) forgetStores(used map[*store][]*worker) {
	d.storing.Lock()
	defer d.storing.Unlock()
	for key, s := range d.stores {
		if used[s] != nil {
			continue
		}
		if _, err := os.Lstat(s.place); errors.Is(err, fs.ErrNotExist) {
			delete(d.stores, key)
		}
	}
}

// lookAtFiles counts a store's files if that is due, and reports whether anything runs.
func (d *limiter) lookAtFiles(s *store, workers []*worker) (busy bool) {
	now, free := time.Now(), disk.Free(s.place)
	s.mu.Lock()
	busy = len(s.runs) > 0
	due, begun, enough := s.isDue(now, free, d.limits.Poll), s.begun, s.enough()
	s.mu.Unlock()
	if !due {
		return busy
	}
	size, _, err := s.size(d.life, enough, workers, nil)
	if err != nil {
		return busy
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.looked.After(now) { // a run has counted meanwhile
		return busy
	}
	s.looked, s.free, s.took = now, free, time.Since(now)
	was := s.held
	hold, tooMuch := s.judge(size, begun, enough >= 0 && size > enough)
	if (hold || was && !s.held) && !s.setFileSizes(workers, hold) && hold {
		d.unheld.Do(func() {
			d.log.Warn("files can't be kept from growing beyond the disk limit, so runs are ended without an error before; a server that is root needs the capability SYS_RESOURCE for it")
		})
		for w, r := range s.runs {
			if r.unheld && !r.ending && !slices.Contains(tooMuch, w) {
				tooMuch = append(tooMuch, w)
			}
		}
	}
	d.endWriters(s, tooMuch, len(workers) == 1)
	return busy
}

// holders are the workers whose files are those of the store.
func (d *limiter) holders(s *store) (all []*worker) {
	for w := range d.spawner.present() {
		if spec := w.spec.Load(); spec != nil && slices.Contains(d.storesOf(spec), s) {
			all = append(all, w)
		}
	}
	return all
}

// size counts what the files take, in bytes, those too that are deleted and still open.
func (s *store) size(ctx context.Context, enough int64, workers []*worker, largest *disk.Largest) (size, unnamed int64, err error) {
	size, err = disk.Size(ctx, enough, s.place, largest)
	if err != nil || enough >= 0 && size > enough {
		return size, 0, err
	}
	deleted := proc.NewDeletedFiles(s.place)
	for _, w := range workers {
		c := proc.NewCount(w.spawner.registry)
		w.process.withPID(func() { c.Add(w.process.pid) })
		deleted.Add(ctx, c.PIDs)
	}
	return size + deleted.Size, deleted.Size, ctx.Err()
}

func isBelow(dir, other string) bool {
	rest, err := filepath.Rel(other, dir)
	return err == nil && rest != ".." && !strings.HasPrefix(rest, "../")
}
