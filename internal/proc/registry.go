package proc

import "sync"

// Registry knows the processes of one server that are nobody's kin: workers,
// the copies of them that sleep, and the forkers.
type Registry struct {
	// ByUser says that the lines of other sessions' families have other users: code may
	// change a tag there.
	ByUser bool

	mu    sync.Mutex
	roles map[int]Role   // by process id
	users map[uint64]int // by the tags of the lines that there are, 0 as long as it isn't known
}

// A Role is what such a process is for.
type Role int

// The roles. Orphans come to a Forker.
const (
	Worker Role = iota
	Forker
)

// NewRegistry returns one that knows nobody yet.
func NewRegistry() *Registry { return &Registry{roles: map[int]Role{}, users: map[uint64]int{}} }

// Add makes a process known, until Remove.
func (r *Registry) Add(pid int, as Role) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.roles[pid] = as
}

// Remove is called before the process is reaped.
func (r *Registry) Remove(pid int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.roles, pid)
}

// Begin makes a line known by its tag; End forgets it.
func (r *Registry) Begin(tag uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.users[tag] = 0
}

// learn is told whose a line's processes are.
func (r *Registry) learn(tag uint64, user int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, known := r.users[tag]; known {
		r.users[tag] = user
	}
}

// End forgets a line.
func (r *Registry) End(tag uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.users, tag)
}

// IsUntagged reports whether a user's process has the tag of no line of that user's, as
// only code gives itself. One without a tag has 0.
func (r *Registry) IsUntagged(tag uint64, user int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	of, known := r.users[tag]
	return !known || of != 0 && of != user
}

// Has reports whether a process is known.
func (r *Registry) Has(pid int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, known := r.roles[pid]
	return known
}

// All returns the process ids of those with a role.
func (r *Registry) All(with Role) (pids []int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for pid, role := range r.roles {
		if role == with {
			pids = append(pids, pid)
		}
	}
	return pids
}
