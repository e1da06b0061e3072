package report

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"understudy/internal/journal"
	"understudy/internal/phrase"
	"understudy/sessions"
)

// Document is what a notebook, a page or a script is made of: how a state came to be.
type Document struct {
	Run         journal.Run
	Interpreter journal.Interpreter
	// Trial is the trial that it leads to, nil where none was asked for.
	Trial *journal.Execution
	// Cells are the executions by which the state came to be, and between them, as
	// skipped, what else its interpreter ran.
	Cells []Cell
}

// Index is what a Document is found in: a journal.Reader.
type Index interface {
	Source
	Runs(ctx context.Context, limit int) ([]journal.Run, error)
	Interpreter(ctx context.Context, id string) (*journal.Interpreter, error)
}

// Find finds what a person means: "best" is the way to the best trial of the newest
// experiment that has one; any other is the beginning of an interpreter's id, "" for
// the last one that ran something, and maybe "@" with the number of an execution up
// to which to go.
func Find(ctx context.Context, from Index, what string) (*Document, error) {
	if what == "best" {
		return findBest(ctx, from)
	}
	id, number, found := strings.Cut(what, "@")
	upTo, err := strconv.Atoi(number)
	if found && (err != nil || upTo < 1) {
		return nil, fmt.Errorf("%q: behind the @ stands the number of an execution, as in 3fa9@7", what)
	}
	interpreter, err := from.Interpreter(ctx, id)
	if err != nil {
		return nil, err
	}
	return findState(ctx, from, interpreter, upTo)
}

// findState finds how the state after an execution came to be; 0 is the present one.
func findState(ctx context.Context, from Index, interpreter *journal.Interpreter, upTo int) (*Document, error) {
	run, err := from.Run(ctx, interpreter.Run)
	if err != nil {
		return nil, err
	}
	own, err := from.Executions(ctx, journal.Query{Run: run.ID, Interpreter: interpreter.ID, Detail: true})
	if err != nil {
		return nil, err
	}
	state := interpreter.Present
	if upTo > 0 {
		if last := len(own) - 1; last < 0 {
			return nil, fmt.Errorf("interpreter %s has run nothing, so there is no execution %d", interpreter.ID, upTo)
		} else if n := own[last].Place.Execution; n < upTo {
			return nil, fmt.Errorf("interpreter %s has no execution %d: the last one is %d", interpreter.ID, upTo, n)
		}
		own = slices.DeleteFunc(own, func(e journal.Execution) bool { return e.Place.Execution > upTo })
		state = sessions.StateRef{InterpreterID: interpreter.ID, Execution: upTo}
	}
	line, err := lineTo(ctx, from, run.ID, state)
	if err != nil {
		return nil, err
	}
	if len(line)+len(own) == 0 {
		return nil, fmt.Errorf("interpreter %s has run nothing", interpreter.ID)
	}
	return &Document{Run: *run, Interpreter: *interpreter, Cells: cellsAround(line, own)}, nil
}

// lineTo returns the executions that led to a state. It may be another interpreter's
// than the one that is asked for: a branch that ran nothing stands where that was.
func lineTo(ctx context.Context, from Index, run string, state sessions.StateRef) ([]journal.Execution, error) {
	if state.Execution == 0 {
		return nil, nil
	}
	there, err := from.Executions(ctx, journal.Query{Run: run, Interpreter: state.InterpreterID})
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(there, func(e journal.Execution) bool { return e.Place == state })
	if i < 0 {
		return nil, fmt.Errorf("execution %d of interpreter %s is not in the journal", state.Execution, state.InterpreterID)
	}
	return from.Line(ctx, there[i].ID)
}

// cellsAround makes cells of a line, and between them, as skipped, of what else was
// run: it crashed, or it was undone.
func cellsAround(line, own []journal.Execution) []Cell {
	cells := newCells(line)
	for _, cell := range newCells(own) {
		if slices.ContainsFunc(line, func(e journal.Execution) bool { return e.ID == cell.Execution.ID }) {
			continue
		}
		if !cell.Skipped {
			cell.Skipped, cell.Note = true, "Nothing of it is left here: it was undone, or fresh variables came after it."
		}
		cells = append(cells, cell)
	}
	slices.SortStableFunc(cells, func(a, b Cell) int { return cmp.Compare(a.Execution.ID, b.Execution.ID) })
	return cells
}

// searched is how many runs are looked through for an experiment, the newest first.
const searched = 1000

// findBest finds the way to the best trial.
func findBest(ctx context.Context, from Index) (*Document, error) {
	runs, err := from.Runs(ctx, searched)
	if err != nil {
		return nil, err
	}
	for _, run := range runs {
		experiments, err := from.Experiments(ctx, run.ID)
		if err != nil {
			return nil, err
		}
		for _, experiment := range slices.Backward(experiments) {
			x, err := Load(ctx, from, run, experiment)
			if err != nil {
				return nil, err
			}
			if x.Best == nil {
				continue
			}
			interpreter, err := from.Interpreter(ctx, x.Best.Place.InterpreterID)
			if err != nil {
				return nil, err
			}
			return &Document{Run: run, Interpreter: *interpreter, Trial: x.Best, Cells: newCells(x.Line)}, nil
		}
	}
	return nil, errors.New("the journal has no trial with a metric; name an interpreter instead of best")
}

// title says what a document is.
func (d *Document) title() string {
	if d.Trial != nil {
		return fmt.Sprintf("The way to trial %d, the best one", d.Trial.Trial.Number)
	}
	return "Interpreter " + shortID(d.Interpreter.ID)
}

// facts are sentences on where it comes from.
func (d *Document) facts() []string {
	var facts []string
	if d.Trial != nil && d.Trial.Trial.Metric != nil {
		facts = append(facts, fmt.Sprintf("%s is %s.", cmp.Or(d.Trial.Trial.MetricName, "Its metric"), number(*d.Trial.Trial.Metric)))
	}
	started := fmt.Sprintf("It was recorded by understudy %s in run %s, started %s", d.Run.Version, d.Run.ID, d.Run.Started.UTC().Format("2006-01-02 15:04 UTC"))
	if d.Run.Python != "" {
		started += ", with Python " + d.Run.Python
	}
	facts = append(facts, started+", by interpreter "+d.Interpreter.ID+".")
	if d.Interpreter.Workdir != "" {
		facts = append(facts, "It ran in "+d.Interpreter.Workdir+".")
	}
	skipped := 0
	for _, c := range d.Cells {
		if c.Skipped {
			skipped++
		}
	}
	if skipped > 0 {
		facts = append(facts, fmt.Sprintf("What is not run here is shown as text: %s.", phrase.Count(skipped, "execution")))
	}
	return facts
}

// remark is something that is said between cells.
type remark struct{ Text, Plan string }

// remarks are sentences on what there is to know before a cell: that its interpreter
// is another than that before, its plan, its note.
func (d *Document) remarks(i int) []remark {
	cell := d.Cells[i]
	var all []remark
	if at := cell.Execution.Place.InterpreterID; i > 0 && d.Cells[i-1].Execution.Place.InterpreterID != at {
		all = append(all, remark{Text: fmt.Sprintf("From here on it is interpreter %s, a branch.", at)})
	}
	if t := cell.Execution.Trial; t != nil {
		said := fmt.Sprintf("Trial %d (%s)", t.Number, t.Stage)
		if t.Buggy {
			said += ", buggy: " + cmp.Or(t.Why, "it failed")
		} else if t.Metric != nil {
			said += fmt.Sprintf(": %s = %s", cmp.Or(t.MetricName, "metric"), number(*t.Metric))
		}
		all = append(all, remark{Text: readable(said), Plan: readable(t.Plan)})
	}
	switch {
	case cell.Skipped:
		said := fmt.Sprintf("Execution %d is not run here. %s", cell.Execution.Place.Execution, cell.Note)
		all = append(all, remark{Text: said})
	case cell.Note != "":
		all = append(all, remark{Text: cell.Note})
	}
	return all
}

// after says what there is to know behind a cell: that its process was lost.
func after(e journal.Execution) string {
	if e.Detail == nil || !e.Detail.Record.InterpreterRestarted {
		return ""
	}
	r := e.Detail.Record
	said := "After it another process took over"
	if r.RestartedBeforeRun {
		said = "Before it another process had taken over"
	}
	if r.RestartReason != "" {
		said += ": " + strings.TrimRight(r.RestartReason, ".")
	}
	switch {
	case r.StateRestored == nil:
	case *r.StateRestored:
		said += ". The variables are as before it"
	case r.StateBefore > 0:
		said += fmt.Sprintf(". The variables are as before execution %d", r.StateBefore)
	default:
		said += ". The variables before it were lost"
	}
	return said + "."
}
