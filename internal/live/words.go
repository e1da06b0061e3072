package live

import (
	"strconv"
	"time"

	"github.com/dustin/go-humanize"

	"understudy/internal/journal"
	"understudy/internal/phrase"
	"understudy/sessions"
)

// shortID is the interpreter's name, or as many characters of its id as tell the
// interpreters of a run apart.
func shortID(id string) string {
	short := sessions.NameOf(id)
	if short == id && len(id) > 6 {
		short = id[:6]
	}
	return clean(short)
}

func place(p sessions.StateRef) string {
	return shortID(p.InterpreterID) + "@" + strconv.Itoa(p.Execution)
}

// name is what an execution is called: a trial by its number.
func name(e *journal.Execution) string {
	if e.Trial != nil {
		return "#" + strconv.Itoa(e.Trial.Number)
	}
	return place(e.Place)
}

// elapsed is a duration that grows, in whole seconds.
func elapsed(d time.Duration) string {
	if d < time.Minute {
		return strconv.Itoa(max(0, int(d.Seconds()))) + " s"
	}
	return phrase.Short(d)
}

func memory(bytes uint64) string {
	if bytes == 0 {
		return ""
	}
	return humanize.Bytes(bytes)
}

func number(n int) string { return humanize.Comma(int64(n)) }

func many(n int, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return number(n) + " " + thing
}

// metric is a value as the tree has it: five digits that count.
func metric(v float64) string { return strconv.FormatFloat(v, 'g', 5, 64) }

func direction(t *journal.Trial) string {
	if t.Maximize {
		return "higher is better"
	}
	return "lower is better"
}

// stageLetters are the stages as the tree has them; the help names them.
var stageLetters = map[string]string{
	sessions.StageDraft: "D", sessions.StageDebug: "B", sessions.StageImprove: "I",
}

// runs reports whether an execution has not ended.
func runs(e *journal.Execution) bool { return e.Status == sessions.StatusRunning }

// failed reports whether an execution gets the mark of a bug.
func failed(e *journal.Execution) bool {
	if runs(e) {
		return false
	}
	return e.Trial != nil && e.Trial.Buggy || e.Status != sessions.StatusOK
}

// outcome is the mark of an execution and what became of it.
func outcome(e *journal.Execution) (mark, word string) {
	switch {
	case runs(e):
		return "◌", "running"
	case e.Status == journal.StatusLost:
		return "◍", "lost"
	case e.Trial != nil && e.Trial.Buggy:
		return "◍", "bug"
	case e.Trial != nil && e.Trial.Metric != nil:
		return "●", metric(*e.Trial.Metric)
	case e.Status == sessions.StatusOK:
		return "●", "ok"
	default:
		return "◍", clean(string(e.Status))
	}
}

// subject is what an execution is about: its plan, else its code.
func subject(e *journal.Execution) string {
	if e.Trial != nil {
		if plan := firstLine(e.Trial.Plan); plan != "" {
			return plan
		}
	}
	return firstLine(e.Code)
}

// toolCalls says how many calls of other servers' tools there were, "" for none.
func toolCalls(byServer map[string]int) string {
	return firstLine(phrase.CountEach("tool call", byServer))
}

// toolUse is one such call with what it came to.
func toolUse(u sessions.ToolUse) string {
	call := fit(firstLine(u.Server+"."+u.Tool+" "+string(u.Arguments)), widestSubject)
	return call + " → " + fit(firstLine(u.Outcome()), widestSubject)
}

func clock(t time.Time) string { return t.Local().Format(time.TimeOnly) }

// moment is a time with its day where that is not today's.
func moment(t, now time.Time) string {
	if t.Local().Format(time.DateOnly) == now.Local().Format(time.DateOnly) {
		return clock(t)
	}
	return t.Local().Format("2006-01-02 15:04")
}

// standing says in a word whether a run's server is there.
func standing(r *journal.Run) string {
	switch {
	case r.Alive:
		return "alive"
	case !r.Ended.IsZero():
		return "ended"
	default:
		return "killed"
	}
}
