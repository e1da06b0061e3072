package worker

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"understudy/sessions"
)

const (
	// diskPoll is how many looks at memory there are for one at the disk, unless there
	// is reason to look sooner.
	diskPoll = 20
	// diskLeast is how many bytes a run may always write that began beyond the limit.
	diskLeast = 1 << 20
	// diskCount is how long a run may have to wait until its files are counted.
	diskCount = 200 * time.Millisecond
)

// store is what is remembered of the files of a family, or of a working directory: it
// outlives the workers, so that a run that was ended gives the next one no more room.
type store struct {
	places []string
	limit  int64 // bytes

	mu      sync.Mutex
	running int  // how many runs are under way
	begun   int  // how many have begun so far
	unseen  bool // something has run since the last count
	ending  bool // those that run are being ended
	known   bool // the rest is known
	last    int64
	before  int64 // bytes that were there at first, and after a run was ended; or fewer since
	// first is the fewest that were there when a run was let begin beyond the limit,
	// since it was passed; 0 when it isn't.
	first int64

	looked time.Time
	free   uint64 // bytes, of the file system, at the last count
}

// allowed is how many bytes there may be. What is there already when a run begins is
// never a reason to end it: it has to be able to delete what the last has written.
func (s *store) allowed() int64 {
	if s.first == 0 {
		return s.limit
	}
	return max(s.limit, s.first+max(s.limit/100, diskLeast), s.before+diskLeast)
}

// isNear reports whether there is so much that it is looked at often.
func (s *store) isNear() bool { return s.last > s.limit/5*4 }

// rebase takes what is there for old: at the very first count, and once a run was ended.
// Otherwise what short runs have written unseen is laid to the next that is seen.
func (s *store) rebase(size int64) {
	if !s.known {
		s.before = size
		s.known = true
	}
	s.last, s.before = size, min(s.before, size)
	switch {
	case size <= s.limit:
		s.first = 0
	case s.first == 0 && s.before > s.limit:
		s.first = size
	default:
		s.first = min(s.first, size)
	}
}

// storeOf returns the store of a worker's files.
func (d *warden) storeOf(spec *sessions.Spec) *store {
	places := placesOf(spec)
	key := strings.Join(places, "\x00")
	d.storing.Lock()
	defer d.storing.Unlock()
	if d.stores[key] == nil {
		d.stores[key] = &store{places: places, limit: d.limits.Disk}
	}
	return d.stores[key]
}

// letRun is told that a worker is about to run something. What it returns is called
// when that is over. Where little room is left, or nobody has looked yet, it counts
// first, so that all that comes later is the run's.
func (d *warden) letRun(w *worker) (over func()) {
	if d == nil {
		return func() {}
	}
	d.wake()
	w.line.bounds.forget()
	spec := w.spec.Load()
	if d.limits.Disk <= 0 || spec == nil {
		return func() {}
	}
	s := d.storeOf(spec)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running == 0 && (!s.known || s.isNear()) {
		ctx, cancel := context.WithTimeout(d.life, diskCount)
		defer cancel()
		s.free = freeOn(s.places[0])
		size, err := s.size(ctx, -1, d.holders(s))
		if err == nil {
			s.rebase(size)
		} // else the next look does so
		s.looked = time.Now()
	}
	s.ending = false
	s.running++
	s.begun++
	s.unseen = true
	if d.disksRest.Load() {
		select {
		case d.pokeDisks <- struct{}{}:
		default: // it is awake
		}
	}
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.running--
	}
}

// watchDisks ends workers whose runs write more files than they may. It has a goroutine
// of its own, for a walk over many files takes a while.
func (d *warden) watchDisks() {
	for d.life.Err() == nil {
		d.disksRest.Store(true) // before it looks who runs, so that whoever begins later pokes
		began := time.Now()
		pause := diskPoll * d.limits.Poll
		if d.lookAtDisks() {
			d.disksRest.Store(false)
			pause = d.limits.Poll
		}
		timer := time.NewTimer(max(pause, wardenShare*time.Since(began)))
		select {
		case <-d.life.Done():
		case <-timer.C:
		case <-d.pokeDisks:
		}
		timer.Stop()
	}
}

// lookAtDisks looks at those stores that are due, and reports whether anything runs.
func (d *warden) lookAtDisks() (busy bool) {
	workers := map[*store][]*worker{}
	for w := range d.spawner.present() {
		if spec := w.spec.Load(); spec != nil {
			s := d.storeOf(spec)
			workers[s] = append(workers[s], w)
		}
	}
	d.forgetStores(workers)
	for s, of := range workers {
		busy = d.lookAtFiles(s, of) || busy
	}
	return busy
}

// forgetStores forgets those whose directories have gone with their last worker.
func (d *warden) forgetStores(used map[*store][]*worker) {
	d.storing.Lock()
	defer d.storing.Unlock()
	for key, s := range d.stores {
		if used[s] != nil {
			continue
		}
		if _, err := os.Lstat(s.places[0]); errors.Is(err, fs.ErrNotExist) {
			delete(d.stores, key)
		}
	}
}

// lookAtFiles counts a store's files if that is due, and reports whether anything runs.
func (d *warden) lookAtFiles(s *store, workers []*worker) (busy bool) {
	now, free := time.Now(), freeOn(s.places[0])
	s.mu.Lock()
	busy = s.running > 0
	due, begun, known, allowed := s.isDue(now, free, d.limits.Poll), s.begun, s.known, s.allowed()
	s.mu.Unlock()
	if !due {
		return busy
	}
	enough := allowed
	if !known {
		enough = -1
	}
	size, err := s.size(d.life, enough, workers)
	if err != nil {
		return busy
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.looked, s.free, s.last = now, free, size
	switch {
	case s.begun != begun: // some of it may be what a run began with
	case !s.known, size <= allowed:
		s.rebase(size)
		s.unseen = s.running > 0
	case s.running == 0:
		s.unseen = false
	default:
		s.ending, s.known = true, false // the next run begins with what is there
		d.endWriters(workers)
	}
	return busy
}

// isDue reports whether it is time to count. Whoever writes a lot uses up what is free:
// that is seen without a walk over the files, at once.
func (s *store) isDue(now time.Time, free uint64, poll time.Duration) bool {
	if s.running == 0 && !s.unseen || s.running > 0 && s.ending {
		return false
	}
	room := max(0, s.allowed()-s.last)
	return !s.known || s.isNear() || now.Sub(s.looked) >= diskPoll*poll || s.free > free && s.free-free > uint64(room/2)
}

// endWriters ends those workers that run something.
func (d *warden) endWriters(workers []*worker) {
	for _, w := range workers {
		if !w.interrupts.busy() {
			continue
		}
		cause := fmt.Sprintf("disk limit of %s reached: delete files below %s that are not needed", sessions.SizeInWords(d.limits.Disk), strings.Join(placesOf(w.spec.Load()), " and "))
		d.log.Info("an interpreter is ended", "pid", w.process.pid, "reason", cause)
		w.process.blame(cause)
		d.running.Go(func() { w.process.kill(cause) })
	}
}

// holders are the workers whose files are those of the store.
func (d *warden) holders(s *store) (all []*worker) {
	for w := range d.spawner.present() {
		if spec := w.spec.Load(); spec != nil && d.storeOf(spec) == s {
			all = append(all, w)
		}
	}
	return all
}

// size counts what the files take, in bytes, those too that are deleted and still open.
func (s *store) size(ctx context.Context, enough int64, workers []*worker) (int64, error) {
	size, err := sizeOnDisk(ctx, enough, s.places...)
	if err != nil || enough >= 0 && size > enough {
		return size, err
	}
	deleted := deletedFiles{seen: map[fileID]bool{}, devices: map[uint64]bool{}}
	for _, place := range s.places {
		var stat unix.Stat_t
		if unix.Stat(place, &stat) == nil {
			deleted.devices[stat.Dev] = true
		}
	}
	for _, w := range workers {
		c := census{registry: w.spawner.registry, children: childrenFinder(), seen: map[int]bool{}}
		w.process.withPID(func() { c.add(w.process.pid) })
		for _, pid := range c.pids {
			deleted.add(pid)
		}
	}
	return size + deleted.size, nil
}

type fileID struct{ device, inode uint64 }

// deletedFiles adds up files without a name that processes have open, on some devices.
type deletedFiles struct {
	devices map[uint64]bool
	seen    map[fileID]bool
	size    int64 // bytes
}

func (f *deletedFiles) add(pid int) {
	dir := fmt.Sprintf("/proc/%d/fd", pid)
	entries, err := os.ReadDir(dir) // not ours to see, or gone: it counts as none
	if err != nil {
		return
	}
	for _, entry := range entries {
		var stat unix.Stat_t
		if unix.Stat(filepath.Join(dir, entry.Name()), &stat) != nil || stat.Nlink > 0 || stat.Mode&unix.S_IFMT != unix.S_IFREG {
			continue
		}
		if id := (fileID{stat.Dev, stat.Ino}); f.devices[stat.Dev] && !f.seen[id] {
			f.seen[id] = true
			f.size += stat.Blocks * 512
		}
	}
}

// freeOn is how many bytes are free on the file system of a directory, 0 if that can't
// be told.
func freeOn(dir string) uint64 {
	var stat unix.Statfs_t
	if unix.Statfs(dir, &stat) != nil {
		return 0
	}
	return stat.Bfree * uint64(stat.Bsize)
}

// placesOf are the directories that count: the home of the session and its branches,
// with their /tmp, and the working directory.
func placesOf(spec *sessions.Spec) []string {
	switch {
	case spec.Home == "":
		return []string{spec.Workdir}
	case isBelow(spec.Workdir, spec.Home):
		return []string{spec.Home}
	default:
		return []string{spec.Home, spec.Workdir}
	}
}

var errEnough = errors.New("enough")

// sizeOnDisk adds up what the files below the directories take, in bytes. It stops
// when that is more than enough, unless enough is negative. Links are not followed,
// and what can't be read, or goes meanwhile, doesn't count.
func sizeOnDisk(ctx context.Context, enough int64, dirs ...string) (size int64, err error) {
	for _, dir := range dirs {
		err = filepath.WalkDir(dir, func(_ string, entry fs.DirEntry, err error) error {
			if err != nil {
				return nil
			}
			info, err := entry.Info()
			if err != nil {
				return nil
			}
			if stat, ok := info.Sys().(*syscall.Stat_t); ok {
				size += stat.Blocks * 512
			}
			if enough >= 0 && size > enough {
				return errEnough
			}
			return ctx.Err()
		})
		if errors.Is(err, errEnough) {
			return size, nil
		}
		if err != nil {
			return 0, err
		}
	}
	return size, nil
}

func isBelow(dir, other string) bool {
	rest, err := filepath.Rel(other, dir)
	return err == nil && rest != ".." && !strings.HasPrefix(rest, "../")
}
