package worker

import (
	"errors"
	"log/slog"
	"os"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// kin is a worker's process and all that its code has started.
type kin struct {
	mark     mark
	registry *registry
	log      *slog.Logger

	mu    sync.Mutex
	root  procID          // the worker's process
	since uint64          // when the first worker of the line started: its kin are younger
	known map[procID]bool // seen alive at any time
}

func newKin(pid int, mark mark, registry *registry, log *slog.Logger) *kin {
	forbidCoreDumps(pid)
	registry.begin(mark.tag)
	root := identify(pid)
	return &kin{root: root, since: root.start, mark: mark, registry: registry, log: log, known: map[procID]bool{}}
}

// follow makes another process the worker, in the place of one that is dead.
func (k *kin) follow(pid int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.root = identify(pid)
}

// identify names a process of ours. One that has been reaped already, which
// nobody knows yet, keeps its id and has no time of start: it is not found, and
// its group is empty.
func identify(pid int) procID {
	p, _ := readProc(pid)
	p.pid = pid
	return p.procID
}

// end kills the worker's process and its kin, again and again until a look
// finds nobody alive, and returns how many were alive beside the worker. The
// worker must not have been reaped.
func (k *kin) end() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	before := len(k.known)
	hunt := hunt{find: k.find, log: k.log}
	// The first look is before the group dies: later, orphans could be told
	// by their mark only.
	if k.root.pid > 1 { // -1 and 0 mean everybody, and our own group
		hunt.killGroup = func() { _ = unix.Kill(-k.root.pid, unix.SIGKILL) }
	}
	hunt.run()
	return len(k.known) - before
}

// find returns the living kin, the worker itself included. The caller has the lock, and
// the worker has not been reaped.
func (k *kin) find() ([]procID, error) {
	procs, err := k.candidates()
	if err != nil {
		return nil, err
	}
	procs = slices.DeleteFunc(procs, func(p proc) bool { return p.start < k.since })
	family := newFamily(procs, func(p proc) bool {
		return p.pid == k.root.pid || p.group == k.root.pid || k.known[p.procID]
	})
	user := k.user(k.root.pid)
	family.addMarked(procs, func(pid int) bool {
		return environHas(pid, markVariable+"="+k.mark.value, true) || k.isTagged(pid, user)
	})
	var living []procID
	for _, p := range procs {
		if p.dead || !family[p.pid] {
			continue
		}
		living = append(living, p.procID)
		if p.pid != k.root.pid {
			k.known[p.procID] = true
		}
	}
	return living, nil
}

// candidates returns the processes among which all kin are: the worker and its
// descendants, and the orphans with theirs. An orphan comes to its nearest
// ancestor that adopts, a forker or this server. What costs time is to look at
// every process of the machine, so that is for kernels that don't list children.
func (k *kin) candidates() ([]proc, error) {
	if !canListChildren() {
		procs, err := listProcs()
		return slices.DeleteFunc(procs, func(p proc) bool {
			return p.pid == os.Getpid() || p.pid != k.root.pid && k.registry.has(p.pid)
		}), err
	}
	tree := tree{registry: k.registry, seen: map[int]bool{}}
	tree.grow(k.root.pid)
	for _, adoptive := range append(k.registry.forkers(), os.Getpid()) {
		tree.growChildren(adoptive)
	}
	return tree.procs, tree.failure
}

// tree collects processes and their descendants, other workers left out.
type tree struct {
	registry *registry
	seen     map[int]bool
	procs    []proc
	failure  error // somebody may be missing
}

func (t *tree) grow(pid int) {
	if t.seen[pid] {
		return
	}
	t.seen[pid] = true
	p, ok, err := lookAt(pid)
	t.failure = errors.Join(t.failure, err)
	if ok {
		t.procs = append(t.procs, p)
		t.growChildren(pid)
	}
}

func (t *tree) growChildren(pid int) {
	children, err := childrenOf(pid)
	t.failure = errors.Join(t.failure, err)
	for _, child := range children {
		if !t.registry.has(child) {
			t.grow(child)
		}
	}
}

func (k *kin) close() { k.registry.end(k.mark.tag) }

// user returns whose the processes are, 0 if that says nothing: the user of the
// worker's process, which must not have been reaped.
func (k *kin) user(worker int) int {
	if !k.registry.byUser {
		return 0
	}
	s, ok := statusOf(worker)
	if !ok {
		return 0
	}
	k.registry.learn(k.mark.tag, s.user)
	return s.user
}

// isTagged reports whether an orphan is of this line by its tag, or, where a user has
// one family, by its user and no other line's tag.
func (k *kin) isTagged(pid, user int) bool {
	tag, _ := tagOf(pid)
	if user == 0 {
		return tag == k.mark.tag
	}
	s, ok := statusOf(pid)
	return ok && s.user == user && (tag == k.mark.tag || k.registry.isLoose(tag, user))
}

func hasTag(pid int, tag uint64) bool {
	found, ok := tagOf(pid)
	return ok && found == tag
}

// A family is a set of process ids that is closed under descent and under
// membership in the groups and sessions that its members lead.
type family map[int]bool

// newFamily grows a family from the processes that belong to it for sure.
func newFamily(procs []proc, belongs func(proc) bool) family {
	f := family{}
	for _, p := range procs {
		if belongs(p) {
			f[p.pid] = true
		}
	}
	f.grow(procs)
	return f
}

func (f family) grow(procs []proc) {
	for grown := true; grown; {
		grown = false
		for _, p := range procs {
			if !f[p.pid] && (f[p.parent] || f[p.group] || f[p.session]) {
				f[p.pid], grown = true, true
			}
		}
	}
}

// addMarked adds those that carry the mark, and theirs.
func (f family) addMarked(procs []proc, marked func(pid int) bool) {
	for _, p := range procs {
		if !f[p.pid] && !p.dead && marked(p.pid) {
			f[p.pid] = true
		}
	}
	f.grow(procs)
}

// A hunt kills what find finds until it finds nobody.
type hunt struct {
	find      func() ([]procID, error)
	killGroup func() // nil if there is no group
	log       *slog.Logger
	spared    map[procID]bool // those of another user: not ours to end
}

// run ends when nobody is left, or after killGrace: a process in an
// uninterruptible wait can't be ended.
func (h *hunt) run() {
	h.spared = map[procID]bool{}
	deadline := time.Now().Add(killGrace)
	defer reapOrphans()
	for pause := time.Millisecond; ; pause = min(2*pause, 20*time.Millisecond) {
		reapOrphans()
		living, err := h.find()
		if h.killGroup != nil {
			h.killGroup()
		}
		if h.killAll(living) == 0 && err == nil {
			return
		}
		if time.Now().After(deadline) {
			h.log.Error("processes of a worker do not end, or can't be looked for", "processes", living, "error", err)
			return
		}
		time.Sleep(pause)
	}
}

// killAll returns how many are yet to end.
func (h *hunt) killAll(living []procID) (left int) {
	for _, id := range living {
		switch {
		case h.spared[id]:
		case killExactly(id):
			left++
		default:
			h.spared[id] = true
			h.log.Warn("a worker's process belongs to another user and lives on", "process", id.pid)
		}
	}
	return left
}
