package worker

import "sync"

// registry knows the processes of one server that are nobody's kin: workers,
// the copies of them that sleep, and the forkers.
type registry struct {
	// byUser says that the lines of other sessions' families have other users: code may
	// change a tag there.
	byUser bool
	// codeFile is the name that reports of faults give cells, "" for their own.
	codeFile string

	mu    sync.Mutex
	roles map[int]role   // by process id
	users map[uint64]int // by the tags of the lines that there are, 0 as long as it isn't known
}

type role int

const (
	ofWorker role = iota
	ofForker
)

func newRegistry() *registry { return &registry{roles: map[int]role{}, users: map[uint64]int{}} }

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

// begin makes a line known by its tag; end forgets it.
func (r *registry) begin(tag uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.users[tag] = 0
}

// learn is told whose a line's processes are.
func (r *registry) learn(tag uint64, user int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, known := r.users[tag]; known {
		r.users[tag] = user
	}
}

func (r *registry) end(tag uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.users, tag)
}

// isLoose reports whether a user's process has the tag of no line of that user's, as
// only code gives itself. One without a tag has 0.
func (r *registry) isLoose(tag uint64, user int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	of, known := r.users[tag]
	return !known || of != 0 && of != user
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
