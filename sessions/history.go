package sessions

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"understudy/sessions/output"
)

// Bounds of what a session remembers of its executions. The newest is always
// kept, and the oldest go first.
const (
	keptExecutions = 100
	keptMemory     = 4 << 20 // bytes of code, results and short outputs
	keptSpools     = 4       // times SpoolLimit of the files of long outputs
)

// history are the last executions of a session, the running one included.
type history struct {
	mu  sync.Mutex
	all []*execution // oldest first
}

// Record is an execution as it is remembered. Its Stdout and Stderr hold the
// ends of what was printed in all, whichever answer had it.
type Record struct {
	Code    string    `json:"code"`
	Started time.Time `json:"started"`
	Result
}

// Brief tells of an execution what is cheap to tell.
type Brief struct {
	Execution int
	Status    Status
	Started   time.Time
	output.Inventory
}

func (h *history) add(e *execution) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.all = append(h.all, e)
}

// forget takes out, oldest first, what there is no more room for, and returns it. An answer
// that nobody has yet may name its files: that execution stays until one has ended after it.
func (h *history) forget(spoolLimit int64) (forgotten []*execution) {
	h.mu.Lock()
	defer h.mu.Unlock()
	kept, memory, spooled := 0, 0, int64(0)
	for _, e := range slices.Backward(h.all) {
		memory, spooled = memory+e.memory, spooled+e.spooled
		if kept > 0 && (kept == keptExecutions || memory > keptMemory || spooled > keptSpools*spoolLimit) {
			break
		}
		kept++
	}
	over := len(h.all) - kept
	h.all = slices.DeleteFunc(h.all, func(e *execution) bool {
		over--
		if over >= 0 && e.isCollected() {
			forgotten = append(forgotten, e)
			return true
		}
		return false
	})
	return forgotten
}

// list returns the executions, oldest first.
func (h *history) list() []*execution {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.all)
}

func (h *history) find(number int) *execution {
	for _, e := range h.list() {
		if e.number == number {
			return e
		}
	}
	return nil
}

// remember keeps e, which is over, and forgets what there is no more room for.
func (s *Session) remember(e *execution) {
	memory, spooled := e.transcript.Held()
	s.history.mu.Lock()
	e.memory, e.spooled = len(e.request.Code)+e.reported+memory, spooled
	s.history.mu.Unlock()
	for _, old := range s.history.forget(s.options.SpoolLimit) {
		if err := os.RemoveAll(s.executionDir(old.number)); err != nil {
			s.log.Warn("removing the output of an old execution", "execution", old.number, "error", err)
		}
	}
}

// visitor says whether a visit counts as use, so that the session is not idle.
type visitor bool

const (
	aUser    visitor = true
	aWatcher visitor = false
)

// visit keeps the session's files where they are until leave is called. The
// context ends with the session.
func (s *Session) visit(ctx context.Context, v visitor) (visiting context.Context, leave func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended || s.evictReason != "" {
		return nil, nil, s.missing()
	}
	if v == aUser {
		s.used = time.Now()
	}
	s.running.Add(1)
	visiting, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(s.life, cancel)
	return visiting, func() {
		stop()
		cancel()
		s.running.Done()
	}, nil
}

// Own returns the ids of the client's sessions, oldest first. An anonymous
// client, "", has none that could be told from others'.
func (m *Manager) Own(client Client) []string {
	if client == "" {
		return nil
	}
	own := m.ownedBy(client)
	sortByAge(own)
	ids := make([]string, len(own))
	for i, s := range own {
		ids[i] = s.name
	}
	return ids
}

// Interpreter describes one session, without what takes time to measure. Its errors are
// CodeInvalid and CodeNotFound.
func (m *Manager) Interpreter(client Client, id string) (Listing, error) {
	s, err := m.seen(client, id)
	if err != nil {
		return Listing{}, err
	}
	return m.describe(s), nil
}

// Executions tells of the executions that the session remembers, oldest first. Its errors
// are CodeNotFound.
func (m *Manager) Executions(client Client, id string) ([]Brief, error) {
	s, err := m.seen(client, id)
	if err != nil {
		return nil, err
	}
	var briefs []Brief
	for _, e := range s.history.list() {
		briefs = append(briefs, e.brief())
	}
	return briefs, nil
}

// Brief tells of one execution of the session. Its errors are CodeNotFound.
func (m *Manager) Brief(client Client, id string, number int) (Brief, error) {
	_, e, err := m.remembered(client, id, number)
	if err != nil {
		return Brief{}, err
	}
	return e.brief(), nil
}

// remembered finds an execution of a session of the client's.
func (m *Manager) remembered(client Client, id string, number int) (*Session, *execution, error) {
	s, err := m.seen(client, id)
	if err != nil {
		return nil, nil, err
	}
	e := s.history.find(number)
	if e == nil {
		return nil, nil, s.forgotten(number)
	}
	return s, e, nil
}

// forgotten says that an execution is not remembered, and which are.
func (s *Session) forgotten(number int) error {
	all := s.history.list()
	if len(all) == 0 {
		return Errorf(CodeNotFound, "execution %d of interpreter %s is not kept: nothing has run in it yet", number, s.name)
	}
	return Errorf(CodeNotFound, "execution %d of interpreter %s is not kept; executions %d to %d are", number, s.name, all[0].number, all[len(all)-1].number)
}

func (e *execution) brief() Brief {
	status := e.soFar("").Status
	if r := e.outcome(); r != nil {
		status = r.Status
	}
	return Brief{Execution: e.number, Status: status, Started: e.started, Inventory: e.transcript.Inventory()}
}

// outcome returns the result, nil while the execution runs.
func (e *execution) outcome() *Result {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.result
}

// Execution returns the record of an execution. It takes nothing from the calls
// that wait for its answer. Its errors are CodeNotFound.
func (m *Manager) Execution(client Client, id string, number int) (*Record, error) {
	s, e, err := m.remembered(client, id, number)
	if err != nil {
		return nil, err
	}
	_, leave, err := s.visit(context.Background(), aUser)
	if err != nil {
		return nil, err
	}
	defer leave()
	record := &Record{Code: e.request.Code, Started: e.started, Result: *e.soFar(s.name)}
	if r := e.outcome(); r != nil {
		record.Result = *r
	}
	i := e.transcript.Inventory()
	record.Figures, record.Artifacts = i.Figures, i.Artifacts
	for _, figure := range record.Figures {
		record.FigStoragePath = append(record.FigStoragePath, figure.Path)
	}
	record.Stdout, record.StdoutTruncated, err = e.transcript.Ends(Stdout)
	if err == nil {
		record.Stderr, record.StderrTruncated, err = e.transcript.Ends(Stderr)
	}
	if err != nil {
		return nil, s.unrecalled(e, err)
	}
	return record, nil
}

// Output reads what an execution printed on one stream, which grows while it runs. Its
// errors are CodeNotFound, CodeInvalid and CodeLimit, the latter two for the Range.
func (m *Manager) Output(ctx context.Context, client Client, id string, number int, stream Stream, r Range) (*Page, error) {
	s, e, err := m.remembered(client, id, number)
	if err != nil {
		return nil, err
	}
	ctx, leave, err := s.visit(ctx, aUser)
	if err != nil {
		return nil, err
	}
	defer leave()
	running := e.outcome() == nil
	page, err := e.transcript.Read(ctx, stream, r)
	if err != nil {
		return nil, s.unrecalled(e, err)
	}
	page.Running = running
	return page, nil
}

// unrecalled says why what e printed can't be read.
func (s *Session) unrecalled(e *execution, err error) error {
	gone := errors.Is(err, fs.ErrNotExist)
	switch {
	case gone && s.history.find(e.number) == nil:
		return s.forgotten(e.number)
	case gone, errors.Is(err, output.ErrChanged):
		return Errorf(CodeNotFound, "the output of execution %d was changed from outside and can't be read any more", e.number)
	}
	return rangeError(err)
}

// rangeError gives an error of reading a Range its code: CodeInvalid where the Range is
// wrong, CodeLimit where one read does not come that far.
func rangeError(err error) error {
	var refused *output.RangeError
	switch {
	case !errors.As(err, &refused):
		return err
	case refused.TooFar:
		return Errorf(CodeLimit, "%s", refused.Reason)
	default:
		return Errorf(CodeInvalid, "%s", refused.Reason)
	}
}

func (s *Session) newTranscript(number int) *output.Transcript {
	o := s.options.output()
	o.Images = s.images
	return output.NewTranscript(s.executionDir(number), o)
}

func (s *Session) executionDir(number int) string {
	return filepath.Join(s.outputs, "executions", fmt.Sprint(number))
}

// Figure reads a figure that the session showed, in full resolution, if it has
// at most most bytes. The name is that of its file, without directories. Its errors are
// CodeNotFound and CodeLimit.
func (m *Manager) Figure(ctx context.Context, client Client, id, name string, most int64) (f *File, figure Figure, err error) {
	f, err = m.readMade(ctx, client, id, "shown", "figure", name, Range{}, most, func(e *execution) (path string) {
		for _, shown := range e.transcript.Inventory().Figures {
			if filepath.Base(shown.Path) == name {
				figure, path = shown, shown.Path
			}
		}
		return path
	})
	return f, figure, err
}

// Artifact reads an artifact that the session has kept: the whole of one that has
// at most most bytes, or the lines that r asks for. Of several of a name it is the
// newest, which has taken the place of the others. Its errors are CodeNotFound, CodeLimit
// and, for r, CodeInvalid.
func (m *Manager) Artifact(ctx context.Context, client Client, id, name string, r Range, most int64) (f *File, artifact Artifact, err error) {
	f, err = m.readMade(ctx, client, id, "kept", "artifact", name, r, most, func(e *execution) (path string) {
		for _, kept := range e.transcript.Inventory().Artifacts {
			if kept.Name == name {
				artifact, path = kept, kept.Path
			}
		}
		return path
	})
	return f, artifact, err
}

// readMade reads a file that an execution has made: the newest one whose path an execution
// gives. done says what the session does with what it makes.
func (m *Manager) readMade(ctx context.Context, client Client, id, done, what, name string, r Range, most int64, pathOf func(*execution) string) (*File, error) {
	ctx, s, root, leave, err := m.enterFiles(ctx, client, id, aUser, false)
	if err != nil {
		return nil, err
	}
	defer leave()
	path := ""
	for _, e := range slices.Backward(s.history.list()) {
		if path = pathOf(e); path != "" {
			break
		}
	}
	if path == "" {
		return nil, Errorf(CodeNotFound, "interpreter %s has %s no %s %.200q among the executions that are kept", s.name, done, what, name)
	}
	local, err := s.dirs.Local(path)
	if err != nil {
		return nil, Errorf(CodeNotFound, "%s %q is not among the files that the server made for the interpreter", what, name)
	}
	f, err := s.readFile(ctx, root, local, r, most)
	switch CodeOf(err) {
	case CodeNotFound:
		return nil, Errorf(CodeNotFound, "the file of %s %q is gone", what, name)
	case CodeLimit:
		return nil, Errorf(CodeLimit, "%w; its file is %s", err, path)
	}
	if err == nil && f.Page != nil {
		f.Page.Path = path
	}
	return f, err
}

// openMade opens a file of which an execution says that it has made it. That is the
// word of the session's code: nothing outside of the private directory is opened.
func (s *Session) openMade(path string) (*os.File, error) {
	local, err := s.dirs.Local(path)
	if err != nil {
		return nil, err
	}
	root, err := s.openDir(false)
	if err != nil {
		return nil, err
	}
	file, _, err := s.openRegular(root, local)
	return file, errors.Join(err, root.Close())
}
