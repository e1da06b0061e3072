package proc

import (
	"errors"
	"log/slog"
	"os"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Kin is a worker's process and all that its code has started.
type Kin struct {
	Mark     Mark
	registry *Registry
	log      *slog.Logger

	mu    sync.Mutex
	Root  ID          // the worker's process
	since uint64      // when the first worker of the line started: its kin are younger
	known map[ID]bool // seen alive at any time
}

// NewKin returns the kin of a process that has just been started, before code runs in it.
func NewKin(pid int, mark Mark, registry *Registry, log *slog.Logger) *Kin {
	forbidCoreDumps(pid)
	registry.Begin(mark.Tag)
	root := identify(pid)
	return &Kin{Root: root, since: root.Start, Mark: mark, registry: registry, log: log, known: map[ID]bool{}}
}

// Follow makes another process the worker, in the place of one that is dead.
func (k *Kin) Follow(pid int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.Root = identify(pid)
}

// identify names a process of ours. One that has been reaped already, which
// nobody knows yet, keeps its id and has no time of start: it is not found, and
// its group is empty.
func identify(pid int) ID {
	p, _ := Read(pid)
	p.PID = pid
	return p.ID
}

// End kills the worker's process and its kin, again and again until a look
// finds nobody alive, and returns how many were alive beside the worker. The
// worker must not have been reaped.
func (k *Kin) End() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	before := len(k.known)
	loop := killLoop{find: k.find, log: k.log}
	// The first look is before the group dies: later, orphans could be told
	// by their mark only.
	if k.Root.PID > 1 { // -1 and 0 mean everybody, and our own group
		loop.killGroup = func() { _ = unix.Kill(-k.Root.PID, unix.SIGKILL) }
	}
	loop.run()
	return len(k.known) - before
}

// Living returns the living kin, the worker itself included, which must not have been
// reaped; not known while they are being ended. It waits for nobody.
func (k *Kin) Living() (all []ID, known bool) {
	if !k.mu.TryLock() {
		return nil, false
	}
	defer k.mu.Unlock()
	all, err := k.find()
	return all, err == nil
}

// find returns the living kin, the worker itself included. The caller has the lock, and
// the worker has not been reaped.
func (k *Kin) find() ([]ID, error) {
	procs, err := k.candidates()
	if err != nil {
		return nil, err
	}
	procs = slices.DeleteFunc(procs, func(p Process) bool { return p.Start < k.since })
	related := newProcessTree(procs, func(p Process) bool {
		return p.PID == k.Root.PID || p.group == k.Root.PID || k.known[p.ID]
	})
	user := k.User(k.Root.PID)
	related.addMarked(procs, func(pid int) bool {
		return environHas(pid, Variable+"="+k.Mark.Value, true) || k.isTagged(pid, user)
	})
	var living []ID
	for _, p := range procs {
		if p.Dead || !related[p.PID] {
			continue
		}
		living = append(living, p.ID)
		if p.PID != k.Root.PID {
			k.known[p.ID] = true
		}
	}
	return living, nil
}

// candidates returns the processes among which all kin are: the worker and its
// descendants, and the orphans with theirs. An orphan comes to its nearest
// ancestor that adopts, a forker or this server. What costs time is to look at
// every process of the machine, so that is for kernels that don't list children.
func (k *Kin) candidates() ([]Process, error) {
	if !canListChildren() {
		procs, err := List()
		return slices.DeleteFunc(procs, func(p Process) bool {
			return p.PID == os.Getpid() || p.PID != k.Root.PID && k.registry.Has(p.PID)
		}), err
	}
	w := walk{registry: k.registry, seen: map[int]bool{}}
	w.grow(k.Root.PID)
	for _, adoptive := range append(k.registry.All(Forker), os.Getpid()) {
		w.growChildren(adoptive)
	}
	return w.procs, w.failure
}

// A walk collects processes and their descendants, other workers left out.
type walk struct {
	registry *Registry
	seen     map[int]bool
	procs    []Process
	failure  error // somebody may be missing
}

func (w *walk) grow(pid int) {
	if w.seen[pid] {
		return
	}
	w.seen[pid] = true
	p, ok, err := lookAt(pid)
	w.failure = errors.Join(w.failure, err)
	if ok {
		w.procs = append(w.procs, p)
		w.growChildren(pid)
	}
}

func (w *walk) growChildren(pid int) {
	children, err := ChildrenOf(pid)
	w.failure = errors.Join(w.failure, err)
	for _, child := range children {
		if !w.registry.Has(child) {
			w.grow(child)
		}
	}
}

// Close forgets the line: nobody has its tag any more.
func (k *Kin) Close() { k.registry.End(k.Mark.Tag) }

// User returns whose the processes are, 0 if that says nothing: the user of the
// worker's process, which must not have been reaped.
func (k *Kin) User(worker int) int {
	if !k.registry.ByUser {
		return 0
	}
	s, ok := StatusOf(worker)
	if !ok {
		return 0
	}
	k.registry.learn(k.Mark.Tag, s.User)
	return s.User
}

// isTagged reports whether an orphan is of this line by its tag, or, where a user has
// one family, by its user and no other line's tag.
func (k *Kin) isTagged(pid, user int) bool {
	tag, _ := TagOf(pid)
	if user == 0 {
		return tag == k.Mark.Tag
	}
	s, ok := StatusOf(pid)
	return ok && s.User == user && (tag == k.Mark.Tag || k.registry.IsUntagged(tag, user))
}

// UntaggedUser returns whose a process is that has no tag of its user's, 0 where it has one,
// or users are not apart.
func (r *Registry) UntaggedUser(pid int, tag uint64) int {
	if !r.ByUser {
		return 0
	}
	if s, ok := StatusOf(pid); ok && r.IsUntagged(tag, s.User) {
		return s.User
	}
	return 0
}

// HasTag reports whether a process has that tag.
func HasTag(pid int, tag uint64) bool {
	found, ok := TagOf(pid)
	return ok && found == tag
}

// A processTree is a set of process ids that is closed under descent and under
// membership in the groups and sessions that its members lead.
type processTree map[int]bool

// newProcessTree grows one from the processes that belong to it for sure.
func newProcessTree(procs []Process, belongs func(Process) bool) processTree {
	t := processTree{}
	for _, p := range procs {
		if belongs(p) {
			t[p.PID] = true
		}
	}
	t.grow(procs)
	return t
}

func (t processTree) grow(procs []Process) {
	for grown := true; grown; {
		grown = false
		for _, p := range procs {
			if !t[p.PID] && (t[p.Parent] || t[p.group] || t[p.session]) {
				t[p.PID], grown = true, true
			}
		}
	}
}

// addMarked adds those that carry the mark, and theirs.
func (t processTree) addMarked(procs []Process, marked func(pid int) bool) {
	for _, p := range procs {
		if !t[p.PID] && !p.Dead && marked(p.PID) {
			t[p.PID] = true
		}
	}
	t.grow(procs)
}

// EndUser kills all processes of a user that descend from this one, and reports whether
// they have ended. Code can't change whom its processes belong to, whatever else it does to
// leave no trace; orphans are this process's. Those of a service that happens to have the
// same user are left alone.
func EndUser(user int, log *slog.Logger) (ended bool) {
	loop := killLoop{log: log, find: func() (living []ID, err error) {
		procs, err := List()
		ours := newProcessTree(procs, func(p Process) bool { return p.PID == os.Getpid() })
		for _, p := range procs {
			if s, ok := StatusOf(p.PID); ok && s.User == user && !p.Dead && ours[p.PID] {
				living = append(living, p.ID)
			}
		}
		return living, err
	}}
	return loop.run()
}

// A killLoop kills what find finds until it finds nobody.
type killLoop struct {
	find      func() ([]ID, error)
	killGroup func() // nil if there is no group
	log       *slog.Logger
	spared    map[ID]bool // those of another user: not ours to end
}

// run ends when nobody is left, which it reports, or only those that are spared, or after
// KillGrace: a process in an uninterruptible wait can't be ended.
func (l *killLoop) run() (ended bool) {
	l.spared = map[ID]bool{}
	deadline := time.Now().Add(KillGrace)
	defer reapOrphans()
	for pause := time.Millisecond; ; pause = min(2*pause, 20*time.Millisecond) {
		reapOrphans()
		living, err := l.find()
		if l.killGroup != nil {
			l.killGroup()
		}
		if l.killAll(living) == 0 && err == nil {
			return len(living) == 0
		}
		if time.Now().After(deadline) {
			l.log.Error("processes of a worker do not end, or can't be looked for", "processes", living, "error", err)
			return false
		}
		time.Sleep(pause)
	}
}

// killAll returns how many are yet to end.
func (l *killLoop) killAll(living []ID) (left int) {
	for _, id := range living {
		switch {
		case l.spared[id]:
		case Kill(id):
			left++
		default:
			l.spared[id] = true
			l.log.Warn("a worker's process belongs to another user and lives on", "process", id.PID)
		}
	}
	return left
}
