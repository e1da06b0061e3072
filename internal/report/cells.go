package report

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"understudy/internal/journal"
	"understudy/internal/phrase"
	"understudy/sessions"
)

// Cell is an execution as something that can be run again, as in a notebook.
type Cell struct {
	Execution journal.Execution
	// Code is what a notebook runs: the code with its magics, a plugin's call in
	// Python, a command behind "!" or below "%%bash".
	Code string
	// Failed says that it ended with an exception, at its time limit, by an interrupt,
	// or with another exit code than 0. What comes behind it was run all the same.
	Failed bool
	// Refused says that nothing of it ran, as it is no Python. A notebook refuses it too.
	Refused bool
	// Skipped says that it must not be run again: it has not ended, or its process was
	// lost with all that it had done there.
	Skipped bool
	// Note is a sentence for people about what is special with it, or "".
	Note string
}

// newCells makes cells of executions, as of a line of Reader.Line, one of each.
func newCells(line []journal.Execution) []Cell {
	cells := make([]Cell, len(line))
	for i, e := range line {
		cells[i] = newCell(e)
	}
	return cells
}

func newCell(e journal.Execution) Cell {
	c := Cell{Execution: e, Code: e.Code, Failed: e.Status != sessions.StatusOK}
	switch e.Kind {
	case sessions.RunsPlugin:
		c.Code = pluginCall(e.Code, e.Arguments)
		c.Note = fmt.Sprintf("It calls the plugin %s, which must be there.", e.Code)
	case sessions.RunsCommand:
		c.Code = commandMagic(e.Code)
	}
	switch e.Status {
	case sessions.StatusRunning:
		c.Skipped, c.Note = true, "It has not ended yet."
	case journal.StatusLost:
		c.Skipped, c.Note = true, "Its server was killed while it ran."
		if took(e) != "" {
			c.Note = fmt.Sprintf("Its server was killed while it ran; it had run for %s, and what it had printed by then is all that is known.", took(e))
		}
	case sessions.StatusCrashed:
		c.Skipped, c.Note = true, "It crashed its process, and left nothing behind."
	case sessions.StatusError:
		c.Refused = e.Detail != nil && (e.Detail.Refused || e.Detail.Python == nil && neverRan(e))
		if c.Refused && !slices.Contains(syntaxErrors, e.Detail.Record.ExcType) {
			c.Skipped, c.Note = true, refusal(e) // IPython would run what is above the magic
		}
	case sessions.StatusTimeout:
		c.Skipped, c.Note = lostProcess(e), ended(e, "was ended at its time limit")
	case sessions.StatusInterrupted:
		c.Skipped, c.Note = lostProcess(e), ended(e, "was interrupted")
	}
	return c
}

// neverRan reports whether code was refused as a whole, of versions that did not tell: it
// can't be compiled, or has a magic that is not there. Such an exception has no traceback,
// nor a frame but the one of a syntax error.
func neverRan(e journal.Execution) bool {
	if e.Kind != sessions.RunsCode || e.Detail.Record.Traceback == "" {
		return false
	}
	r := e.Detail.Record
	if strings.Contains(r.Traceback, "Traceback (most recent call last)") || strings.Contains(r.Traceback, "(its description failed") {
		return false
	}
	return len(r.ExcStack) == 0 || slices.Contains(syntaxErrors, r.ExcType)
}

var syntaxErrors = []string{"SyntaxError", "IndentationError", "TabError"}

func refusal(e journal.Execution) string { return fmt.Sprintf("Nothing of it ran (%s).", failure(e)) }

// ended says how an execution was ended from outside, and what it left.
func ended(e journal.Execution, how string) string {
	left := "and was seen to change no variables, though maybe what is within them, or files"
	switch {
	case lostProcess(e):
		left = "and its process with it"
	case e.Kind == sessions.RunsCommand:
		left = "and may have changed files"
	case e.Changed:
		left = "and had changed variables, which may differ in another run"
	}
	return fmt.Sprintf("It %s after %s, %s.", how, phrase.Short(e.ExecTime), left)
}

// lostProcess says whether an execution's process ended with it.
func lostProcess(e journal.Execution) bool {
	return e.Detail != nil && e.Detail.Record.RestartReason != ""
}

// commandMagic is a command of the shell as a notebook runs it. Behind "!" Python's values
// would be put into it.
func commandMagic(command string) string {
	if strings.ContainsAny(command, "\n{$") {
		return "%%bash\n" + command
	}
	return "!" + command
}

// pluginCall is the call of a plugin as Python, its arguments in the order of their names.
func pluginCall(name string, arguments json.RawMessage) string {
	var values map[string]json.RawMessage
	_ = json.Unmarshal(arguments, &values) // without arguments it is empty
	var pieces []string
	for _, key := range slices.Sorted(maps.Keys(values)) {
		pieces = append(pieces, key+"="+jsonToken.ReplaceAllStringFunc(string(values[key]), pythonToken))
	}
	return name + "(" + strings.Join(pieces, ", ") + ")"
}

// jsonToken finds what JSON writes otherwise than Python.
var jsonToken = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|true|false|null`)

func pythonToken(token string) string {
	if word, ok := map[string]string{"true": "True", "false": "False", "null": "None"}[token]; ok {
		return word
	}
	var text string
	_ = json.Unmarshal([]byte(token), &text)
	return strconv.Quote(text)
}
