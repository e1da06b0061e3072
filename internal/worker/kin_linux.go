package worker

import (
	"log/slog"
	"os"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// kin is a worker's process and all that its code has started.
type kin struct {
	root procID
	mark mark
	log  *slog.Logger

	mu    sync.Mutex
	known map[procID]bool // seen alive at any time
}

func newKin(pid int, mark mark, log *slog.Logger) *kin {
	setLimits(pid, mark.tag)
	root, _ := readProc(pid)
	return &kin{root: root.procID, mark: mark, log: log, known: map[procID]bool{}}
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
	hunt.killGroup = func() { _ = unix.Kill(-k.root.pid, unix.SIGKILL) }
	hunt.run()
	return len(k.known) - before
}

// find returns the living kin, the worker itself included.
func (k *kin) find() ([]procID, error) {
	procs, err := listProcs()
	if err != nil {
		return nil, err
	}
	procs = slices.DeleteFunc(procs, func(p proc) bool {
		return p.start < k.root.start || p.pid == os.Getpid() // nobody is older than the worker
	})
	family := newFamily(procs, func(p proc) bool {
		return p.procID == k.root || p.group == k.root.pid || k.known[p.procID]
	})
	family.addMarked(procs, func(pid int) bool {
		return environHas(pid, markVariable+"="+k.mark.value, true) || hasTag(pid, k.mark.tag)
	})
	var living []procID
	for _, p := range procs {
		if p.dead || !family[p.pid] {
			continue
		}
		living = append(living, p.procID)
		if p.procID != k.root {
			k.known[p.procID] = true
		}
	}
	return living, nil
}

func (k *kin) close() {}

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
		if err != nil {
			h.log.Error("looking for a worker's processes", "error", err)
		}
		if h.killGroup != nil {
			h.killGroup()
		}
		if h.killAll(living) == 0 {
			return
		}
		if time.Now().After(deadline) {
			h.log.Error("processes of a worker do not end", "processes", living)
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
