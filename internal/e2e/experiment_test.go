package e2e

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/mcp"

	"understudy/sessions"
)

// experimentSteps is how many trials the scripted agent makes.
const experimentSteps = 20

// TestExperiment: an agent without a model, which follows a fixed policy on the data
// of examples/experiment, makes twenty trials through the real server: five drafts,
// some broken on purpose, their debugging, and improvements of whatever is best. It
// remembers what it was told and what ought to be true, and all that the server
// answers and leaves behind must agree with that.
func TestExperiment(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("interpreters can be branched on Linux only")
	}
	t.Parallel()
	l := &laboratory{data: t.TempDir(), experiments: filepath.Join(t.TempDir(), "experiments")}
	a := &scientist{t: t, client: l.connect(t)}
	a.readPrompt()
	a.prepare()
	for _, draft := range drafts {
		a.try(a.branch(a.prepared), nil, draft)
	}
	a.asksForBothDirections()
	ideas := improvements
	for len(a.tried) < experimentSteps {
		if broken := a.mendable(); broken != nil {
			repair := broken.repairs[0]
			repair.repairs = broken.repairs[1:]
			a.try(broken.interpreter, broken, repair)
			if last := a.tried[len(a.tried)-1]; last.buggy != "" && len(last.repairs) == 0 {
				manage(t, a.client, "delete", "interpreter_id", last.interpreter) // what was tried there stays in the journal
			}
			continue
		}
		best := a.best()
		a.try(a.branch(best.interpreter), best, ideas[0])
		ideas = ideas[1:]
	}
	expect(t, len(ideas) == 0, "%d ideas are left over", len(ideas))
	l.isFollowed(t, a)
	if err := a.client.Close(); err != nil { // it writes what is left to be written
		t.Errorf("the server ended with %v", err)
	}
	l.check(t, a)
}

// scientist is the scripted agent.
type scientist struct {
	t        *testing.T
	client   *client.Client
	prepared string // interpreter
	tried    []*trial
}

// trial is one attempt as the agent remembers it.
type trial struct {
	attempt
	number      int
	interpreter string
	execution   int
	parent      *trial
	metric      *float64 // what its own code printed
	followed    bool     // another trial goes on from it
}

// trialAnswer is what the agent reads of a record.
type trialAnswer struct {
	InterpreterID string                `json:"interpreter_id"`
	Execution     int                   `json:"execution"`
	Status        sessions.Status       `json:"status"`
	Stdout        string                `json:"stdout"`
	Stop          string                `json:"stop"`
	Trial         *sessions.TrialReport `json:"trial"`
}

func (a *scientist) read(record map[string]any, text string) (trialAnswer, string) {
	a.t.Helper()
	encoded, err := json.Marshal(record)
	must(a.t, err)
	var answer trialAnswer
	must(a.t, json.Unmarshal(encoded, &answer))
	return answer, text
}

// readPrompt: the prompt tells of the data that the server has put there.
func (a *scientist) readPrompt() {
	a.t.Helper()
	var request mcp.GetPromptRequest
	request.Params.Name, request.Params.Arguments = "experiment", map[string]string{"task": "predict who leaves", "direction": "maximize"}
	got, err := a.client.GetPrompt(a.t.Context(), request)
	must(a.t, err)
	words, _ := mcp.AsTextContent(got.Messages[0].Content)
	for _, want := range []string{"predict who leaves", fmt.Sprint("Trials: ", experimentSteps), "customers.csv", "monthly_fee"} {
		expect(a.t, strings.Contains(words.Text, want), "the prompt does not tell of %q:\n%s", want, words.Text)
	}
}

// prepare loads the data where all trials begin. That is none of them.
func (a *scientist) prepare() {
	a.t.Helper()
	answer, text := a.read(run(a.t, a.client, preparation))
	insist(a.t, answer.Status == sessions.StatusOK && answer.Trial == nil && !strings.Contains(text, "[trial"), "preparing:\n%s", text)
	a.prepared = answer.InterpreterID
}

func (a *scientist) branch(interpreter string) string {
	a.t.Helper()
	answer, _ := a.read(manage(a.t, a.client, "branch", "interpreter_id", interpreter))
	return answer.InterpreterID
}

// try runs one attempt, and compares what is said of it with what the agent knows.
func (a *scientist) try(interpreter string, parent *trial, what attempt) {
	a.t.Helper()
	arguments := []any{"plan", what.plan, "interpreter_id", interpreter, "metric_var_name", "score", "maximize", true, "timeout", cmp.Or(what.timeout, 60)}
	if what.apart {
		arguments = append(arguments, "wait", 0)
	}
	answer, text := a.read(run(a.t, a.client, what.code, arguments...))
	if what.apart && answer.Status == sessions.StatusRunning {
		answer, text = a.read(manage(a.t, a.client, "wait", "interpreter_id", interpreter))
	}
	now := &trial{attempt: what, number: len(a.tried) + 1, interpreter: interpreter, execution: answer.Execution, parent: parent}
	if what.buggy == "" {
		now.metric = lastNumber(a.t, answer.Stdout)
	}
	if parent != nil {
		parent.followed = true
	}
	a.tried = append(a.tried, now)
	a.compare(now, answer, text)
}

// lastNumber is what the last line of an output says.
func lastNumber(t *testing.T, stdout string) *float64 {
	t.Helper()
	lines := strings.Split(strings.TrimSpace(stdout), "\n")
	value, err := strconv.ParseFloat(lines[len(lines)-1], 64)
	insist(t, err == nil, "the code printed no score: %s", stdout)
	return &value
}

// compare holds an answer to a trial against what the agent knows of it.
func (a *scientist) compare(now *trial, answer trialAnswer, text string) {
	a.t.Helper()
	insist(a.t, answer.Trial != nil, "trial %d is not told of as one:\n%s", now.number, text)
	why := answer.Trial.Why
	if (why == "") != (now.buggy == "") || !regexp.MustCompile(now.buggy).MatchString(why) {
		a.t.Errorf("trial %d is buggy because %q, not because %q", now.number, why, now.buggy)
	}
	yes := true
	want := &sessions.TrialReport{
		Number: now.number, Steps: experimentSteps, Stage: now.stage(), Depth: now.depth(), Buggy: now.buggy != "",
		Name: "score", Metric: now.metric, Maximize: &yes,
	}
	if now.parent != nil {
		want.Parent = now.parent.number
	}
	if best := a.best(); best != nil {
		want.Best = &sessions.BestTrial{Number: best.number, InterpreterID: best.interpreter, Execution: best.execution, Metric: *best.metric}
	}
	diff := gocmp.Diff(want, answer.Trial, cmpopts.IgnoreFields(sessions.TrialReport{}, "Why"))
	expect(a.t, diff == "", "trial %d (-known +told):\n%s", now.number, diff)
	a.t.Log(regexp.MustCompile(`(?m)^\[trial .*`).FindString(text))
	for _, want := range a.lines(now) {
		expect(a.t, strings.Contains(text+"\n", want), "trial %d: no %q in\n%s", now.number, want, text)
	}
	stop := now.depth() == 3 && now.buggy != ""
	expect(a.t, stop == (answer.Stop != "") && stop == strings.Contains(text, "[stop] "), "trial %d: told to stop: %t\n%s", now.number, !stop, text)
}

// lines are parts of what the agent reads of a trial.
func (a *scientist) lines(now *trial) []string {
	begins := fmt.Sprintf("\n[trial %d of %d] %s", now.number, experimentSteps, now.stage())
	if now.parent != nil {
		begins += fmt.Sprintf(" of trial %d", now.parent.number)
	}
	best := a.best()
	switch {
	case best == nil:
		return []string{begins, "No trial has a metric so far."}
	case best == now:
		return []string{begins, "(more is better). It is the best so far."}
	}
	return []string{begins, fmt.Sprintf("Best so far: trial %d with ", best.number), fmt.Sprintf(", execution %d in interpreter %s.\n", best.execution, best.interpreter)}
}

func (w *trial) stage() string {
	switch {
	case w.parent == nil:
		return sessions.StageDraft
	case w.parent.buggy != "":
		return sessions.StageDebug
	}
	return sessions.StageImprove
}

func (w *trial) depth() int {
	if w.stage() != sessions.StageDebug {
		return 0
	}
	return w.parent.depth() + 1
}

// best is the best trial that the agent remembers, nil if none has a metric.
func (a *scientist) best() (best *trial) {
	highest := math.Inf(-1)
	for _, each := range a.tried {
		if each.metric != nil && *each.metric > highest {
			best, highest = each, *each.metric
		}
	}
	return best
}

// mendable is the first trial that nothing has followed and a repair is known for.
func (a *scientist) mendable() *trial {
	for _, each := range a.tried {
		if each.buggy != "" && !each.followed && len(each.repairs) > 0 {
			return each
		}
	}
	return nil
}

// asksForBothDirections: a trial that wants less of what others want more of is
// refused, and is none.
func (a *scientist) asksForBothDirections() {
	a.t.Helper()
	_, err := call(a.client, "run_python_code", "code", "score = 1.0", "interpreter_id", a.prepared, "metric_var_name", "score", "maximize", false)
	if !regexp.MustCompile(`maximize is false for score, but trial 1 .*has maximize true for score`).MatchString(fmt.Sprint(err)) {
		a.t.Errorf("both directions in one experiment: %v", err)
	}
}

// laboratory is a place of its own for an experiment: a server's directories.
type laboratory struct{ data, experiments string }

func (l *laboratory) command(t *testing.T, arguments ...string) *exec.Cmd {
	t.Helper()
	cmd := command(t, arguments...)
	cmd.Env = append(cmd.Env, "UNDERSTUDY_DATA_DIR="+l.data)
	return cmd
}

func (l *laboratory) connect(t *testing.T) *client.Client {
	t.Helper()
	table, err := filepath.Abs(customers)
	must(t, err)
	// No trial is to be answered as running unless that is asked for.
	return spawn(t, l.command(t, "serve", "--trials", "--data", table, "--steps", fmt.Sprint(experimentSteps), "--run-dir", l.experiments, "--wait", "9m"))
}

// run runs the program on what the server has left.
func (l *laboratory) run(t *testing.T, arguments ...string) string {
	t.Helper()
	cmd := l.command(t, arguments...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	stdout, err := cmd.Output()
	insist(t, err == nil, "understudy %s: %v\n%s\n%s", strings.Join(arguments, " "), err, stdout, stderr.String())
	return string(stdout)
}

// customers is the table of the example.
const customers = root + "examples/experiment/customers.csv"

// TestExampleData: the table is the one that its script makes.
func TestExampleData(t *testing.T) {
	made, err := exec.CommandContext(t.Context(), python(), root+"examples/experiment/make_customers.py").Output()
	must(t, err)
	diff := gocmp.Diff(readFile(t, customers), string(made))
	expect(t, diff == "", "customers.csv is not what make_customers.py writes (-committed +made):\n%s", diff)
}
