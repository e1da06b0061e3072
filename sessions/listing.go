package sessions

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// listPatience bounds what a listing waits for and measures: a process costs
// about 2 milliseconds.
const listPatience = 300 * time.Millisecond

// Listing is what a client sees of one of its sessions.
type Listing struct {
	ID string `json:"id"`
	// Client is whose it is, and Key the id that leads to it whoever calls: for the
	// operator alone.
	Client Client `json:"client,omitempty"`
	Key    string `json:"key,omitempty"`
	// Status is "running" for one that can be called at once, "starting" while its
	// process is not there yet, which the operator's init code may prolong, "busy" while code
	// runs in it, and "asking" while that waits for a line of input.
	Status  string `json:"status"`
	Default bool   `json:"default"`
	// Running is the number of the execution that runs now.
	Running int `json:"busy_with,omitempty"`
	// Prompt is what it asks with.
	Prompt     string `json:"prompt,omitempty"`
	Executions int    `json:"executions"`
	Waiting    int    `json:"waiting,omitempty"` // calls waiting for their turn
	// Failures is how many runs have failed one after another.
	Failures int `json:"failures_in_a_row,omitempty"`
	// Unfetched is how many answers wait for operation wait.
	Unfetched int `json:"answers_not_fetched,omitempty"`
	// Printed is how many bytes were printed since the last execution, for operation wait.
	Printed int `json:"printed_between_calls,omitempty"`
	// Ended says in a sentence that the process has died and what the next run
	// finds, until then; what is told of a live process is absent.
	Ended    string    `json:"ended,omitempty"`
	Created  time.Time `json:"created"`
	LastUsed time.Time `json:"last_used"`
	Age      float64   `json:"age"`              // seconds
	Idle     float64   `json:"idle"`             // seconds, 0 while running; while starting, how long it does
	Memory   uint64    `json:"memory,omitempty"` // resident bytes of the worker
	// Private is the part of the memory of the worker and its copies together
	// that no other process has a share in, in bytes, and Shared what the
	// largest of them shares with others: its own copies, the zygote.
	Private uint64 `json:"private,omitempty"`
	// Copies is the part of Private that is the copies', not the worker's.
	Copies uint64 `json:"private_of_copies,omitempty"`
	Shared uint64 `json:"shared,omitempty"`
	// Recoverable says whether the variables as they are now could be brought back if the
	// next run crashed, and Obstacle why not.
	Recoverable bool   `json:"recoverable"`
	Obstacle    string `json:"not_recoverable_because,omitempty"`
	// Uncopied says that it has been idle for so long that the copy of its variables was
	// let go. Another is made as the next call comes, before its code runs; if the process
	// ends before, an older state comes back, if any is kept.
	Uncopied bool `json:"uncopied_while_idle,omitempty"`
	// Parent is the id of the session that this one was branched from.
	Parent string `json:"parent,omitempty"`
	PID    int    `json:"pid,omitempty"`
	// Python is its version, and which it is where that isn't plain.
	Python  string `json:"python,omitempty"`
	Workdir string `json:"workdir"`
	// Sandbox says what confines the code; absent where nothing does.
	Sandbox *Wall `json:"sandbox,omitempty"`
	// SessionVariables are the names of those that are set; values may be secret.
	SessionVariables []string `json:"session_variables,omitempty"`
	// InitError is the traceback of the operator's init code, if it failed.
	InitError string `json:"init_error,omitempty"`
	// Notes are plain sentences about what did not come along with a branch.
	Notes []string `json:"notes,omitempty"`
}

// Interruption says what an interrupt did.
type Interruption struct {
	InterpreterID string        `json:"interpreter_id"`
	Execution     int           `json:"execution,omitempty"`
	Elapsed       time.Duration `json:"-"`
	// Stopped is false when nothing was running.
	Stopped bool `json:"stopped"`
	// StateKept is false when the code ignored the interrupt and its process
	// had to be killed.
	StateKept bool `json:"state_kept"`
	// StateRestored is true when the process had to be killed and the
	// variables are as they were before the call.
	StateRestored bool `json:"state_restored,omitempty"`
	// Where is the line of the user's code that was interrupted, if known.
	Where *StackFrame `json:"where,omitempty"`
	// Message tells all this in a sentence.
	Message string `json:"message"`
	// Notes are plain sentences about other executions.
	Notes []string `json:"notes,omitempty"`
}

// Progress is what a waiting caller is told about once a second.
type Progress struct {
	Elapsed, Limit time.Duration
	// LastLine is the last line of output that isn't blank, cut to 200 characters.
	LastLine string
	// Queued is true while the call still waits for its turn.
	Queued bool
	// Phase says in a clause what a call waits for that has no interpreter yet, "" when
	// nothing is to be said of it.
	Phase string
}

// listing describes the session to its owner, but for its memory.
func (s *Session) listing() Listing {
	now := s.states.now()
	obstacle := cmp.Or(s.options.Starter.ForkObstacle(), now.obstacle())
	s.mu.Lock()
	defer s.mu.Unlock()
	l := Listing{
		ID: s.name, Status: "running", Executions: s.count, Failures: s.failures, Waiting: s.turn.queued(),
		Unfetched: s.unfetched(), Created: s.created, LastUsed: s.used, Workdir: s.dirs.Work, Parent: s.client.Handle(s.parent),
		Age: time.Since(s.created).Seconds(), Idle: time.Since(s.used).Seconds(),
		SessionVariables: slices.Sorted(maps.Keys(s.sessionVariables)),
		Memory:           s.resident, Recoverable: obstacle == "", Obstacle: obstacle,
	}
	if since := s.startingSince(); s.worker == nil && !since.IsZero() {
		l.Status, l.Idle = "starting", time.Since(since).Seconds()
	}
	if s.worker != nil {
		l.Printed = s.worker.Unclaimed()
	}
	if s.current != nil {
		l.Status, l.Running, l.Idle = "busy", s.current.number, 0
		if l.Prompt = s.current.prompt(); l.Prompt != "" {
			l.Status = "asking"
		}
	}
	if s.worker != nil && s.current == nil && s.turn.idle() && hasExited(s.worker) {
		l.Ended = "its process has ended; " + s.states.prospect(s.options.Starter.ForkObstacle())
		l.Memory = 0
		return l
	}
	if now.kept == resting { // the next run's copy is made before it begins
		l.Uncopied, l.Recoverable, l.Obstacle = true, true, ""
	}
	if s.worker != nil {
		info := s.worker.Info()
		l.PID, l.InitError, l.Sandbox = info.PID, s.initError, info.Wall
		l.Python = strings.TrimSpace(info.Python + " " + info.Environment)
	}
	return l
}

// awaitCopy waits until our own work for the session's last call is done, or ctx
// ends: only then is it known whether its state could be copied. A copy that was put off
// is made now.
func (s *Session) awaitCopy(ctx context.Context) {
	s.copyNow()
	if tidied := s.turn.tidied(); tidied != nil {
		select {
		case <-tidied:
		case <-ctx.Done():
		}
	}
}

// measure adds to l what the session's processes use.
func (s *Session) measure(l *Listing) {
	w := s.lead()
	if w == nil || l.Ended != "" {
		return
	}
	usage, err := w.Usage()
	if err != nil { // it has just died
		return
	}
	l.Memory = usage.Memory
	l.add(usage)
	for _, u := range s.states.understudies() {
		if usage, err := u.Usage(); err == nil {
			l.Copies += l.add(usage)
		}
	}
	s.mu.Lock()
	s.resident = l.Memory
	s.mu.Unlock()
}

// add counts a process where the system can tell its private memory, which it
// returns.
func (l *Listing) add(usage Usage) (private uint64) {
	if usage.Private == 0 || usage.Private > usage.Memory {
		return 0
	}
	l.Private += usage.Private
	l.Shared = max(l.Shared, usage.Memory-usage.Private)
	return usage.Private
}

func sortByAge(all []*Session) {
	slices.SortFunc(all, func(a, b *Session) int {
		return cmp.Or(a.created.Compare(b.created), cmp.Compare(a.id, b.id))
	})
}

// statsPatience bounds what Stats measures: a process costs about 2
// milliseconds, and who asks has a time limit of its own.
const statsPatience = time.Second

// Stats is how the Manager stands, in numbers that name nobody.
type Stats struct {
	Sessions int
	Running  int // sessions that run code
	Waiting  int // calls that wait for a session's turn
	Clients  int // who have a session
	// Unfetched is how many results nobody has collected yet.
	Unfetched int
	// Memory is the resident size of all workers, in bytes, and Private the
	// part of it, and of their copies, that no other process shares. Of a
	// session that could not be measured in time it has the last known size.
	Memory, Private uint64
	// Starts counts workers since the beginning, by what they were made from:
	// "zygote", "root", "spawn", "branch", "understudy".
	Starts map[string]uint64
	// FailedStarts counts the starts that gave no worker.
	FailedStarts uint64
}

// Origins of workers that are copies of others.
const (
	originBranch     = "branch"
	originUnderstudy = "understudy"
)

// Stats tells how the Manager stands. It waits for no call.
func (m *Manager) Stats(ctx context.Context) Stats {
	m.mu.Lock()
	all := make([]*Session, 0, len(m.sessions))
	for _, s := range m.sessions {
		all = append(all, s)
	}
	stats := Stats{Sessions: len(all), Clients: len(m.owned)}
	m.mu.Unlock()

	stats.Starts, stats.FailedStarts = m.options.tally.read()
	patience, cancel := context.WithTimeout(ctx, statsPatience)
	defer cancel()
	for _, s := range all {
		stats.add(s, patience.Err() == nil)
	}
	return stats
}

// Usage counts the sessions, and those that run code. It waits for no call and
// measures nothing.
func (m *Manager) Usage() (interpreters, running int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, s := range m.sessions {
		if s.runningNow() != nil || !s.turn.idle() {
			running++
		}
	}
	return len(m.sessions), running
}

// add counts one session in.
func (t *Stats) add(s *Session, measure bool) {
	l := s.listing()
	if measure {
		s.measure(&l)
	}
	if l.Running > 0 {
		t.Running++
	}
	t.Waiting += l.Waiting
	t.Unfetched += l.Unfetched
	t.Memory += l.Memory
	t.Private += l.Private
}

// tally counts what happens to all sessions.
type tally struct {
	copying  atomic.Int64 // sessions that are being copied to stand by
	mu       sync.Mutex
	origins  map[string]uint64
	failures uint64
}

func (t *tally) started(origin string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.origins == nil {
		t.origins = map[string]uint64{}
	}
	t.origins[origin]++
}

func (t *tally) failed() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.failures++
}

func (t *tally) read() (origins map[string]uint64, failures uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return maps.Clone(t.origins), t.failures
}

const (
	// mostTail is how much of a run's output a Heartbeat has, in bytes: what is left of it
	// if the server is killed.
	mostTail = 64 << 10
	// mostTails is how much all Heartbeats have together, of many that print much.
	mostTails = 4 << 20
)

// Heartbeat is what a session does at this moment, for who watches from outside.
type Heartbeat struct {
	InterpreterID string
	Client        Client
	Memory        uint64 // resident bytes of its process; 0 if unknown
	Waiting       int    // calls that wait for its turn

	// The rest is zero while nothing runs.
	Execution int
	Code      string
	Started   time.Time
	Limit     time.Duration
	Tail      string // all output, or its end behind a Marker
	// ToolCalls counts its calls of other servers' tools so far, by server.
	ToolCalls map[string]int
	Secrets   []string
}

// Heartbeats tells what each session does now, oldest first. It waits for nothing.
func (m *Manager) Heartbeats() []Heartbeat {
	m.mu.Lock()
	all := make([]*Session, 0, len(m.sessions))
	for _, s := range m.sessions {
		all = append(all, s)
	}
	m.mu.Unlock()
	sortByAge(all)
	heartbeats := make([]Heartbeat, len(all))
	for i, s := range all {
		heartbeats[i] = s.heartbeat(min(mostTail, mostTails/len(all)))
	}
	return heartbeats
}

func (s *Session) heartbeat(room int) Heartbeat {
	s.mu.Lock()
	p := Heartbeat{InterpreterID: s.id, Client: s.client, Waiting: s.turn.queued(), Secrets: s.secrets}
	e, w := s.current, s.worker
	s.mu.Unlock()
	if w != nil {
		p.Memory = w.Resident()
	}
	if e == nil {
		return p
	}
	p.Execution, p.Code, p.Started, p.Limit = e.number, e.request.Code, e.started, e.limit
	p.Tail = e.transcript.SoFar(room)
	p.ToolCalls = e.tools.byServer()
	return p
}
