package worker

import "sync"

// registry knows the processes of one server that are nobody's kin: workers,
// the copies of them that sleep, and the forkers.
type registry struct {
	mu    sync.Mutex
	roles map[int]role // by process id
}

type role int

const (
	ofWorker role = iota
	ofForker
)

func newRegistry() *registry { return &registry{roles: map[int]role{}} }

func (r *registry) add(pid int, as role) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.roles[pid] = as
}

func (r *registry) remove(pid int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.roles, pid)
}

func (r *registry) has(pid int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, known := r.roles[pid]
	return known
}

// forkers returns the forkers' process ids. Orphans come to them.
func (r *registry) forkers() (pids []int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for pid, role := range r.roles {
		if role == ofForker {
			pids = append(pids, pid)
		}
	}
	return pids
}
