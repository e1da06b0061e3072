package policy

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
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

// checker is a process that answers one question at a time.
type checker struct {
	process Process
	answers *bufio.Reader
	last    uint64 // the id of the last question
}

func newChecker(p Process) *checker {
	return &checker{process: p, answers: bufio.NewReader(p)}
}

// alive reports whether the process has not ended yet, as far as is known.
func (c *checker) alive() bool {
	select {
	case <-c.process.Ended():
		return false
	default:
		return true
	}
}

// ask puts the question. After an error, ctx's among them, the checker is dead.
func (c *checker) ask(ctx context.Context, q question, limit time.Duration) (v verdict, err error) {
	bounded, cancel := context.WithTimeoutCause(ctx, limit, errSlow)
	defer cancel()
	// Its end ends the writing and the reading, on every system.
	killed := make(chan struct{})
	stop := context.AfterFunc(bounded, func() {
		defer close(killed)
		c.process.Kill()
	})
	v, err = c.converse(q)
	if !stop() {
		<-killed
		return verdict{}, context.Cause(bounded)
	}
	if err != nil {
		c.process.Kill()
		err = withWords(err, c.process.LastWords())
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

func (c *checker) converse(q question) (verdict, error) {
	c.last++
	q.ID = c.last
	line, err := json.Marshal(q)
	if err != nil {
		return verdict{}, err
	}
	if _, err := c.process.Write(append(line, '\n')); err != nil {
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
