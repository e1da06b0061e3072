package answer

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"understudy/internal/phrase"
	"understudy/internal/screen"
	"understudy/sessions"
)

// leastText is the budget, in characters, below which a text can't hold an error
// and the closing line.
const leastText = 1000

// longestName is how many characters of a class's name are shown.
const longestName = 200

// view is a result on its way to the text that a model reads. Output comes
// first and is cut first; what follows it is short or has its own share of
// the budget, so that error, hints and closing line are never cut away.
type view struct {
	*sessions.Result
	Call
	seen     []screen.Piece // printed, worked out once; nil: not yet
	pictures []picture      // of the exhibits; nil: all are shown
	budget   int            // characters
	cut      *[2]bool       // by Stream, whether text left some of it out; nil: nobody asks
}

// text is what the model reads.
func (v view) text() string {
	notes, _ := Cut(NoteLines(v.Notes), v.budget/8, 0)
	tail := Sections(v.failure(), notes, v.shown(), v.variableLine(), v.running(), v.handle(), v.trial(), v.failures(), v.closing())
	labels := 100 + len(v.Heading) // "[stderr]", "[result] …"
	between := v.between()
	room := max(0, v.budget-utf8.RuneCountInString(between)-utf8.RuneCountInString(tail)-labels-len(v.Variable)-len(v.typeName()))

	value := v.valueText()
	output := characters(v.printed())
	if v.lost() != [2]bool{} || output+utf8.RuneCountInString(value) > room {
		room = max(0, room-len(v.whole([2]bool{true, true})))
	}
	value, _ = Cut(value, affordable(value, max(room/4, room-output)), 0)
	room = max(0, room-utf8.RuneCountInString(value))

	text := Sections(v.Heading, between, v.output(room), v.valueSection(value), tail)
	if text == "" {
		return "[" + string(v.Status) + "]"
	}
	return text
}

// fitBytes lowers the budget until the text travels in at most size bytes. A
// text that has nothing left to cut stays longer.
func (v *view) fitBytes(size int) {
	const worst = 6 // bytes of a character, as \u001b
	for v.budget > leastText && 2*worst*v.budget > size {
		needed := Size(v.text())
		if needed <= size {
			return
		}
		v.budget = max(leastText, min(v.budget, needed)*max(0, size)/needed*9/10)
	}
}

// Sections puts one section below the other.
func Sections(parts ...string) string {
	var b strings.Builder
	for _, part := range parts {
		if part == "" {
			continue
		}
		if b.Len() > 0 && !strings.HasSuffix(b.String(), "\n") {
			b.WriteByte('\n')
		}
		b.WriteString(part)
	}
	return b.String()
}

// valueText is the value of the variable that was asked for: JSON on one line,
// or the repr as it is.
func (v view) valueText() string {
	if v.Result.Result == nil {
		return ""
	}
	var repr string
	if v.ResultEncoding == "repr" && json.Unmarshal(v.Result.Result, &repr) == nil {
		return repr
	}
	var compact bytes.Buffer
	if json.Compact(&compact, v.Result.Result) != nil {
		return string(v.Result.Result)
	}
	return compact.String()
}

func (v view) valueSection(value string) string {
	if value == "" {
		return ""
	}
	label := v.Variable
	if label != "" && v.ResultType != "" {
		label += ": "
	}
	return strings.TrimSpace("[result] "+label+v.typeName()) + "\n" + value
}

// typeName is the type of the value. A class may have any name.
func (v view) typeName() string { return Clip(v.ResultType, longestName) }

// failure says in words what went wrong and what is left of the state, with
// Python's traceback, and the exit code of a command.
func (v view) failure() string {
	trace, _ := Cut(folded(strings.TrimRight(v.Traceback, "\n")), v.budget/2, 0)
	if trace == "" && v.Status == sessions.StatusError {
		trace = v.exception()
	}
	if trace != "" && v.Status == sessions.StatusError {
		trace = "[error]\n" + trace
	}
	exit := ""
	if v.ExitCode != nil && *v.ExitCode != 0 {
		exit = fmt.Sprintf("[exit code] %d", *v.ExitCode)
	}
	return Sections(v.ending(), v.stateLine(), trace, exit)
}

// subject is what was run, in a word.
func (v view) subject() string {
	switch v.Kind {
	case sessions.RunsCommand:
		return "command"
	case sessions.RunsInstall:
		return "installation"
	}
	return "code"
}

// exception is the last line that a traceback would have.
func (v view) exception() string {
	if v.ExcInfo == nil || v.ExcInfo.Msg == "" {
		return Clip(v.ExcType, longestName)
	}
	return Clip(v.ExcType, longestName) + ": " + Clip(v.ExcInfo.Msg, 2000)
}

// ending tells of an end that was not the code's own.
func (v view) ending() string {
	switch v.Status {
	case sessions.StatusTimeout:
		next := "pass a larger timeout or do less at a time"
		if v.Kind == sessions.RunsInstall { // which takes none
			next = "install fewer packages at a time, or ask the user to raise --timeout"
		}
		return fmt.Sprintf("[timeout] The %s was stopped at its time limit of %s; %s.", v.subject(), phrase.Duration(sessions.SecondsOf(v.TimeLimit)), next)
	case sessions.StatusInterrupted:
		return fmt.Sprintf("[interrupted] The %s was interrupted after %s.", v.subject(), phrase.Duration(sessions.SecondsOf(v.ExecTime)))
	case sessions.StatusCrashed:
		return fmt.Sprintf("[crashed] The Python process died while it ran the %s.", v.subject())
	}
	return ""
}

// isLost reports whether the variables are gone, or some of them. A restart that says
// nothing of them counts as a loss: no state is claimed that the record doesn't.
func (v view) isLost() bool {
	if v.StateRestored == nil {
		return v.InterpreterRestarted
	}
	return !*v.StateRestored
}

// stateLine says whether the process and the variables are still there.
func (v view) stateLine() string {
	reason := cmp.Or(Clip(strings.TrimRight(strings.TrimSpace(v.RestartReason), "."), 2000), "its process ended")
	stopped := v.Status == sessions.StatusTimeout || v.Status == sessions.StatusInterrupted
	switch {
	case v.Undone && v.Status != sessions.StatusCrashed && v.Kind != sessions.RunsCommand:
		return "[state] " + undone
	case v.InterpreterRestarted && v.RestartedBeforeRun && !v.Undone:
		return "[restarted] The interpreter was restarted before this code ran: " + reason + ". " + v.found() + " What this code did is kept."
	case v.InterpreterRestarted:
		return "[restarted] The interpreter was restarted: " + reason + ". " + v.found()
	case v.isLost():
		return "[no interpreter] The interpreter has ended: " + reason + ". " + v.found()
	case stopped && v.Kind == sessions.RunsCommand:
		return "[state] Nothing of the command runs any more; files are as it left them."
	case stopped:
		return "[state] Variables are kept."
	}
	return ""
}

// undone is said of a run in whose place another state has come since.
const undone = "What this code did to the variables is gone: the interpreter was restarted, reset or undone since."

// found says what an interpreter has that was restarted. That of a command has no state but
// its files.
func (v view) found() string {
	switch {
	case v.Kind == sessions.RunsCommand:
		return "What ran in its background has ended; files are as they were left."
	case v.Undone:
		return undone
	case v.isLost() && v.StateBefore > 0 && v.InterpreterRestarted:
		return fmt.Sprintf("Its variables are as they were before execution %d; what came later is lost.", v.StateBefore)
	case v.isLost():
		return "All earlier variables, imports and functions are lost; define again what you need."
	}
	return "Its variables are back as they were before this call."
}

// NoteLines puts what a reader should know one below the other.
func NoteLines(notes []string) string {
	lines := make([]string, len(notes))
	for i, note := range notes {
		lines[i] = "[note] " + Clip(OneLine(note), 2000)
	}
	return strings.Join(lines, "\n")
}

// running tells how to get the rest.
func (v view) running() string {
	switch {
	case !v.Status.Runs():
		return ""
	case v.Status == sessions.StatusAsking && v.PersonAsked:
		return fmt.Sprintf(`[asking] The code waits for the user's answer. Call manage_interpreters with operation "wait" and interpreter_id %q: it has the user asked, unless that is under way. "interrupt" stops the code.`, v.InterpreterID)
	case v.Status == sessions.StatusAsking && v.Answers:
		return "[asking] The code waits for the next line of input."
	case v.Status == sessions.StatusAsking:
		at := ""
		if prompt := strings.TrimSpace(v.Prompt); prompt != "" && !strings.HasSuffix(v.Stdout, v.Prompt) {
			at = fmt.Sprintf(" at %q", Clip(prompt, 200))
		}
		return fmt.Sprintf(`[asking] The code waits for a line of input%s. Give it with manage_interpreters, operation "answer", interpreter_id %q and text; "interrupt" stops the code.`, at, v.InterpreterID)
	}
	limit := "no time limit"
	if v.TimeLimit > 0 {
		limit = "time limit " + phrase.Duration(sessions.SecondsOf(v.TimeLimit))
	}
	return fmt.Sprintf(`[running] Still running after %s (%s). Call manage_interpreters with operation "wait" and interpreter_id %q to go on waiting, or "interrupt" to stop it.`,
		phrase.Duration(sessions.SecondsOf(v.ExecTime)), limit, v.InterpreterID)
}

// handle tells a caller how to come back that may have no default interpreter then.
func (v view) handle() string {
	if !v.NewID || v.isLost() && !v.InterpreterRestarted { // it has ended
		return ""
	}
	if v.Again {
		return fmt.Sprintf("[interpreter_id] Pass interpreter_id %q if a later call does not find what this one left.", v.InterpreterID)
	}
	return fmt.Sprintf("[interpreter_id] Pass interpreter_id %q from now on: without it every call starts anew, in an interpreter of its own.", v.InterpreterID)
}

// advice are the lines that say what to do next, or what is left of the state.
func (v view) advice() []string {
	lines := []string{v.ending(), v.stateLine(), v.running(), v.handle()}
	return slices.DeleteFunc(lines, func(line string) bool { return line == "" })
}

// failures tells how often it has gone wrong in a row, and when to stop.
func (v view) failures() string {
	switch {
	case v.Stop != "":
		return "[stop] " + v.Stop
	case v.FailuresInARow > 1 && v.Trial == nil: // a trial's own line says that
		return fmt.Sprintf("[failures] %d runs in a row have failed.", v.FailuresInARow)
	}
	return ""
}
