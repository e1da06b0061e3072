package journal

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"understudy/sessions"
)

var (
	failed  = sessions.Result{Status: sessions.StatusError, ExcType: "ValueError", Traceback: "Traceback…\nValueError: no"}
	crashed = sessions.Result{Status: sessions.StatusCrashed, ExcType: "InterpreterCrash", ExcInfo: &sessions.ExceptionInfo{Msg: "SIGSEGV"}}
	fine    = sessions.Result{}
)

// raised is a result with a traceback that ends so.
func raised(end string) sessions.Result {
	return sessions.Result{Status: sessions.StatusError, ExcType: "ValueError", Traceback: "Traceback:\n  Cell 1, line 1\n    fit()\n" + end + "\n"}
}

// word is a report as a test compares it.
func word(r *sessions.TrialReport) string {
	if r == nil {
		return "none"
	}
	text := fmt.Sprintf("%d %s parent=%d depth=%d", r.Number, r.Stage, r.Parent, r.Depth)
	if r.Buggy {
		text += " buggy: " + r.Why
	}
	if r.Best != nil {
		text += fmt.Sprintf(" best=%d", r.Best.Number)
	}
	return text
}

func TestStages(t *testing.T) {
	j := begin(t, newPath(t), Options{})
	a := newAgent(t, j, "a", "c")
	a.run("import pandas", fine)
	b, c := a.branch("b"), a.branch("c")
	for _, step := range []struct {
		report *sessions.TrialReport
		want   string
	}{
		{b.try(0.5, true, fine), "1 draft parent=0 depth=0 best=1"},
		{c.try(0.4, true, failed), "2 draft parent=0 depth=0 buggy: ValueError: no best=1"},
		{c.try(0.4, true, crashed), "3 debug parent=2 depth=1 buggy: InterpreterCrash: SIGSEGV best=1"},
		{c.try(0.6, true, fine), "4 debug parent=3 depth=2 best=4"},
		{c.try(0.6, true, fine), "5 improve parent=4 depth=0 best=4"},
	} {
		got := word(step.report)
		expect(t, got == step.want, "got  %s\nwant %s", got, step.want)
	}
	c.run("import more", fine)
	d := c.branch("d")
	if got, want := word(d.try(0.7, true, fine)), "6 improve parent=5 depth=0 best=6"; got != want {
		t.Errorf("past what is no trial: got %s, want %s", got, want)
	}
	r := open(t, j.Path())
	trials, err := r.Executions(t.Context(), Query{Experiment: j.RunID()})
	insist(t, err == nil && len(trials) == 6, "%d trials, %v", len(trials), err)
	best := Best(trials)
	expect(t, best.Trial.Number == 6, "readers find another best trial: %+v", best.Trial)
	line, err := r.Line(t.Context(), trials[5].ID)
	var codes []string
	for _, e := range line {
		codes = append(codes, e.Code)
	}
	if want := "import pandas; score = 0.4; score = 0.6; score = 0.6; import more; score = 0.7"; err != nil || strings.Join(codes, "; ") != want {
		t.Errorf("line: %v, %v", codes, err)
	}
}

func TestJudgement(t *testing.T) {
	j := begin(t, newPath(t), Options{})
	value := 1.5
	for i, test := range []struct {
		what   string
		name   string
		metric *sessions.Metric
		result sessions.Result
		want   string
	}{
		{"a number", "score", &sessions.Metric{Value: &value}, fine, ""},
		{"no metric is asked for", "", nil, fine, ""},
		{"absent", "score", nil, fine, "score was not measured"},
		{"a reason", "score", &sessions.Metric{Problem: "score is nan"}, fine, "score is nan"},
		{"time limit", "score", &sessions.Metric{Value: &value}, sessions.Result{Status: sessions.StatusTimeout, ExcType: "TimeoutError"}, "TimeoutError"},
		{"lines", "", nil, raised("ValueError: All the 5 fits failed.\nIt is likely\n\nBelow\nValueErrors: 5"), "ValueError: All the 5 fits failed."},
		{"the class in a message", "", nil, raised("ValueError: a\nValueError: b"), "ValueError: a"},
		{"raised while handled", "", nil, raised("ValueError: a\n\nDuring\n\nTraceback:\n  Cell 1, line 3\nValueError: b"), "ValueError: b"},
		{"of a module", "", nil, raised("my.errors.ValueError: a"), "my.errors.ValueError: a"},
		{"no message", "", nil, raised("ValueError: "), "ValueError"},
		{"interrupt", "", nil, sessions.Result{Status: sessions.StatusInterrupted, ExcType: "KeyboardInterrupt"}, "KeyboardInterrupt"},
	} {
		a := newAgent(t, j, fmt.Sprint("i", i), "c")
		e := a.done(a.next("x", &sessions.Trial{MetricVarName: test.name, Maximize: true}), test.result)
		e.Metric = test.metric
		report, err := j.Record(t.Context(), e)
		if err != nil || report.Why != test.want || report.Buggy != (test.want != "") || report.Buggy && report.Metric != nil {
			t.Errorf("%s: %+v, %v", test.what, report, err)
		}
	}
}

func TestExperimentsOfClients(t *testing.T) {
	j := begin(t, newPath(t), Options{})
	own, other := newAgent(t, j, "a", "one"), newAgent(t, j, "b", "two")
	nobody, stranger := newAgent(t, j, "c", sessions.Anonymous), newAgent(t, j, "d", sessions.Anonymous)
	for _, a := range []*agent{own, other, own, nobody, stranger, nobody.branch("e")} {
		a.try(1, true, fine)
	}
	r := open(t, j.Path())
	names, err := r.Experiments(t.Context(), j.RunID())
	insist(t, err == nil && len(names) == 4 && names[0] == j.RunID() && names[3] == j.RunID()+"-4", "%v, %v", names, err)
	for i, want := range []int{2, 1, 2, 1} {
		if trials, err := r.Executions(t.Context(), Query{Experiment: names[i]}); err != nil || len(trials) != want {
			t.Errorf("%s has %d trials, want %d; %v", names[i], len(trials), want, err)
		}
	}
}

// TestAnotherMetricIsAnotherExperiment: a draft measured by another variable begins it,
// one by an earlier variable goes on with that one's, and what goes on from a trial
// stays in its experiment.
func TestAnotherMetricIsAnotherExperiment(t *testing.T) {
	j := begin(t, newPath(t), Options{})
	number := 0
	fresh := func() *agent { number++; return newAgent(t, j, fmt.Sprint("i", number), "c") }
	try := func(a *agent, name string, maximize bool) string {
		t.Helper()
		e := a.next(name, &sessions.Trial{Plan: "p", MetricVarName: name, Maximize: maximize})
		if err := j.Begin(t.Context(), e); err != nil {
			a.number--
			return err.Error()
		}
		e, value := a.done(e, fine), 0.5
		e.Metric = &sessions.Metric{Value: &value}
		report, err := j.Record(t.Context(), e)
		must(t, err)
		return word(report)
	}
	first, rmse := fresh(), fresh()
	for _, step := range []struct {
		a        *agent
		name     string
		maximize bool
		want     string
	}{
		{first, "score", true, "1 draft parent=0 depth=0 best=1"},
		{rmse, "rmse", false, "1 draft parent=0 depth=0 best=1"},
		{fresh(), "score", true, "2 draft parent=0 depth=0 best=1"},
		{fresh(), "rmse", false, "2 draft parent=0 depth=0 best=1"},
		{fresh(), "", false, "3 draft parent=0 depth=0 best=1"},
		{first, "", true, "3 improve parent=1 depth=0 best=1"},
		{fresh(), "rmse", true, "maximize is true for rmse, but trial 1 "},
		{first, "rmse", true, "metric_var_name is rmse, but trial 1 "},
		{rmse, "rmse", false, "4 improve parent=1 depth=0 best=1"},
	} {
		got := try(step.a, step.name, step.maximize)
		expect(t, strings.HasPrefix(got, step.want), "%s: got %s, want %s", step.name, got, step.want)
	}
	names, err := open(t, j.Path()).Experiments(t.Context(), j.RunID())
	expect(t, err == nil && len(names) == 2, "%v, %v", names, err)
}

// TestGone: the best trial is said to be gone once its interpreter is in another state.
func TestGone(t *testing.T) {
	j := begin(t, newPath(t), Options{})
	a, b := newAgent(t, j, "a", "c"), newAgent(t, j, "b", "c")
	gone := func(metric float64, of *agent) bool { return of.try(metric, true, fine).Best.Gone }
	expect(t, !gone(0.9, a) && !gone(0.5, b), "it is there")
	best := a.present
	expect(t, gone(0.4, a) && gone(0.4, b), "its interpreter has gone on")
	a.present = best
	a.stand()
	expect(t, !gone(0.4, b), "it is there again, after an undo")
	must(t, j.SaveSession(t.Context(), sessions.SessionState{InterpreterID: "a", Client: "c", Ended: time.Now(), Present: best}))
	expect(t, gone(0.4, b), "its interpreter has ended")
}

func TestMixedDirectionsAreRefused(t *testing.T) {
	j := begin(t, newPath(t), Options{})
	a, b := newAgent(t, j, "a", "c"), newAgent(t, j, "b", "c")
	less := func(name string) *sessions.Trial { return &sessions.Trial{MetricVarName: name} }
	refusal := func(e sessions.Entry) error { err := j.Begin(t.Context(), e); b.number--; return err }

	a.try(0.5, true, failed) // a buggy one sets no direction
	if err := refusal(b.next("score", less("score"))); err != nil {
		t.Errorf("after a buggy trial: %v", err)
	}
	b.stand() // it has not run
	a.try(0.5, true, fine)
	err := refusal(b.next("score", less("score")))
	insist(t, sessions.CodeOf(err) == sessions.CodeInvalid, "got %v", err)
	for _, part := range []string{"maximize is false for score", "trial 2", "maximize true for score", "Nothing ran"} {
		expect(t, strings.Contains(err.Error(), part), "%q is not in %v", part, err)
	}
	if err := refusal(b.next("no metric", less(""))); err != nil {
		t.Errorf("without a metric there is no direction: %v", err)
	}
	b.stand()
	got, want := word(b.try(0.6, true, fine)), "3 draft parent=0 depth=0 best=3"
	expect(t, got == want, "a refused trial, or one that did not run, took a number: %s, want %s", got, want)
}

// A trial whose beginning could not be stored is recorded all the same, and not compared.
func TestUncheckedDirection(t *testing.T) {
	j := begin(t, newPath(t), Options{})
	a, b := newAgent(t, j, "a", "c"), newAgent(t, j, "b", "c")
	a.try(0.5, true, fine)
	value := 0.1
	e := b.done(b.next("x", &sessions.Trial{MetricVarName: "score"}), fine)
	e.Metric = &sessions.Metric{Value: &value}
	report, err := j.Record(t.Context(), e)
	expect(t, err == nil && report.Buggy && report.Metric == nil && report.Best.Number == 1, "%+v, %v", report, err)
}

// Of trials that begin at once, one direction wins.
func TestParallelDirections(t *testing.T) {
	j := begin(t, newPath(t), Options{})
	var begun [2]atomic.Int32
	var all sync.WaitGroup
	for i := range 20 {
		a := newAgent(t, j, fmt.Sprint("i", i), "c")
		e := a.next("x", &sessions.Trial{MetricVarName: "score", Maximize: i%2 == 1})
		all.Go(func() {
			if j.Begin(t.Context(), e) == nil {
				begun[i%2].Add(1)
			}
		})
	}
	all.Wait()
	less, more := begun[0].Load(), begun[1].Load()
	expect(t, min(less, more) == 0 && max(less, more) == 10, "%d want less, %d more", less, more)
}

// What began and is not heard of any more does not run for ever.
func TestForgottenExecutions(t *testing.T) {
	j := begin(t, newPath(t), Options{})
	a := newAgent(t, j, "a", "c")
	a.begin("slow", nil)
	a.begin("a trial", &sessions.Trial{Plan: "p"})
	a.run("next", fine)
	r := open(t, j.Path())
	all, err := r.Executions(t.Context(), Query{})
	var got []string
	for _, e := range all {
		got = append(got, e.Code+" "+string(e.Status))
	}
	want := []string{"slow lost", "next ok"}
	expect(t, err == nil && slices.Equal(got, want), "got %q, %v; want %q", got, err, want)
}

// What an experiment is about, and what a trial was led by, are kept; secrets are not.
func TestTaskAndAnalysisAreKept(t *testing.T) {
	run := Run{Steps: 7, Task: "Fit it.", Name: "fit", Search: sessions.Search{Drafts: 2, DebugDepth: 4, DebugProb: 0.25}}
	j := begin(t, newPath(t), Options{Run: run})
	a := newAgent(t, j, "a", "c")
	a.secrets = []string{"sk-12345"}
	a.begin("x", &sessions.Trial{Plan: "p", Analysis: "sk-12345 was slow"})
	r := open(t, j.Path())
	got, err := r.Run(t.Context(), "")
	expect(t, err == nil && got.Task == run.Task && got.Name == run.Name && got.Search == run.Search, "%+v, %v", got, err)
	trials, err := r.Executions(t.Context(), Query{Trials: true})
	expect(t, err == nil && len(trials) == 1 && trials[0].Trial.Analysis == "[session variable] was slow", "%+v, %v", trials, err)
}
