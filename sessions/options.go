package sessions

import (
	"log/slog"
	"path/filepath"
	"time"
)

// Options are the operator's choices for all sessions.
type Options struct {
	Starter  Starter
	Verifier Verifier // nil: all code may run
	Recorder Recorder // nil: nothing is recorded
	Equipper Equipper // nil: there are no plugins
	// Ended, if set, is told how each execution ended, before its answer leaves.
	// The Result has no output: who wants that is a Recorder, for whom it is kept.
	Ended  func(Result)
	Logger *slog.Logger

	// Dir is where each session gets a directory for its output files.
	Dir string
	// Workdir is the working directory that all sessions share. When it is
	// empty each has its own below WorkdirRoot, removed with the session
	// unless KeepWorkdirs. With a Confiner it is in the home of the session's
	// family, which is below WorkdirRoot in any case.
	Workdir      string
	WorkdirRoot  string
	KeepWorkdirs bool

	Timeout    time.Duration // the time limit of a run that names none
	MaxTimeout time.Duration // the highest limit a run may ask for
	Wait       time.Duration // how long a call waits before it answers "running"
	Grace      time.Duration // from the interrupt to the kill

	MaxSessions  int // of all clients together
	MaxPerClient int // of one client; 0 is no limit
	// EndOldest ends the client's own least recently used idle session when
	// another would pass one of the two limits.
	EndOldest bool
	Queue     int           // calls that may wait for one session's turn
	IdleTTL   time.Duration // idle sessions end after it; 0 is never
	// AbandonedTTL is the same for sessions that belong to nobody.
	AbandonedTTL time.Duration
	// InterruptOnLeave interrupts what runs for a client that has left.
	InterruptOnLeave bool

	// History is how many executions of a session can be undone: a copy of
	// its process is kept for each.
	History int

	OutputLimit int   // bytes of each stream kept in memory
	SpoolAfter  int   // bytes a stream may print before it gets a file
	SpoolLimit  int64 // bytes of each stream kept on disk
	// PrintLimit is how many bytes an execution may print before it is ended like at
	// its time limit; 0 is no limit.
	PrintLimit int64
	// MemoryLimit is what the Starter lets an interpreter use, in bytes, for what is
	// said of a MemoryError; 0 is no limit.
	MemoryLimit int64
	// DiskLimit is how many bytes of the disk the files of a family may take when a
	// branch gets its copy of them; 0 is no limit. What code writes is the Starter's
	// matter.
	DiskLimit int64

	RerunAfterCrash bool

	// SessionVariables are those that each session begins with.
	SessionVariables map[string]string
	// MaxRetries is how many executions of a session may fail one after another
	// before the agent is told to stop and ask; 0 never tells.
	MaxRetries int

	tally *tally // the Manager's
	homes *homes // likewise
}

// confiner returns who makes the sessions' walls, nil where there are none.
func (o *Options) confiner() Confiner {
	if c, ok := o.Starter.(Confiner); ok && c.Confines() {
		return c
	}
	return nil
}

// ownWorkdir is the path of the working directory of a session that shares none.
func (o *Options) ownWorkdir(family, id string) string {
	if o.confiner() == nil {
		return filepath.Join(o.WorkdirRoot, keyOf(id))
	}
	return filepath.Join(o.WorkdirRoot, homeName(family), keyOf(id))
}

// waiting says in a clause what the start of a worker waits for now, "" for nothing
// but its process.
func (o *Options) waiting() string {
	if w, ok := o.Starter.(Waiter); ok {
		return w.Waiting()
	}
	return ""
}
