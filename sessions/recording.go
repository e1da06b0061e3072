package sessions

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"
)

// Recorder is told of all that happens, to keep it. Its methods are called by
// many sessions at once.
type Recorder interface {
	// Begin is told of an execution that has not ended. For a trial it is called
	// before anything of it runs, and its error, an *Error, refuses the trial. Any
	// other execution it hears of when that has run for a moment, or is answered as
	// running; its error is then only told.
	Begin(ctx context.Context, entry Entry) error
	// Record is told of an execution that has ended, before its answer leaves. It
	// returns how a trial is judged, nil for what is none. After an error the
	// answer says that the execution is not recorded; an *Incomplete says that it is,
	// but for some of its files.
	Record(ctx context.Context, entry Entry) (*TrialReport, error)
	// SaveSession is told how an interpreter stands in which nothing runs: that it was made
	// or has ended, or that its state is another than its last execution left. A trial
	// that had begun in it and was not recorded has not run.
	SaveSession(ctx context.Context, standing SessionState) error
}

// Incomplete says that an execution is recorded, but not all that belongs to it.
type Incomplete struct {
	Missing error // what is missing, and why
}

func (e *Incomplete) Error() string { return e.Missing.Error() }

// StateRef names a state of an interpreter: the one that an execution left. The zero
// StateRef is the state before anything ran.
type StateRef struct {
	InterpreterID string `json:"interpreter_id"`
	Execution     int    `json:"execution"`
}

// Entry is one execution as a Recorder gets it.
type Entry struct {
	InterpreterID string
	Execution     int
	Client        Client
	Kind          Kind
	Code          string          // as in Request
	Arguments     json.RawMessage // as in Request
	Started       time.Time
	Limit         time.Duration
	Trial         *Trial // nil for what is no trial

	// Parent is the state that the execution began with, maybe another
	// interpreter's: that of a branch. Record may say an older one than Begin did,
	// where the code crashed and was run once more.
	Parent StateRef
	// Follows is the execution whose outcome the agent had before it: Parent, but
	// after an execution that lost its process, and after the undo of a buggy trial, it
	// is that one.
	Follows StateRef

	// Present is the state of the interpreter once the execution has ended: its own,
	// or what came back or was left after it lost its process.
	Present StateRef

	// Secrets are the values that session variables have or had.
	Secrets []string

	// The rest is there once it has ended. Result has all output and figures, also
	// those that earlier answers handed out.
	Result *Result
	// Printed is the whole of what was printed, by Stream.
	Printed [2]Printed
	// Metric is what a trial that asked for one came to.
	Metric *Metric
	// Python and Refused are as in Outcome.
	Python  *string
	Refused bool
	// Open opens a figure or an artifact of Result for reading, by its path. What it
	// says of its path is the word of the session's code, which the server need not be
	// led by: what is not in the interpreter's private directory is not opened.
	Open func(path string) (*os.File, error)
	// ToolUses are its calls of other servers' tools, in the order in which they ended; not
	// all where there were very many.
	ToolUses []ToolUse
	// Memory is the resident size of its process afterwards, in bytes; 0 if unknown.
	Memory uint64
}

// SessionState is how an interpreter stands.
type SessionState struct {
	InterpreterID string
	Client        Client
	Workdir       string
	Created       time.Time
	Ended         time.Time // zero while it lives
	// Origin is where a branch was made; the zero StateRef for any other.
	Origin StateRef
	// Parent is the interpreter that it was branched from, or "".
	Parent string
	// Secrets are the values that session variables have or had.
	Secrets []string
	// Present is its state now, of one that has ended the last that it had.
	Present StateRef
}

// Trial says of an execution that it is one of an experiment.
type Trial struct {
	Plan          string // what it tries, in the agent's words; may be empty
	Analysis      string // what earlier trials have shown, in its words; may be empty
	MetricVarName string // the variable that measures it; "" when nothing does
	Maximize      bool   // whether more of it is better
}

// Metric is the value of a trial's metric variable: a finite number, or the reason
// why there is none.
type Metric struct {
	Value   *float64
	Problem string // a clause, as "score is nan"
}

// Search is by which policy an experiment tries solutions.
type Search struct {
	Drafts     int     `json:"num_drafts"`      // solutions that differ in kind, to begin with
	DebugDepth int     `json:"max_debug_depth"` // debugs in a row before a line is given up
	DebugProb  float64 `json:"debug_prob"`      // the share of buggy trials that are debugged
}

// The stages of trials.
const (
	StageDraft   = "draft"   // it began without a trial before it
	StageDebug   = "debug"   // the one before it was buggy
	StageImprove = "improve" // the one before it worked
)

// TrialReport is how a trial is judged.
type TrialReport struct {
	Number   int      `json:"number" jsonschema_description:"Number of the trial in its experiment, from 1"`
	Steps    int      `json:"steps,omitempty" jsonschema_description:"How many trials are planned"`
	Stage    string   `json:"stage" jsonschema:"enum=draft,enum=debug,enum=improve" jsonschema_description:"draft without a trial before it, debug after a buggy one, improve after one that worked"`
	Parent   int      `json:"parent,omitempty" jsonschema_description:"The trial that it goes on from"`
	Depth    int      `json:"debug_depth,omitempty" jsonschema_description:"How many trials of stage debug there are in a row, this one the last"`
	Buggy    bool     `json:"buggy" jsonschema_description:"It failed, or gave no finite metric where one was asked for"`
	Why      string   `json:"why,omitempty" jsonschema_description:"Why it is buggy"`
	Name     string   `json:"metric_name,omitempty" jsonschema_description:"Variable that measures it"`
	Metric   *float64 `json:"metric,omitempty" jsonschema_description:"Its value"`
	Maximize *bool    `json:"maximize,omitempty" jsonschema_description:"Whether more is better"`
	// Best is the experiment's best trial so far, which may be this one.
	Best *BestTrial `json:"best,omitempty" jsonschema_description:"The best trial so far"`
}

// BestTrial names the best trial of an experiment.
type BestTrial struct {
	Number        int     `json:"number"`
	InterpreterID string  `json:"interpreter_id"`
	Execution     int     `json:"execution"`
	Metric        float64 `json:"metric"`
	Gone          bool    `json:"gone,omitempty" jsonschema_description:"Its interpreter has ended, or has another state by now"`
}

// unrecordedFor is how long an execution runs before the Recorder hears of it: the
// usual one has ended by then, and is recorded once.
const unrecordedFor = 200 * time.Millisecond

// lineage is where an execution stands among the others; see Entry.
type lineage struct{ parent, follows StateRef }

// lineage says where an execution stands that begins now. The caller has the turn.
func (s *Session) lineage() lineage {
	l := lineage{parent: s.states.ref()}
	l.follows = l.parent
	if s.fatal > 0 {
		l.follows = StateRef{InterpreterID: s.id, Execution: s.fatal}
	}
	return l
}

// entry tells of an execution as far as it is known while it runs.
func (s *Session) entry(e *execution) Entry {
	return Entry{
		InterpreterID: s.id, Execution: e.number, Client: s.owner(), Kind: e.request.Kind,
		Code: e.request.Code, Arguments: e.request.Arguments, Started: e.started, Limit: e.limit,
		Trial: e.trial, Parent: e.lineage.parent, Follows: e.lineage.follows, Secrets: s.secretsNow(),
	}
}

// announce tells the Recorder of a trial that is to begin. The caller has the turn.
func (s *Session) announce(ctx context.Context, e *execution) error {
	if s.options.Recorder == nil || e.trial == nil {
		return nil
	}
	err := s.options.Recorder.Begin(ctx, s.entry(e))
	var refusal *Error
	switch {
	case errors.As(err, &refusal):
		return err
	case ctx.Err() != nil: // it would be stopped at once
		s.withdraw(e)
		return callerGone(ctx, err)
	case err != nil:
		s.log.Error("recording a trial that begins", "execution", e.number, "error", err)
	}
	return nil
}

// mayBeginAfresh asks the Recorder whether it refuses a trial that is to begin with
// no variables, so that none are dropped for it then. The caller has the turn.
func (s *Session) mayBeginAfresh(ctx context.Context, r RunRequest) error {
	e := newExecution(s.ran()+1, r, nil, lineage{})
	defer e.endLife(nil)
	if err := s.announce(ctx, e); err != nil {
		return err
	}
	s.withdraw(e)
	return nil
}

// withdraw tells the Recorder that a trial which was announced does not run.
func (s *Session) withdraw(e *execution) {
	if e.trial != nil {
		s.saveSession()
	}
}

// noteRunning tells the Recorder of an execution that runs for longer, once.
func (s *Session) noteRunning(e *execution) {
	if s.options.Recorder == nil || e.trial != nil {
		return
	}
	e.noted.Do(func() {
		if err := s.options.Recorder.Begin(context.Background(), s.entry(e)); err != nil {
			s.log.Error("recording an execution that runs", "execution", e.number, "error", err)
		}
	})
}

// record tells the Recorder how e has ended. A failure is told in the answer.
func (s *Session) record(e *execution, a attempt, result *Result) {
	if s.options.Recorder == nil {
		return
	}
	e.noted.Do(func() {}) // waits for a telling that has begun
	whole := *result
	whole.fill(e.transcript.Recorded())
	entry := s.entry(e)
	entry.Parent, entry.Present = a.began, s.states.ref()
	entry.Result, entry.Metric, entry.Printed = &whole, a.outcome.Metric, e.transcript.Printed()
	entry.Python, entry.Refused = a.outcome.Python, a.outcome.Refused
	entry.Open = s.openMade
	_, entry.ToolUses = e.tools.finish()
	if w := s.lead(); w != nil {
		entry.Memory = w.Resident()
	}
	report, err := s.options.Recorder.Record(context.Background(), entry)
	var incomplete *Incomplete
	switch {
	case errors.As(err, &incomplete):
		result.note(fmt.Sprintf("not all of this run is in the journal: %v", err))
	case err != nil:
		s.log.Error("recording execution", "execution", e.number, "error", err)
		result.note(fmt.Sprintf("this run is not in the journal: %v", err))
	}
	result.Trial = report
	if report != nil {
		if report.Best != nil {
			best := *report.Best
			best.InterpreterID = entry.Client.Handle(best.InterpreterID)
			report.Best = &best
		}
		s.buggy = 0
		if report.Buggy {
			s.buggy = e.number
		}
	}
}

// introduce tells the Recorder of the session, once and before anything runs in it.
func (s *Session) introduce() { s.introduced.Do(s.saveSession) }

// saveEnded tells the Recorder that the session has ended, if it has heard of it.
func (s *Session) saveEnded() {
	unknown := false
	s.introduced.Do(func() { unknown = true })
	if !unknown {
		s.saveSession()
	}
}

// moved tells the Recorder how the session stands if its state is another than
// before, and no execution has made it so. The caller has the turn.
func (s *Session) moved(before StateRef) {
	if s.states.ref() != before {
		s.saveSession()
	}
}

// saveSession tells the Recorder how the session stands. Nothing runs in it, and nothing
// can begin to: the caller has the turn, or the session is new or has ended.
func (s *Session) saveSession() {
	if s.options.Recorder == nil {
		return
	}
	now := SessionState{
		InterpreterID: s.id, Client: s.owner(), Workdir: s.dirs.Work, Created: s.created,
		Origin: s.origin, Parent: s.parent, Present: s.states.ref(),
		Secrets: s.secretsNow(),
	}
	s.mu.Lock()
	now.Ended = s.endedAt
	s.mu.Unlock()
	if err := s.options.Recorder.SaveSession(context.Background(), now); err != nil {
		s.log.Error("recording how the interpreter stands", "error", err)
	}
}

// secretsNow returns the values that session variables have or had.
func (s *Session) secretsNow() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.secrets
}

// keepSecret adds the values of variables. The caller holds mu.
func (s *Session) keepSecret(variables map[string]string) {
	all := slices.Clone(s.secrets) // readers have the old one
	for _, value := range variables {
		if value != "" && !slices.Contains(all, value) {
			all = append(all, value)
		}
	}
	s.secrets = all
}
