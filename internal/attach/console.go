package attach

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"sync"

	"golang.org/x/term"
)

// errInterrupted is the end of a line by Ctrl-C.
var errInterrupted = errors.New("interrupted")

// console reads lines from a terminal, which it has only while it reads, or from
// any other stream.
type console struct {
	in  *os.File
	out *column

	reading  sync.Mutex // a question of the code's and the prompt take turns
	terminal *term.Terminal
	keys     *keys
	history  *history
	plain    *bufio.Reader // where there is no terminal
}

func openConsole(in *os.File, out io.Writer, historyPath string) *console {
	c := &console{in: in, out: &column{to: out}}
	if term.IsTerminal(int(in.Fd())) {
		c.history = openHistory(historyPath)
		c.renew()
	} else {
		c.plain = bufio.NewReader(in)
	}
	return c
}

// renew begins with an empty line.
func (c *console) renew() {
	c.keys = &keys{in: c.in}
	c.terminal = term.NewTerminal(struct {
		io.Reader
		io.Writer
	}{c.keys, c.out.to}, "")
	c.terminal.History = c.history
	c.terminal.AutoCompleteCallback = indent
}

// indent has the tabulator indent.
func indent(line string, pos int, key rune) (string, int, bool) {
	const step = "    "
	if key != '\t' {
		return line, pos, false
	}
	return line[:pos] + step + line[pos:], pos + len(step), true
}

// line reads a line. At its end it may be io.EOF, or errInterrupted. pasted says
// that it is part of a longer text that was pasted.
func (c *console) line(prompt string, remember bool) (text string, pasted bool, err error) {
	c.reading.Lock()
	defer c.reading.Unlock()
	c.out.freshLine()
	if c.terminal == nil {
		text, err = c.plain.ReadString('\n')
		if text != "" && errors.Is(err, io.EOF) {
			err = nil // a last line without an end
		}
		return strings.TrimRight(text, "\r\n"), false, err
	}
	state, err := term.MakeRaw(int(c.in.Fd()))
	if err != nil {
		return "", false, err
	}
	defer func() { err = errors.Join(err, term.Restore(int(c.in.Fd()), state)) }()
	if width, height, err := term.GetSize(int(c.in.Fd())); err == nil {
		_ = c.terminal.SetSize(width, height) // a prompt that is broken badly, at worst
	}
	c.history.off = !remember
	c.terminal.SetPrompt(prompt)
	c.terminal.SetBracketedPasteMode(true)
	defer c.terminal.SetBracketedPasteMode(false)
	text, err = c.terminal.ReadLine()
	switch {
	case errors.Is(err, term.ErrPasteIndicator):
		return text, true, nil
	case errors.Is(err, io.EOF) && c.keys.interrupted:
		c.renew()
		c.out.print("\r\n") // the terminal is raw still
		return "", false, errInterrupted
	}
	return text, false, err
}

// ask has the person answer a question of the code's.
func (c *console) ask(_ context.Context, question string) (string, error) {
	const lead = "The Python code asks for a line of input: "
	question = strings.TrimPrefix(question, lead)
	if c.terminal != nil {
		c.out.expect(question)
	}
	answer, _, err := c.line(question+" ", false)
	if c.terminal != nil && err == nil {
		c.out.expect(answer + "\n")
	}
	return answer, err
}

// leaveLine ends the line of the prompt.
func (c *console) leaveLine() {
	if c.terminal != nil {
		c.out.print("\n")
	}
}

// keys passes on what is typed, and knows whether the last of it was Ctrl-C: the
// terminal tells its end and Ctrl-D alike.
type keys struct {
	in          io.Reader
	interrupted bool
}

func (k *keys) Read(p []byte) (int, error) {
	n, err := k.in.Read(p)
	k.interrupted = bytes.IndexByte(p[:n], 3) >= 0
	// What was typed while code ran has the line ends of a terminal that isn't raw. One that
	// stands behind a raw one's is no part of it: Enter was pressed again.
	for i := range p[:n] {
		if p[i] == '\n' {
			p[i] = '\r'
		}
	}
	return n, err
}

// column writes what the code prints, and knows whether a line has begun.
type column struct {
	to       io.Writer
	mu       sync.Mutex
	begun    bool
	expected []string // what the code's output repeats
}

// expect leaves a text out once: a question of the code's, or its answer, which
// stand on the screen already.
func (c *column) expect(text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.expected = append(c.expected, text)
}

// expectNothing is for code that has not asked.
func (c *column) expectNothing() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.expected = nil
}

func (c *column) print(text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for len(c.expected) > 0 && strings.Contains(text, c.expected[0]) {
		text, c.expected = strings.Replace(text, c.expected[0], "", 1), c.expected[1:]
	}
	if text == "" {
		return
	}
	_, _ = io.WriteString(c.to, text) // nobody is left to be told
	c.begun = !strings.HasSuffix(text, "\n")
}

// freshLine ends a line that has begun.
func (c *column) freshLine() {
	c.mu.Lock()
	begun := c.begun
	c.mu.Unlock()
	if begun {
		c.print("\n")
	}
}
