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
func (j *Journal) placeTrial(r *row) error {
	if _, err := j.get("SELECT id, coalesce(experiment, ''), coalesce(trial, 0) FROM executions WHERE interpreter = ? AND number = ?",
		[]any{r.entry.InterpreterID, r.entry.Execution}, &r.id, &r.experiment, &r.trial); err != nil {
		return err
	}
	if r.experiment == "" {
		if err := j.findExperiment(r); err != nil {
			return err
		}
		if _, err := j.get("UPDATE experiments SET trials = trials + 1 WHERE name = ? RETURNING trials", []any{r.experiment}, &r.trial); err != nil {
			return err
		}
	}
	r.trialParent, r.stage = r.line, sessions.StageDraft
	if r.line == 0 {
		return nil
	}
	var buggy bool
	_, err := j.get("SELECT depth, buggy OR status = 'running' FROM executions WHERE id = ?", []any{r.line}, &r.depth, &buggy)
	if buggy {
		r.stage, r.depth = sessions.StageDebug, r.depth+1
	} else {
		r.stage, r.depth = sessions.StageImprove, 0
	}
	return err
}

// findExperiment finds the experiment that a trial belongs to, or makes it. What goes
// on from a trial belongs to that one's. A draft belongs to the experiment of its
// owner with its metric, else to the newest one if that or the draft has no metric;
// otherwise it begins one.
func (j *Journal) findExperiment(r *row) error {
	if r.line != 0 {
		_, err := j.get("SELECT experiment FROM executions WHERE id = ?", []any{r.line}, &r.experiment)
		return err
	}
	owner := "client " + string(r.entry.Client)
	if r.entry.Client == sessions.Anonymous {
		root := r.entry.InterpreterID
		if _, err := j.get("SELECT root FROM interpreters WHERE id = ?", []any{root}, &root); err != nil {
			return err
		}
		owner = "interpreter " + root
	}
	wanted := r.entry.Trial.MetricVarName
	name, metric := "", ""
	key := owner
	for n := 2; ; n++ {
		found, err := j.get(`SELECT name, coalesce((SELECT metric_name FROM executions INDEXED BY directions
				WHERE experiment = name AND maximize IS NOT NULL AND (status = 'running' OR metric IS NOT NULL) LIMIT 1), '')
			FROM experiments WHERE run = ? AND owner = ?`, []any{j.run, key}, &name, &metric)
		if err != nil {
			return err
		}
		if !found {
			break
		}
		if metric != "" && metric == wanted {
			r.experiment = name
			return nil
		}
		key = fmt.Sprintf("%s\n%d", owner, n)
	}
	if name != "" && (metric == "" || wanted == "") {
		r.experiment = name
		return nil
	}
	return j.makeExperiment(r, key)
}

// makeExperiment begins an experiment of the owner with this key.
func (j *Journal) makeExperiment(r *row, owner string) error {
	var number int
	if _, err := j.get("SELECT count(*) + 1 FROM experiments WHERE run = ?", []any{j.run}, &number); err != nil {
		return err
	}
	r.experiment = j.run
	if number > 1 {
		r.experiment = fmt.Sprintf("%s-%d", j.run, number)
	}
	return j.exec("INSERT INTO experiments (name, run, owner, number) VALUES (?, ?, ?, ?)", r.experiment, j.run, owner, number)
}

// elsewhere is how an agent whose trial is refused begins another experiment.
const elsewhere = "as a draft, in an interpreter where no trial ran before, another metric_var_name begins another experiment"

// checkMetric refuses a trial that can't be compared with the others of its experiment:
// it is measured by another variable, or wants more where they want less, or the other
// way round. Those count that run or were measured: one that failed sets nothing, so
// that a mistake can be put right.
func (j *Journal) checkMetric(r *row) error {
	t := r.entry.Trial
	if t.MetricVarName == "" {
		return nil
	}
	for _, maximize := range []bool{!t.Maximize, t.Maximize} {
		var first, execution int
		var name, interpreter string
		found, err := j.get(`SELECT trial, metric_name, interpreter, number FROM executions INDEXED BY directions
			WHERE experiment = ? AND maximize = ? AND maximize IS NOT NULL AND (status = 'running' OR metric IS NOT NULL) AND id <> ?
			ORDER BY trial LIMIT 1`, []any{r.experiment, maximize, r.id}, &first, &name, &interpreter, &execution)
		if err != nil {
			return err
		}
		if !found {
			continue
		}
		which := fmt.Sprintf("trial %d of this experiment (execution %d of interpreter %q)", first, execution, r.entry.Client.Handle(interpreter))
		switch {
		case maximize != t.Maximize:
			return sessions.Errorf(sessions.CodeInvalid,
				"maximize is %t for %s, but %s has maximize %t for %s: trials can be compared only in one direction. Nothing ran. "+
					"Give maximize %t and a metric for which that is right, as the negative of yours, or run it without metric_var_name; %s",
				t.Maximize, t.MetricVarName, which, maximize, name, maximize, elsewhere)
		case name != t.MetricVarName:
			return sessions.Errorf(sessions.CodeInvalid,
				"metric_var_name is %s, but %s is measured by %s: trials can be compared only by one metric. Nothing ran. "+
					"Assign the metric to %s and give that name, or run it without metric_var_name; %s",
				t.MetricVarName, which, name, name, elsewhere)
		}
	}
	return nil
}

// judge says what a trial that has ended came to, as its client is told.
func (j *Journal) judge(r *row, mask *masker) (*sessions.TrialReport, error) {
	r.metric, r.why = outcome(r.entry)
	if r.metric != nil {
		// Its beginning may not have been stored, and not been checked then.
		err := j.checkMetric(r)
		switch {
		case sessions.CodeOf(err) == sessions.CodeInvalid:
			r.metric, r.why = nil, "its metric is another than the experiment's, or has another direction"
		case err != nil:
			return nil, err
		}
	}
	r.why, r.buggy = mask.text(r.why), r.why != ""
	report := &sessions.TrialReport{
		Number: r.trial, Steps: j.options.Run.Steps, Stage: r.stage, Depth: r.depth, Buggy: r.buggy, Why: r.why,
		Name: r.entry.Trial.MetricVarName, Metric: r.metric,
	}
	if report.Name != "" {
		report.Maximize = &r.entry.Trial.Maximize
	}
	if _, err := j.get("SELECT trial FROM executions WHERE id = ?", []any{r.trialParent}, &report.Parent); err != nil {
		return nil, err
	}
	return report, j.findBest(r, report)
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

// findBest puts the best trial of r's experiment into the report, r among them, and
// notes in r whether it is that.
func (j *Journal) findBest(r *row, report *sessions.TrialReport) error {
	var best sessions.BestTrial
	found, err := j.get(`SELECT e.trial, e.interpreter, e.number, e.metric FROM experiments x JOIN executions e ON e.id = x.best
		WHERE x.name = ? AND e.metric IS NOT NULL`, []any{r.experiment}, &best.Number, &best.InterpreterID, &best.Execution, &best.Metric)
	if err != nil {
		return err
	}
	own := sessions.Place{InterpreterID: r.entry.InterpreterID, Execution: r.entry.Execution}
	if r.metric != nil && (!found || better(*r.metric, best.Metric, r.entry.Trial.Maximize) ||
		*r.metric == best.Metric && r.trial < best.Number) {
		r.best, found = true, true
		best = sessions.BestTrial{Number: r.trial, InterpreterID: own.InterpreterID, Execution: own.Execution, Metric: *r.metric}
	}
	if !found {
		return nil
	}
	report.Best = &best
	left := sessions.Place{InterpreterID: best.InterpreterID, Execution: best.Execution}
	if left.InterpreterID == own.InterpreterID {
		best.Gone = r.entry.Present != left
		return nil
	}
	there, err := j.get("SELECT 1 FROM interpreters WHERE id = ? AND present_interpreter = ? AND present_execution = ? AND ended = 0",
		[]any{left.InterpreterID, left.InterpreterID, left.Execution}, new(int))
	best.Gone = !there
	return err
}
