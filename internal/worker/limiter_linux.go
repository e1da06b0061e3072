package worker

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"understudy/internal/sandbox"
	"understudy/internal/worker/proc"
)

const (
	// limiterPoll is how often workers that run something are looked at.
	limiterPoll = 100 * time.Millisecond
	// limiterRest is how often the others are, and how often orphans are sought.
	limiterRest = 2 * time.Second
	// limiterShare bounds what the looking costs: after a look that took a while it
	// rests so many times as long.
	limiterShare = 10
	// guardShare is how often it looks at the machine's memory, when little is left,
	// for once at each worker.
	guardShare = 10
)

// limiter ends workers that use more than they may, where the kernel does not see to
// it, and the largest of all when the machine's memory is nearly used up.
type limiter struct {
	spawner *Spawner
	limits  sandbox.Limits
	log     *slog.Logger
	// available says how much memory the machine, or the container, has left and how
	// much it has, in bytes.
	available func() (left, all uint64)
	// What a dying worker and a run that waits for a count are given: dyingTime and
	// diskCount.
	toDie, toCount time.Duration

	life    context.Context
	unheld  sync.Once // whether it was said that files can't be held
	stop    context.CancelFunc
	begun   sync.Once
	running sync.WaitGroup
	poke    chan struct{}
	resting atomic.Bool // it looks seldom, as nothing runs

	grouping sync.Once
	cgroups  *sandbox.Groups // nil without

	storing   sync.Mutex
	stores    map[string]*store // by their places
	pokeDisks chan struct{}
	disksRest atomic.Bool // those are looked at seldom, as nothing runs

	// The rest is its goroutine's alone.
	records  map[*worker]*usageRecord
	orphans  map[uint64][]int // by the tag of their line
	untagged map[int][]int    // those without the tag of one of their user's lines, by user
	sought   time.Time        // when they were
	nextLook time.Time
	guard    guard
}

// usageRecord is what is remembered of a worker.
type usageRecord struct {
	ending bool      // it is being killed
	looked time.Time // idle workers are looked at seldom
	// What its end is going to free, in bytes, and since when.
	frees uint64
	since time.Time
	// What the last exact count said, of what estimate, and when it may be repeated.
	exact, estimate uint64
	again           time.Time
	// What it had in files in memory, and when they were counted.
	unmapped uint64
	counted  time.Time
}

// newLimiter returns nil when there is nothing to watch for.
func newLimiter(s *Spawner) *limiter {
	limits := s.options.Limits
	if limits == (sandbox.Limits{}) && s.options.Wall == nil {
		return nil
	}
	if limits.Poll <= 0 {
		limits.Poll = limiterPoll
	}
	life, stop := context.WithCancel(context.Background())
	return &limiter{
		spawner: s, limits: limits, log: s.log, available: proc.MemoryLeft(),
		toDie: dyingTime, toCount: diskCount,
		life: life, stop: stop, poke: make(chan struct{}, 1), records: map[*worker]*usageRecord{},
		stores: map[string]*store{}, pokeDisks: make(chan struct{}, 1),
	}
}

// openCgroups opens those of this process once, for the limiters of all its Pythons: it
// removes groups that nobody is in, as one is that another limiter has just made.
var openCgroups = sync.OnceValues(sandbox.OpenCgroups)

// groups are the cgroups of sessions; nil where there are none.
func (d *limiter) groups() *sandbox.Groups {
	d.grouping.Do(func() {
		groups, err := openCgroups()
		if err != nil {
			d.log.Debug("no cgroups: the server watches interpreters itself", "reason", err)
			return
		}
		d.cgroups = groups
	})
	return d.cgroups
}

// begin has it watch, once there is a worker.
func (d *limiter) begin() {
	if d == nil {
		return
	}
	d.begun.Do(func() {
		d.running.Go(d.watch)
		if d.limits.Disk > 0 {
			d.running.Go(d.watchDisks)
		}
	})
}

// wake is told that a worker begins to run something.
func (d *limiter) wake() {
	if !d.resting.Load() {
		return
	}
	select {
	case d.poke <- struct{}{}:
	default: // it is awake
	}
}

func (d *limiter) close() {
	if d != nil {
		d.stop()
		d.running.Wait()
	}
}

func (d *limiter) watch() {
	for d.life.Err() == nil {
		d.resting.Store(true) // before it looks who runs, so that whoever begins later pokes
		pause, busy := d.round(time.Now())
		d.resting.Store(!busy)
		timer := time.NewTimer(pause)
		select {
		case <-d.life.Done():
		case <-timer.C:
		case <-d.poke:
		}
		timer.Stop()
	}
}

// round looks once at the machine and at whoever is due, and returns how long to
// pause, and whether anything runs.
func (d *limiter) round(now time.Time) (pause time.Duration, busy bool) {
	workers := d.spawner.present()
	d.forget(workers)
	pause = limiterRest
	scarce := d.protect(workers, now)
	for w := range workers {
		busy = busy || w.interrupts.busy()
	}
	switch {
	case scarce && busy:
		pause = d.limits.Poll / guardShare
	case scarce || busy: // what doesn't run takes no more, but others do
		pause = d.limits.Poll
	}
	if now.Before(d.nextLook) && busy {
		return min(pause, time.Until(d.nextLook)), busy
	}
	d.lookAt(workers, now)
	took := time.Since(now)
	d.nextLook = now.Add(max(d.limits.Poll, limiterShare*took))
	return pause, busy
}

func (d *limiter) forget(present map[*worker]bool) {
	for w := range d.records {
		if !present[w] {
			delete(d.records, w)
		}
	}
	for w := range present {
		if d.records[w] == nil {
			d.records[w] = &usageRecord{}
		}
	}
}

// lookAt holds those who are due to their limits.
func (d *limiter) lookAt(workers map[*worker]bool, now time.Time) {
	if d.limits.Memory <= 0 && d.limits.Processes <= 0 {
		return
	}
	for w := range workers {
		if time.Since(d.guard.looked) > d.limits.Poll/guardShare { // a look at many takes a while
			d.protect(workers, time.Now())
		}
		c := d.records[w]
		if c.ending || !w.interrupts.busy() && now.Sub(c.looked) < limiterRest {
			continue
		}
		c.looked = now
		f := d.footprint(w)
		if d.limits.Memory > 0 && now.Sub(c.counted) >= limiterShare*d.limits.Poll {
			c.unmapped, c.counted = f.Unmapped(), now
		}
		used, over := d.overMemory(c, f, now)
		switch {
		case over:
			d.end(w, memoryCause(d.limits.Memory, used))
		case d.limits.Processes > 0 && f.Tasks > d.limits.Processes:
			d.end(w, fmt.Sprintf("process limit of %d reached (%d processes and threads)", d.limits.Processes, f.Tasks))
		}
	}
}

// overMemory reports whether a worker has more than it may. An estimate that is too
// high is followed by an exact count, and that by another one when the estimate has
// grown by what was missing, or after a while: forks that write to what they share
// use more, and the estimate doesn't tell.
func (d *limiter) overMemory(c *usageRecord, f proc.Footprint, now time.Time) (used uint64, over bool) {
	allowed := uint64(d.limits.Memory)
	if len(f.PIDs) == 1 || f.Own > allowed {
		// What RLIMIT_DATA refuses is a MemoryError, which leaves the session as it
		// is: that comes first, unless the memory is of a kind that doesn't count there.
		// Who has come so far may start programs as before.
		allowed += sandbox.MemoryAllowance
	}
	estimate := f.Memory + c.unmapped
	if d.limits.Memory <= 0 || estimate <= allowed {
		return 0, false
	}
	grown := estimate - min(estimate, c.estimate)
	if now.Before(c.again) && c.exact+grown <= allowed {
		return 0, false
	}
	c.exact, c.estimate = f.Exactly()+c.unmapped, estimate
	c.again = now.Add(max(limiterRest, 5*limiterShare*time.Since(now)))
	return c.exact, c.exact > allowed
}

// footprint counts what a worker and its kin use.
func (d *limiter) footprint(w *worker) proc.Footprint {
	d.seekOrphans()
	c := proc.NewCount(d.spawner.registry)
	user := 0
	w.process.withPID(func() {
		c.Add(w.process.pid)
		user = w.line.kin.User(w.process.pid)
	})
	for _, pid := range d.orphans[w.line.kin.Mark.Tag] {
		c.Add(pid)
	}
	for _, pid := range d.untagged[user] {
		c.Add(pid)
	}
	return c.Footprint
}

// seekOrphans finds the orphans among the workers' kin: code that forks twice has
// them adopted. Their tag tells whose they are, or their user, whose workers then share
// the blame. It does so now and then.
func (d *limiter) seekOrphans() {
	now := time.Now()
	if now.Sub(d.sought) < limiterShare*d.limits.Poll {
		return
	}
	d.sought, d.orphans, d.untagged = now, map[uint64][]int{}, map[int][]int{}
	find := proc.ChildrenFinder()
	for w := range d.records {
		w.process.withPID(func() { w.line.kin.User(w.process.pid) }) // is made known
	}
	for _, adoptive := range append(d.spawner.registry.All(proc.Forker), os.Getpid()) {
		for _, pid := range find(adoptive) {
			if d.spawner.registry.Has(pid) {
				continue
			}
			tag, tagged := proc.TagOf(pid)
			if user := d.untaggedUser(pid, tag); user != 0 {
				d.untagged[user] = append(d.untagged[user], pid)
			} else if tagged {
				d.orphans[tag] = append(d.orphans[tag], pid)
			}
		}
	}
}

// untaggedUser returns whose an orphan is that has no tag of its user's, else 0.
func (d *limiter) untaggedUser(pid int, tag uint64) int {
	if !d.spawner.registry.ByUser {
		return 0
	}
	s, ok := proc.StatusOf(pid)
	if !ok || !d.spawner.registry.IsUntagged(tag, s.User) {
		return 0
	}
	return s.User
}

// end kills a worker. It does not wait for that.
func (d *limiter) end(w *worker, cause string) {
	d.records[w].ending = true
	d.log.Info("an interpreter is ended", "pid", w.process.pid, "reason", cause)
	w.process.blame(cause)
	d.running.Go(func() { w.process.kill(cause) })
}
