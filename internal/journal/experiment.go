package journal

import (
	"fmt"
	"math"
	"strings"
	"unicode/utf8"

	"understudy/sessions"
)

// placeTrial gives a trial its experiment and its number, those that it has if it has
// begun, and says what it goes on from.
func (t *tx) placeTrial(r *row) {
	t.get("SELECT id, coalesce(experiment, ''), coalesce(trial, 0) FROM executions WHERE interpreter = ? AND number = ?",
		[]any{r.entry.InterpreterID, r.entry.Execution}, &r.id, &r.experiment, &r.trial)
	if r.experiment == "" {
		t.findExperiment(r)
		t.get("UPDATE experiments SET trials = trials + 1 WHERE name = ? RETURNING trials", []any{r.experiment}, &r.trial)
	}
	var buggy bool
	var depth int
	r.trialParent, r.stage = r.line, sessions.StageDraft
	if r.line != 0 && t.get("SELECT depth, buggy OR status = 'running' FROM executions WHERE id = ?", []any{r.line}, &depth, &buggy) {
		r.stage = sessions.StageImprove
		if buggy {
			r.stage, r.depth = sessions.StageDebug, depth+1
		}
	}
}

// findExperiment finds the experiment that a trial belongs to, or makes it. What goes
// on from a trial belongs to that one's. A draft belongs to the experiment of its
// owner with its metric, else to the newest one if that or the draft has no metric;
// otherwise it begins one.
func (t *tx) findExperiment(r *row) {
	if r.line != 0 {
		t.get("SELECT experiment FROM executions WHERE id = ?", []any{r.line}, &r.experiment)
		return
	}
	owner := "client " + string(r.entry.Client)
	if r.entry.Client == sessions.Anonymous {
		owner = "interpreter " + t.rootOf(r.entry.InterpreterID, r.entry.InterpreterID)
	}
	wanted, name, metric := r.entry.Trial.MetricVarName, "", ""
	key := owner
	for n := 2; t.get(`SELECT name, coalesce((SELECT metric_name FROM executions INDEXED BY directions
			WHERE experiment = name AND maximize IS NOT NULL AND (status = 'running' OR metric IS NOT NULL) LIMIT 1), '')
		FROM experiments WHERE run = ? AND owner = ?`, []any{t.run, key}, &name, &metric); n++ {
		if metric != "" && metric == wanted {
			r.experiment = name
			return
		}
		key = fmt.Sprintf("%s\n%d", owner, n)
	}
	if name != "" && (metric == "" || wanted == "") {
		r.experiment = name
		return
	}
	var number int
	t.get("SELECT count(*) + 1 FROM experiments WHERE run = ?", []any{t.run}, &number)
	r.experiment = t.run
	if number > 1 {
		r.experiment = fmt.Sprintf("%s-%d", t.run, number)
	}
	t.exec("INSERT INTO experiments (name, run, owner, number) VALUES (?, ?, ?, ?)", r.experiment, t.run, key, number)
}

// elsewhere is how an agent whose trial is refused begins another experiment.
const elsewhere = "as a draft, in an interpreter where no trial ran before, another metric_var_name begins another experiment"

// checkMetric refuses a trial that can't be compared with the others of its experiment:
// it is measured by another variable, or wants more where they want less, or the other
// way round. Those count that run or were measured: one that failed sets nothing, so
// that a mistake can be put right.
func (t *tx) checkMetric(r *row) error {
	own := r.entry.Trial
	if own.MetricVarName == "" {
		return nil
	}
	for _, maximize := range []bool{!own.Maximize, own.Maximize} {
		var first, execution int
		var name, interpreter string
		if !t.get(`SELECT trial, metric_name, interpreter, number FROM executions INDEXED BY directions
			WHERE experiment = ? AND maximize = ? AND maximize IS NOT NULL AND (status = 'running' OR metric IS NOT NULL) AND id <> ?
			ORDER BY trial LIMIT 1`, []any{r.experiment, maximize, r.id}, &first, &name, &interpreter, &execution) {
			continue
		}
		which := fmt.Sprintf("trial %d of this experiment (execution %d of interpreter %q)", first, execution, r.entry.Client.Handle(interpreter))
		switch {
		case maximize != own.Maximize:
			return sessions.Errorf(sessions.CodeInvalid,
				"maximize is %t for %s, but %s has maximize %t for %s: trials can be compared only in one direction. Nothing ran. "+
					"Give maximize %t and a metric for which that is right, as the negative of yours, or run it without metric_var_name; %s",
				own.Maximize, own.MetricVarName, which, maximize, name, maximize, elsewhere)
		case name != own.MetricVarName:
			return sessions.Errorf(sessions.CodeInvalid,
				"metric_var_name is %s, but %s is measured by %s: trials can be compared only by one metric. Nothing ran. "+
					"Assign the metric to %s and give that name, or run it without metric_var_name; %s",
				own.MetricVarName, which, name, name, elsewhere)
		}
	}
	return t.err
}

// judge says what a trial that has ended came to, as its client is told.
func (t *tx) judge(r *row, mask *masker) *sessions.TrialReport {
	r.metric, r.why = outcome(r.entry)
	if r.metric != nil {
		// Its beginning may not have been stored, and not been checked then.
		if err := t.checkMetric(r); sessions.CodeOf(err) == sessions.CodeInvalid {
			r.metric, r.why = nil, "its metric is another than the experiment's, or has another direction"
		}
	}
	r.why, r.buggy = mask.text(r.why), r.why != ""
	report := &sessions.TrialReport{
		Number: r.trial, Steps: t.options.Run.Steps, Stage: r.stage, Depth: r.depth, Buggy: r.buggy, Why: r.why,
		Name: r.entry.Trial.MetricVarName, Metric: r.metric,
	}
	if report.Name != "" {
		report.Maximize = &r.entry.Trial.Maximize
	}
	t.get("SELECT trial FROM executions WHERE id = ?", []any{r.trialParent}, &report.Parent)
	report.Best = t.findBest(r)
	return report
}

// outcome returns a trial's metric, and why it is buggy, "" if it is not.
func outcome(entry sessions.Entry) (metric *float64, why string) {
	result, name := entry.Result, entry.Trial.MetricVarName
	switch {
	case result.Status != sessions.StatusOK:
		return nil, failure(result)
	case name == "":
		return nil, ""
	case entry.Metric == nil || entry.Metric.Value == nil && entry.Metric.Problem == "":
		return nil, fmt.Sprintf("%s was not measured", name)
	case entry.Metric.Value == nil:
		return nil, entry.Metric.Problem
	case math.IsNaN(*entry.Metric.Value) || math.IsInf(*entry.Metric.Value, 0):
		return nil, fmt.Sprintf("%s is %v", name, *entry.Metric.Value)
	}
	value := *entry.Metric.Value
	return &value, ""
}

// longestWhy bounds a reason, in characters.
const longestWhy = 300

// failure says in a line how an execution failed.
func failure(r *sessions.Result) string {
	why := r.ExcType
	if r.Status == sessions.StatusError {
		why = described(r)
	} else if r.ExcInfo != nil && r.ExcInfo.Msg != "" {
		why += ": " + r.ExcInfo.Msg
	}
	if why == "" {
		why = string(r.Status)
	}
	if utf8.RuneCountInString(why) > longestWhy {
		why = string([]rune(why)[:longestWhy]) + "…"
	}
	return why
}

// described returns an exception's class and the first line of its message. Messages
// go over several lines, and any of them may begin as the first one does.
func described(r *sessions.Result) string {
	framed := true
	why := r.ExcType
	for line := range strings.Lines(r.Traceback) {
		line = strings.TrimRight(line, "\r\n")
		if strings.HasPrefix(line, " ") {
			framed = true // frames are indented
			continue
		}
		class, _, _ := strings.Cut(line, ":")
		if !framed || class != r.ExcType && !strings.HasSuffix(class, "."+r.ExcType) {
			continue
		}
		why, framed = strings.TrimRight(line, ": "), false // another may follow: what was raised while it was handled
	}
	return why
}

// findBest returns the best trial of r's experiment, r among them, and notes in r
// whether it is that.
func (t *tx) findBest(r *row) *sessions.BestTrial {
	var best sessions.BestTrial
	found := t.get(`SELECT e.trial, e.interpreter, e.number, e.metric FROM experiments x JOIN executions e ON e.id = x.best
		WHERE x.name = ? AND e.metric IS NOT NULL`, []any{r.experiment}, &best.Number, &best.InterpreterID, &best.Execution, &best.Metric)
	own := sessions.StateRef{InterpreterID: r.entry.InterpreterID, Execution: r.entry.Execution}
	if r.metric != nil && (!found || better(*r.metric, best.Metric, r.entry.Trial.Maximize) ||
		*r.metric == best.Metric && r.trial < best.Number) {
		r.best, found = true, true
		best = sessions.BestTrial{Number: r.trial, InterpreterID: own.InterpreterID, Execution: own.Execution, Metric: *r.metric}
	}
	if !found {
		return nil
	}
	left := sessions.StateRef{InterpreterID: best.InterpreterID, Execution: best.Execution}
	if left.InterpreterID == own.InterpreterID {
		best.Gone = r.entry.Present != left
	} else {
		best.Gone = !t.get("SELECT 1 FROM interpreters WHERE id = ? AND present_interpreter = ? AND present_execution = ? AND ended = 0",
			[]any{left.InterpreterID, left.InterpreterID, left.Execution}, new(int))
	}
	return &best
}
