package policy

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"time"
)

// Process is a running checker. What is written goes to its standard input, what
// is read comes from its standard output.
type Process interface {
	io.ReadWriteCloser      // Close asks it to end and sees that it does
	Kill()                  // ends it at once
	Ended() <-chan struct{} // closed when it has ended
	LastWords() string      // the end of what it wrote to standard error
}

// question is what a checker is asked, one line of JSON.
type question struct {
	ID     uint64          `json:"id"`
	Kind   string          `json:"kind"`
	Code   string          `json:"code"`
	Policy json.RawMessage `json:"policy"`
}

// verdict is what it answers, one line too.
type verdict struct {
	ID         uint64      `json:"id"`
	Violations []Violation `json:"violations"`
	// SyntaxError is what Python prints of one; then nothing else was looked at.
	SyntaxError *string `json:"syntax_error"`
	// Transformed is the Python that was judged, where that is not the code itself.
	Transformed *string `json:"transformed"`
	// Notes are sentences on what of the code was repaired.
	Notes []string `json:"notes"`
	// Error says why it could not check; the rest means nothing then.
	Error string `json:"error"`
}

// Violation is a place in the code that breaks a rule. Lines and columns count
// from 1, columns in characters.
type Violation struct {
	Line   int    `json:"line"`
	Column int    `json:"column"`
	Source string `json:"source"` // the line, cut
	Rule   string `json:"rule"`
	// Message says what to write instead, or why.
	Message string `json:"message"`
}

// ruleOfMore is the rule of a last violation that stands for more of them.
const ruleOfMore = "more"

// longestAnswer is how many bytes a checker may answer with: far more than its own
// limit of violations gives.
const longestAnswer = 4 << 20

// The reasons for which a check comes to nothing.
var (
	errSlow = errors.New("it took too long")
	errDied = errors.New("the checker died of it")
	errTalk = errors.New("the checker's answer could not be understood")
)

// checker has a process that answers one question at a time. One that has served well
// stays for the next; after any failure the next question gets a fresh one.
type checker struct {
	start  func(context.Context) (Process, error)
	log    *slog.Logger
	limit  time.Duration // of one check
	wait   time.Duration // for a turn
	turn   chan struct{} // holds something while a check is on
	lanes  lanes
	closed chan struct{}

	// What is used by whom has the turn.
	answers *bufio.Reader
	last    uint64 // the id of the last question

	mu      sync.Mutex
	process Process // nil for none
}

// The errors of a check that was not begun.
var (
	errBusy   = errors.New("the checker of code is busy")
	errClosed = errors.New("the server is stopping")
)

// patience is how many times the limit of one check others wait for their turn.
const patience = 4

// large is the code, in bytes, after which a checker makes room for a fresh one:
// Python does not give all the memory back that the tree of so much took.
const large = 256 << 10

// startError says that no checker could be started: there is no Python, for one.
type startError struct{ err error }

func (e *startError) Error() string { return e.err.Error() }

func (e *startError) Unwrap() error { return e.err }

func newChecker(start func(context.Context) (Process, error), limit time.Duration, log *slog.Logger) *checker {
	return &checker{
		start: start, log: log, limit: limit, wait: patience * limit, turn: make(chan struct{}, 1), closed: make(chan struct{}),
		lanes: lanes{of: map[string]*lane{}},
	}
}

// ask has the checker answer a client's question. It waits a while for its turn, as long as
// ctx allows.
func (c *checker) ask(ctx context.Context, who string, q question) (verdict, error) {
	waiting, cancel := context.WithTimeoutCause(ctx, c.wait, errBusy)
	defer cancel()
	leave, err := c.lanes.enter(waiting, who)
	if err != nil {
		return verdict{}, err
	}
	defer leave()
	select {
	case c.turn <- struct{}{}:
		defer func() { <-c.turn }()
	case <-c.closed:
		return verdict{}, errClosed
	case <-waiting.Done():
		return verdict{}, context.Cause(waiting)
	}
	if p := c.idle(); p != nil {
		v, err := c.put(ctx, p, q)
		if !errors.Is(err, errDied) {
			return v, err
		}
		// It may have died of something else, before it was asked.
	}
	p, err := c.fresh(ctx)
	if err != nil {
		return verdict{}, err
	}
	return c.put(ctx, p, q)
}

// lanes let one question of each client wait for its turn at a time: whoever asks many,
// which take long, keeps the others waiting for one of them only.
type lanes struct {
	mu sync.Mutex
	of map[string]*lane
}

type lane struct {
	free  chan struct{} // holds something while nobody is in it
	users int           // in it, and before it
}

// enter waits until a client's lane is free, as long as ctx allows.
func (l *lanes) enter(ctx context.Context, who string) (leave func(), err error) {
	l.mu.Lock()
	own := l.of[who]
	if own == nil {
		own = &lane{free: make(chan struct{}, 1)}
		own.free <- struct{}{}
		l.of[who] = own
	}
	own.users++
	l.mu.Unlock()
	forget := func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if own.users--; own.users == 0 {
			delete(l.of, who)
		}
	}
	select {
	case <-own.free:
		return func() { own.free <- struct{}{}; forget() }, nil
	case <-ctx.Done():
		forget()
		return nil, context.Cause(ctx)
	}
}

// idle returns the process that has served before, nil if it has ended.
func (c *checker) idle() Process {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.process == nil {
		return nil
	}
	select {
	case <-c.process.Ended():
		c.log.Warn("the checker of code has died while it was idle", "stderr", c.process.LastWords())
		c.process = nil
	default:
	}
	return c.process
}

// fresh starts a process.
func (c *checker) fresh(ctx context.Context) (Process, error) {
	p, err := c.start(ctx)
	if err != nil {
		return nil, &startError{err}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.isClosed() {
		p.Kill()
		return nil, errClosed
	}
	c.process, c.answers = p, bufio.NewReader(p)
	return p, nil
}

// put puts the question to the process, which is kept if that went well.
func (c *checker) put(ctx context.Context, p Process, q question) (verdict, error) {
	v, err := c.within(ctx, p, q)
	if err == nil && len(q.Code) <= large && !c.isClosed() {
		return v, nil
	}
	c.mu.Lock()
	c.process = nil
	c.mu.Unlock()
	p.Kill()
	switch {
	case err == nil:
		return v, nil
	case c.isClosed():
		return verdict{}, errClosed
	}
	c.log.Warn("code could not be checked", "error", err, "bytes", len(q.Code), "stderr", p.LastWords())
	return verdict{}, err
}

func (c *checker) isClosed() bool {
	select {
	case <-c.closed:
		return true
	default:
		return false
	}
}

// close ends the process, in good order if nothing is being checked.
func (c *checker) close() {
	c.mu.Lock()
	p := c.process
	if !c.isClosed() {
		close(c.closed)
	}
	c.mu.Unlock()
	select {
	case c.turn <- struct{}{}: // nobody gets it any more
		if p != nil {
			_ = p.Close()
		}
	default:
		if p != nil {
			p.Kill()
		}
	}
}

// within bounds the time of a question: the end of the process ends the writing and the
// reading, on every system.
func (c *checker) within(ctx context.Context, p Process, q question) (v verdict, err error) {
	bounded, cancel := context.WithTimeoutCause(ctx, c.limit, errSlow)
	defer cancel()
	killed := make(chan struct{})
	stop := context.AfterFunc(bounded, func() {
		defer close(killed)
		p.Kill()
	})
	v, err = c.converse(p, q)
	if !stop() {
		<-killed
		return verdict{}, context.Cause(bounded)
	}
	if err != nil {
		p.Kill()
		err = withWords(err, p.LastWords())
	}
	return v, err
}

// withWords adds the last line of what a checker said, as "MemoryError".
func withWords(err error, words string) error {
	if words == "" {
		return err
	}
	return fmt.Errorf("%w: %s", err, words[strings.LastIndexByte(words, '\n')+1:])
}

func (c *checker) converse(p Process, q question) (verdict, error) {
	c.last++
	q.ID = c.last
	line, err := json.Marshal(q)
	if err != nil {
		return verdict{}, err
	}
	if _, err := p.Write(append(line, '\n')); err != nil {
		return verdict{}, fmt.Errorf("%w (%w)", errDied, err)
	}
	answer, err := c.line()
	if err != nil {
		return verdict{}, err
	}
	var v verdict
	if err := json.Unmarshal(answer, &v); err != nil {
		return verdict{}, fmt.Errorf("%w (%w)", errTalk, err)
	}
	if v.ID != q.ID {
		return verdict{}, fmt.Errorf("%w (it is for question %d, not %d)", errTalk, v.ID, q.ID)
	}
	if v.Error != "" {
		return verdict{}, fmt.Errorf("%w (%s)", errTalk, v.Error)
	}
	if v.Violations == nil && v.SyntaxError == nil {
		return verdict{}, fmt.Errorf("%w (it says neither yes nor no)", errTalk)
	}
	return v, nil
}

// line reads one line of bounded length.
func (c *checker) line() ([]byte, error) {
	var line []byte
	for {
		part, err := c.answers.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case err == nil:
			return line, nil
		case len(line) > longestAnswer:
			return nil, fmt.Errorf("%w (it has more than %d bytes)", errTalk, longestAnswer)
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, fmt.Errorf("%w (%w)", errDied, err)
		}
	}
}
