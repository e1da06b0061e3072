package attach

import (
	"bufio"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
)

//go:embed whole.py
var wholeScript string

// parser judges whether lines are a whole piece of code, by the session's own
// Python: what is whole differs between versions.
type parser struct {
	cmd *exec.Cmd // nil where there is no Python to ask
	to  io.WriteCloser
	by  *bufio.Reader
}

// pythonOf returns the program that an interpreter runs, "" if it can't be told.
func pythonOf(pid int) string {
	if path, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid)); pid > 0 && err == nil {
		return path
	}
	path, err := exec.LookPath("python3")
	if err != nil {
		return ""
	}
	return path
}

func newParser(python string) *parser {
	p := &parser{}
	if python == "" {
		return p
	}
	cmd := exec.Command(python, "-I", "-S", "-X", "utf8", "-c", wholeScript)
	to, err := cmd.StdinPipe()
	if err != nil {
		return p
	}
	by, err := cmd.StdoutPipe()
	if err != nil || cmd.Start() != nil {
		return p
	}
	return &parser{cmd, to, bufio.NewReader(by)}
}

// isWhole reports whether code can be run as it is: no line is missing.
func (p *parser) isWhole(code string) bool {
	last := code[strings.LastIndexByte(code, '\n')+1:]
	blank := strings.TrimSpace(last) == ""
	if strings.HasPrefix(strings.TrimSpace(code), "%%") { // the magic's body ends with an empty line
		return blank
	}
	if p.cmd != nil {
		question, _ := json.Marshal(code) // a string
		_, _ = p.to.Write(append(question, '\n'))
		var whole bool
		if line, err := p.by.ReadBytes('\n'); err == nil && json.Unmarshal(line, &whole) == nil {
			return whole
		}
	}
	// Nobody to ask: a block ends with an empty line, one line by itself.
	return blank || !strings.Contains(code, "\n") && !strings.HasSuffix(strings.TrimSpace(last), ":")
}

func (p *parser) close() {
	if p.cmd != nil {
		_ = p.to.Close()
		_ = p.cmd.Wait()
	}
}
