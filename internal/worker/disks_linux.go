package worker

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
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
	// diskCount is how long a run may have to wait until its files are counted, once.
	diskCount = 200 * time.Millisecond
	// diskQuick is how long a count may take for one more to come before a run.
	diskQuick = time.Millisecond
)

// store is what is remembered of the files of a family, or of a working directory: it
// outlives the workers, so that a run that was ended gives the next one no more room.
type store struct {
	place string
	// common says that the directory isn't the family's own: what was there before the
	// first run is somebody else's, and what is added may be, too.
	common bool
	most   int64 // bytes that interpreters may put there

	mu      sync.Mutex
	limit   int64 // bytes that may be there: most, and of a common one what was there at first
	runs    map[*worker]run
	running int              // how many runs are under way
	begun   int              // how many have begun so far
	unseen  bool             // something has run since the last count
	ending  map[*worker]bool // those that run and are being ended
	slow    bool             // no run waits for a count any more
	met     bool             // it was counted before
	known   bool             // the rest is known
	took    time.Duration    // the last count
	last    int64
	before  int64 // bytes that were there at first, and after a run was ended; or fewer since
	// first is the fewest that were there when a run was let begin beyond the limit,
	// since it was passed; 0 when it isn't.
	first int64

	looked time.Time
	free   uint64 // bytes, of the file system, at the last count
}

// run is one that is under way.
type run struct {
	number  int    // how many had begun with it
	written uint64 // bytes that its worker had written before, where others share the directory
}

// allowed is how many bytes there may be. What is there already when a run begins is
// never a reason to end it: it has to be able to delete what the last has written.
func (s *store) allowed() int64 {
	if s.first == 0 {
		return s.limit
	}
	return max(s.limit, s.first+max(s.most/100, diskLeast), s.before+diskLeast)
}

// isNear reports whether there is so much that it is looked at often.
func (s *store) isNear() bool { return s.last > s.limit-s.most/5 }

// waits reports whether a run that is about to begin waits for a count: nobody knows
// what there is, or little room is left and it takes no time.
func (s *store) waits() bool {
	if s.running > 0 || s.known && !s.unseen {
		return false
	}
	return !s.known && !s.slow || s.known && s.isNear() && s.took <= diskQuick
}

// rebase takes what is there for old: at the very first count, and once a run was ended.
// Otherwise what short runs have written unseen is laid to the next that is seen.
func (s *store) rebase(size int64) {
	if s.common && !s.met {
		s.limit += size
	}
	s.met = true
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

// storesOf returns the stores of a worker's files: the home of the session and its
// branches, with their /tmp, or else its private directory; and the working directory
// where it is another.
func (d *warden) storesOf(spec *sessions.Spec) (all []*store) {
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
func (d *warden) store(place string, common bool) *store {
	if d.stores[place] == nil {
		d.stores[place] = newStore(place, common, d.limits.Disk)
	}
	return d.stores[place]
}

func newStore(place string, common bool, most int64) *store {
	return &store{place: place, common: common, most: most, limit: most, runs: map[*worker]run{}, ending: map[*worker]bool{}}
}

// letRun is told that a worker is about to run something. What it returns is called
// when that is over.
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
	stores := d.storesOf(spec)
	for _, s := range stores {
		d.letWrite(s, w)
	}
	if d.disksRest.Load() {
		select {
		case d.pokeDisks <- struct{}{}:
		default: // it is awake
		}
	}
	return func() {
		for _, s := range stores {
			s.mu.Lock()
			s.running--
			delete(s.runs, w)
			delete(s.ending, w)
			s.mu.Unlock()
		}
	}
}

// letWrite lets a run begin. Where little room is left, or nobody has looked yet, it
// counts first, so that all that comes later is the run's.
func (d *warden) letWrite(s *store, w *worker) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.waits():
		ctx, cancel := context.WithTimeout(d.life, d.toCount)
		defer cancel()
		began := time.Now()
		s.free = freeOn(s.place)
		size, err := s.size(ctx, -1, d.holders(s))
		if err == nil {
			s.rebase(size)
		} // else the next look does so
		s.slow = err != nil
		s.looked, s.took = began, time.Since(began)
	case s.running == 0 && s.known && s.isNear() && !s.unseen:
		s.rebase(s.last)
	}
	s.running++
	s.begun++
	begins := run{number: s.begun}
	if s.common {
		begins.written, _ = writtenBy(w.process.pid)
	}
	s.runs[w] = begins
	clear(s.ending)
	s.unseen = true
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
func (d *warden) forgetStores(used map[*store][]*worker) {
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
func (d *warden) lookAtFiles(s *store, workers []*worker) (busy bool) {
	now, free := time.Now(), freeOn(s.place)
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
	s.looked, s.free, s.took = now, free, time.Since(now)
	d.endWriters(s, s.judge(size, allowed, begun))
	return busy
}

// judge takes a count and returns whose runs have to end for it. What was allowed and how
// many runs had begun is as it was before the count.
func (s *store) judge(size, allowed int64, begun int) (tooMuch []*worker) {
	s.last = size
	for w, run := range s.runs {
		if run.number <= begun {
			tooMuch = append(tooMuch, w)
		}
	}
	switch {
	case !s.known: // with what a run has added that could not wait
		s.rebase(size)
		s.unseen = s.running > 0 || s.begun != begun
	case s.begun != begun && (size <= allowed || len(tooMuch) == 0): // some of it may be what a run began with
	case size <= allowed:
		s.rebase(size)
		s.unseen = s.running > 0
	case s.running == 0:
		s.unseen, s.known = false, false
	default:
		s.known = false // the next run begins with what is there
		return tooMuch
	}
	return nil
}

// isDue reports whether it is time to count. Whoever writes a lot uses up what is free:
// that is seen without a walk over the files, at once.
func (s *store) isDue(now time.Time, free uint64, poll time.Duration) bool {
	if s.running == 0 && !s.unseen || len(s.ending) > 0 {
		return false
	}
	room := max(0, s.allowed()-s.last)
	return !s.known || s.isNear() || now.Sub(s.looked) >= diskPoll*poll || s.free > free && s.free-free > uint64(room/2)
}

// endWriters ends those of the workers, whose runs are too much: of a common directory
// those that have written, unless nobody has, as space can be taken without. Whoever goes
// on is looked at again when they have ended. The caller has the store's lock.
func (d *warden) endWriters(s *store, ending []*worker) {
	cause := fmt.Sprintf("disk limit of %s reached: delete files below %s that are not needed", sessions.SizeInWords(s.most), s.place)
	if s.common {
		cause = fmt.Sprintf("disk limit of %s reached: so much was added to %s since this server first ran code there; delete what your code wrote there and doesn't need, and nothing else", sessions.SizeInWords(s.most), s.place)
		var wrote []*worker
		for _, w := range ending {
			if s.mayHaveWritten(w) {
				wrote = append(wrote, w)
			}
		}
		if len(wrote) > 0 {
			ending = wrote
		}
	}
	for _, w := range ending {
		s.ending[w] = true
		d.log.Info("an interpreter is ended", "pid", w.process.pid, "reason", cause)
		w.process.blame(cause)
		d.running.Go(func() { w.process.kill(cause) })
	}
}

// mayHaveWritten reports whether a worker's run has, with its kin, written more than a
// little, wherever. The kernel doesn't count that of files in memory.
func (s *store) mayHaveWritten(w *worker) bool {
	var stat unix.Statfs_t
	if unix.Statfs(s.place, &stat) != nil || stat.Type == unix.TMPFS_MAGIC {
		return true
	}
	kin, known := w.livingKin()
	if !known {
		return true
	}
	var sum uint64
	for _, each := range kin {
		n, ok := writtenBy(each.pid)
		if !ok {
			return true
		}
		sum += n
	}
	return sum >= s.runs[w].written+diskLeast
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

// holders are the workers whose files are those of the store.
func (d *warden) holders(s *store) (all []*worker) {
	for w := range d.spawner.present() {
		if spec := w.spec.Load(); spec != nil && slices.Contains(d.storesOf(spec), s) {
			all = append(all, w)
		}
	}
	return all
}

// size counts what the files take, in bytes, those too that are deleted and still open.
func (s *store) size(ctx context.Context, enough int64, workers []*worker) (int64, error) {
	size, err := sizeOnDisk(ctx, enough, s.place)
	if err != nil || enough >= 0 && size > enough {
		return size, err
	}
	deleted := deletedFiles{seen: map[fileID]bool{}, devices: map[uint64]bool{}}
	var stat unix.Stat_t
	if unix.Stat(s.place, &stat) == nil {
		deleted.devices[stat.Dev] = true
	}
	for _, w := range workers {
		c := census{registry: w.spawner.registry, children: childrenFinder(), seen: map[int]bool{}}
		w.process.withPID(func() { c.add(w.process.pid) })
		more := atMost(mostOpen)
		// In any order, so that what is not looked at now may be the next time.
		rand.Shuffle(len(c.pids), func(i, j int) { c.pids[i], c.pids[j] = c.pids[j], c.pids[i] })
		for _, pid := range c.pids {
			deleted.add(pid, func() bool { return ctx.Err() == nil && more() })
		}
	}
	return size + deleted.size, ctx.Err()
}

func isBelow(dir, other string) bool {
	rest, err := filepath.Rel(other, dir)
	return err == nil && rest != ".." && !strings.HasPrefix(rest, "../")
}
