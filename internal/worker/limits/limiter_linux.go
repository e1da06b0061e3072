package limits

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"understudy/internal/proc"
	"understudy/internal/sandbox"
	"understudy/sessions"
)

const (
	// usualPoll is how often workers that run something are looked at.
	usualPoll = 100 * time.Millisecond
	// rest is how often the others are, and how often orphans are sought.
	rest = 2 * time.Second
	// share bounds what the looking costs: after a look that took a while it rests so
	// many times as long.
	share = 10
)

// A Worker is what the Limiter knows of one. No method but End waits for anybody.
type Worker interface {
	// WithPID calls act while the process id is sure to be the worker's own.
	WithPID(act func(pid int))
	// Busy reports whether it runs something.
	Busy() bool
	// Spec is that of its session, nil until that has begun.
	Spec() *sessions.Spec
	// Kin are all processes of its line.
	Kin() *proc.Kin
	// Living are those that live, itself included; not known while they are being ended.
	Living() (kin []proc.ID, known bool)
	// Ended says how it ended, when its kin have ended too.
	Ended() *sessions.CrashError
	// End ends it for a cause, and returns when that is done.
	End(cause string)
}

// Limiter ends workers that use more than they may, where the kernel does not see to
// it, and the largest of all when the machine's memory is nearly used up.
type Limiter struct {
	Options
	limits  sandbox.Limits
	bounded bool // there are limits
	log     *slog.Logger

	life    context.Context
	stop    context.CancelFunc
	begun   sync.Once
	running sync.WaitGroup
	poke    chan struct{}
	resting atomic.Bool // it looks seldom, as nothing runs

	files files

	// The rest is its goroutine's alone.
	records  map[Worker]*record
	orphans  map[uint64][]int // by the tag of their line
	untagged map[int][]int    // those without the tag of one of their user's lines, by user
	sought   time.Time        // when they were
	nextLook time.Time
	victim   Worker // whom the machine's want of memory has ended last
	since    time.Time
}

// record is what is remembered of a worker.
type record struct {
	ending bool      // it is being killed
	looked time.Time // idle workers are looked at seldom
	// What the last exact count said, of what estimate, and when it may be repeated.
	exact, estimate uint64
	again           time.Time
	// What it had in files in memory, and when they were counted.
	unmapped uint64
	counted  time.Time
}

// New returns a Limiter that is to be begun.
func New(options Options) *Limiter {
	bounded := options.Limits != sandbox.Limits{}
	if options.Limits.Poll <= 0 {
		options.Limits.Poll = usualPoll
	}
	if options.Available == nil {
		options.Available = proc.MemoryLeft()
	}
	options.Patience = cmp.Or(options.Patience, time.Second)
	life, stop := context.WithCancel(context.Background())
	return &Limiter{
		Options: options, limits: options.Limits, bounded: bounded, log: options.Log,
		life: life, stop: stop, poke: make(chan struct{}, 1),
		records: map[Worker]*record{}, files: files{places: map[string]*place{}},
	}
}

// Begin has it watch, once there is a worker.
func (l *Limiter) Begin() {
	if l != nil {
		l.begun.Do(func() { l.running.Go(l.watch) })
	}
}

// Close ends it. A nil Limiter watches nobody.
func (l *Limiter) Close() {
	if l != nil {
		l.stop()
		l.running.Wait()
	}
}

// wake is told that a worker begins to run something.
func (l *Limiter) wake() {
	if !l.resting.Load() {
		return
	}
	select {
	case l.poke <- struct{}{}:
	default: // it is awake
	}
}

func (l *Limiter) watch() {
	for l.life.Err() == nil {
		l.resting.Store(true) // before it looks who runs, so that whoever begins later pokes
		pause, busy := l.round(time.Now())
		l.resting.Store(!busy)
		timer := time.NewTimer(pause)
		select {
		case <-l.life.Done():
		case <-timer.C:
		case <-l.poke:
		}
		timer.Stop()
	}
}

// round looks once at the machine and at whoever is due, and returns how long to
// pause, and whether anything runs.
func (l *Limiter) round(now time.Time) (pause time.Duration, busy bool) {
	workers := l.Present()
	l.remember(workers)
	for _, w := range workers {
		busy = busy || w.Busy()
	}
	scarce := l.protect(workers, now)
	switch {
	case scarce && busy:
		pause = l.limits.Poll / 10
	case scarce || busy: // what doesn't run takes no more, but others do
		pause = l.limits.Poll
	default:
		pause = rest
	}
	l.startWalk(workers)
	if busy && now.Before(l.nextLook) {
		return min(pause, time.Until(l.nextLook)), busy
	}
	l.lookAt(workers, now)
	l.nextLook = now.Add(max(l.limits.Poll, share*time.Since(now)))
	return pause, busy
}

// remember has a record of each worker that is there, and of nobody else.
func (l *Limiter) remember(workers []Worker) {
	before := l.records
	l.records = make(map[Worker]*record, len(workers))
	for _, w := range workers {
		if l.records[w] = before[w]; l.records[w] == nil {
			l.records[w] = &record{}
		}
	}
}

// lookAt holds those who are due to their limits.
func (l *Limiter) lookAt(workers []Worker, now time.Time) {
	if l.limits.Memory <= 0 && l.limits.Processes <= 0 {
		return
	}
	guarded := now
	for _, w := range workers {
		if time.Since(guarded) > l.limits.Poll/10 { // a look at many takes a while
			guarded = time.Now()
			l.protect(workers, guarded)
		}
		r := l.records[w]
		if r.ending || !w.Busy() && now.Sub(r.looked) < rest {
			continue
		}
		r.looked = now
		f := l.footprint(w)
		if l.limits.Memory > 0 && now.Sub(r.counted) >= share*l.limits.Poll {
			r.unmapped, r.counted = f.Unmapped(), now
		}
		used, over := l.overMemory(r, f, now)
		switch {
		case over:
			l.end(w, memoryCause(l.limits.Memory, used))
		case l.limits.Processes > 0 && f.Tasks > l.limits.Processes:
			l.end(w, fmt.Sprintf("process limit of %d reached (%d processes and threads)", l.limits.Processes, f.Tasks))
		}
	}
}

// overMemory reports whether a worker has more than it may. An estimate that is too
// high is followed by an exact count, and that by another one when the estimate has
// grown by what was missing, or after a while: forks that write to what they share
// use more, and the estimate doesn't tell.
func (l *Limiter) overMemory(r *record, f proc.Footprint, now time.Time) (used uint64, over bool) {
	allowed := uint64(l.limits.Memory)
	if len(f.PIDs) == 1 || f.Own > allowed {
		// What RLIMIT_DATA refuses is a MemoryError, which leaves the session as it
		// is: that comes first, unless the memory is of a kind that doesn't count there.
		// Who has come so far may start programs as before.
		allowed += sandbox.MemoryAllowance
	}
	estimate := f.Memory + r.unmapped
	if l.limits.Memory <= 0 || estimate <= allowed {
		return 0, false
	}
	grown := estimate - min(estimate, r.estimate)
	if now.Before(r.again) && r.exact+grown <= allowed {
		return 0, false
	}
	r.exact, r.estimate = f.Exactly()+r.unmapped, estimate
	r.again = now.Add(max(rest, 5*share*time.Since(now)))
	return r.exact, r.exact > allowed
}

// footprint counts what a worker and its kin use.
func (l *Limiter) footprint(w Worker) proc.Footprint {
	l.seekOrphans()
	c := proc.NewCount(l.Registry)
	user := 0
	w.WithPID(func(pid int) {
		c.Add(pid)
		user = w.Kin().User(pid)
	})
	for _, pid := range l.orphans[w.Kin().Mark.Tag] {
		c.Add(pid)
	}
	for _, pid := range l.untagged[user] {
		c.Add(pid)
	}
	return c.Footprint
}

// seekOrphans finds the orphans among the workers' kin: code that forks twice has
// them adopted. Their tag tells whose they are, or their user, whose workers then share
// the blame. It does so now and then.
func (l *Limiter) seekOrphans() {
	now := time.Now()
	if now.Sub(l.sought) < share*l.limits.Poll {
		return
	}
	l.sought, l.orphans, l.untagged = now, map[uint64][]int{}, map[int][]int{}
	find := proc.ChildrenFinder()
	for w := range l.records {
		w.WithPID(func(pid int) { w.Kin().User(pid) }) // is made known
	}
	for _, adoptive := range append(l.Registry.All(proc.Forker), os.Getpid()) {
		for _, pid := range find(adoptive) {
			if l.Registry.Has(pid) {
				continue
			}
			tag, tagged := proc.TagOf(pid)
			if user := l.Registry.UntaggedUser(pid, tag); user != 0 {
				l.untagged[user] = append(l.untagged[user], pid)
			} else if tagged {
				l.orphans[tag] = append(l.orphans[tag], pid)
			}
		}
	}
}

// end kills a worker. It does not wait for that.
func (l *Limiter) end(w Worker, cause string) {
	l.records[w].ending = true
	l.running.Go(func() { w.End(cause) })
}
