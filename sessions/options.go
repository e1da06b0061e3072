package sessions

import (
	"context"
	"log/slog"
	"time"

	"understudy/sessions/output"
	"understudy/sessions/workdir"
)

// Options are the operator's choices for all sessions.
type Options struct {
	Starter  Starter
	Verifier Verifier // nil: all code may run
	Recorder Recorder // nil: nothing is recorded
	Equipper Equipper // nil: there are no plugins
	Toolbox  Toolbox  // nil: code reaches no other MCP servers
	// MaxToolCalls is how many calls of their tools one run may make.
	MaxToolCalls int
	// Ended, if set, is told how each execution ended, before its answer leaves.
	// The Result has no output: who wants that is a Recorder, for whom it is kept.
	Ended func(Result)
	// Trace, if set, is told that an execution begins: with the context of the call that
	// began it, and that of its life, which it may add to. What it returns is told how the
	// execution ended, as Ended is, unless it could not begin.
	Trace  func(call, life context.Context, interpreterID string, execution int) (context.Context, func(Result))
	Logger *slog.Logger

	// Dir is where each session gets a directory for its whole outputs, which only the
	// server reaches.
	Dir string
	// Workdir is the working directory that all sessions share, made where it is not
	// there, and never removed. When it is empty each has its own below WorkdirRoot,
	// removed with the session unless KeepWorkdirs.
	Workdir string
	// Tenancy, if set, says a sentence of whom this server is for, and of what was lost
	// before it began: the first answer says it, and one to an id that is not known says
	// what was lost. Either is "" where there is nothing to say.
	Tenancy func() (introduction, lost string)
	// Locate, if set, is asked where Workdir is, once, by the first call that needs a
	// session. The note, if any, is told with that session's first answer.
	Locate func(ctx context.Context) (workdir, note string)
	// WorkdirRoot is where the sessions' own directories are: that for figures,
	// artifacts and the code file, which each has, and the working directory. With
	// an Isolator they are in the home of the session's group, which is below it.
	WorkdirRoot  string
	KeepWorkdirs bool // with all that the session has kept
	// KeepFiles keeps what answers have named, figures, artifacts and whole outputs,
	// when a session ends.
	KeepFiles bool

	Timeout    time.Duration // the time limit of a run that names none; 0 is no limit
	MaxTimeout time.Duration // the highest limit a run may ask for; 0 is no limit
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
	// Conversation names the client's conversation that a call belongs to, "" for
	// none. Each has a default session of its own; nil: clients have one.
	Conversation func(context.Context) string
	// Origin says where a call without authentication comes from, "process:…" or "user:…"
	// of this machine, which one client's many names and MCP sessions share, else an
	// address; "" where it isn't known. nil: it never is.
	Origin func(context.Context) string
	// HasEnded reports whether an origin is a process that has ended; nil: none has.
	HasEnded func(origin string) bool
	// NeedsHandle reports whether the client has no default session, so that each
	// of its calls must name one; nil: none needs to.
	NeedsHandle func(Client) bool
	// InterruptOnLeave interrupts what runs for a client that has left.
	InterruptOnLeave bool

	// History is how many executions of a session can be undone: a copy of
	// its process is kept for each.
	History int
	// CopyShare is the largest share of a session's time that making copies may take
	// while calls follow one another at once, up to 1; 0 is no bound.
	CopyShare float64
	// CopyIdle is how long a session is idle before the copy of its present state is let
	// go, until the next call comes; 0 is for ever.
	CopyIdle time.Duration

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

	// CheckPython says whether a session can have the Python of that name, as an *Error of
	// CodeInvalid with the names that it could have; nil where there is one Python only.
	CheckPython func(ctx context.Context, name string) error

	RerunAfterCrash bool

	// SessionVariables are those that each session begins with.
	SessionVariables map[string]string
	// MaxRetries is how many executions of a session may fail one after another
	// before the agent is told to stop and ask; 0 never tells.
	MaxRetries int

	// RemakeRoot makes what WorkdirRoot is in anew, when somebody has removed it under
	// the server; nil: the directories above it need nothing else than to be there.
	RemakeRoot func() error

	tally *tally // the Manager's
	roots *workdir.Roots
	// images is the room for those of all sessions; likewise.
	images *output.ImageRoom
}

// output says how much of an execution's output is kept.
func (o *Options) output() output.Options {
	return output.Options{
		Limit: o.OutputLimit, SpoolAfter: o.SpoolAfter, SpoolLimit: o.SpoolLimit,
		PrintLimit: o.PrintLimit,
	}
}

// newRoots returns where sessions' directories are.
func (o *Options) newRoots() *workdir.Roots {
	roots := &workdir.Roots{Options: workdir.Options{
		Root: o.WorkdirRoot, Remake: o.RemakeRoot, Shared: o.Workdir,
		KeepWorkdirs: o.KeepWorkdirs, KeepFiles: o.KeepFiles, DiskLimit: o.DiskLimit, Logger: o.Logger,
	}}
	if i, ok := o.Starter.(Isolator); ok && i.Confines() {
		roots.Isolator = i
	}
	return roots
}

// waiting says in a clause what the start of a worker waits for now, "" for nothing
// but its process.
func (o *Options) waiting() string {
	if w, ok := o.Starter.(Waiter); ok {
		return w.Waiting()
	}
	return ""
}
