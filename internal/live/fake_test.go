package live

import (
	"context"
	"fmt"
	"sync"
	"time"

	"understudy/internal/journal"
	"understudy/sessions"
)

// noon is when everything here is looked at.
var noon = time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)

const (
	first  = "3fa9c1d0e0f0a0b0c0d0e0f0a0b0c0d0"
	branch = "77be02d0e0f0a0b0c0d0e0f0a0b0c0d0"
)

// execution makes one of a run; its id is its revision.
func execution(id, parent int64, interpreter string, number int, code string, status sessions.Status) journal.Execution {
	return journal.Execution{
		ID: id, Revision: id, Run: "K3F9A2B7QX", Place: sessions.StateRef{InterpreterID: interpreter, Execution: number},
		Client: "claude-code", Kind: sessions.RunsCode, Code: code, Parent: parent, Follows: parent, Status: status,
		Started: noon.Add(-10*time.Minute + time.Duration(id)*time.Minute), Limit: time.Hour, ExecTime: 3200 * time.Millisecond, Memory: 212e6,
	}
}

// trial makes an execution a trial with a metric, or a buggy one where that is 0.
func trial(e journal.Execution, number int, parent int64, stage, plan string, metric float64) journal.Execution {
	e.Trial = &journal.Trial{Experiment: "e1", Number: number, Parent: parent, Stage: stage, Plan: plan, MetricName: "accuracy", Maximize: true}
	if metric != 0 {
		e.Trial.Metric = &metric
	} else if e.Status != sessions.StatusRunning {
		e.Trial.Buggy, e.Trial.Why = true, "NameError: name 'Forest' is not defined"
	}
	return e
}

// anExperiment is eight trials: a best one, two buggy ones, one that runs.
func anExperiment() []journal.Execution {
	const draft, debug, improve = sessions.StageDraft, sessions.StageDebug, sessions.StageImprove
	return []journal.Execution{
		trial(execution(2, 1, first, 2, "model = LogisticRegression()", sessions.StatusOK), 1, 0, draft, "Logistic regression on the four measurements", 0.873),
		trial(execution(3, 1, first, 3, "rf = Forest()", sessions.StatusError), 2, 0, draft, "Random forest with 200 trees,\nthe defaults else", 0),
		trial(execution(4, 3, first, 4, "rf = RandomForestClassifier()", sessions.StatusOK), 3, 3, debug, "Import the class that was missing", 0.9021),
		trial(execution(5, 4, branch, 1, "gb = HistGradientBoostingClassifier()", sessions.StatusOK), 4, 4, improve, "Boosting, 日本語で説明する \x1b[31mred\x1b[0m e\u0301a\u0301 \U0001F468\u200d\U0001F469 \u202eright to left", 0.91236),
		trial(execution(6, 5, branch, 2, "gb = HistGradientBoostingClassifier(10**9)", sessions.StatusTimeout), 5, 5, improve, "Many more iterations", 0),
		trial(execution(7, 4, first, 5, "rf = RandomForestClassifier(800)", sessions.StatusOK), 6, 4, improve, "More trees", 0.9018),
		trial(execution(8, 1, first, 6, "svm = SVC()", sessions.StatusOK), 7, 0, draft, "", 0.8555),
		trial(execution(9, 5, first, 7, "for epoch in range(30):\n\ttrain()", sessions.StatusRunning), 8, 5, improve, "A small network", 0),
	}
}

func aRun() journal.Run {
	return journal.Run{
		ID: "K3F9A2B7QX", Started: noon.Add(-12 * time.Minute), Alive: true, PID: 4711, Version: "0.5.0", Python: "3.12.4", Steps: 20,
		RunDir: "/home/ada/.local/share/understudy/experiments", Workspace: "/home/ada/.local/share/understudy/workspaces/1", Executions: 8, Trials: 8,
		Task: "Predict the species\x1b[31m of each flower\nfrom four measurements.", Name: "iris",
	}
}

func pastRun() journal.Run {
	return journal.Run{ID: "QX2K7A9B3C", Started: noon.Add(-26 * time.Hour), Ended: noon.Add(-25 * time.Hour), PID: 9, Version: "0.4.0", Executions: 12}
}

func someInterpreters() []journal.Interpreter {
	return []journal.Interpreter{
		{ID: first, Run: "K3F9A2B7QX", Client: "claude-code", Present: sessions.StateRef{InterpreterID: first, Execution: 6}, Created: noon.Add(-11 * time.Minute)},
		{ID: branch, Run: "K3F9A2B7QX", Client: "claude-code", Parent: first, Origin: sessions.StateRef{InterpreterID: first, Execution: 4},
			Present: sessions.StateRef{InterpreterID: branch, Execution: 2}, Created: noon.Add(-6 * time.Minute)},
		{ID: "c4d5e6", Run: "K3F9A2B7QX", Client: "claude-code", Created: noon.Add(-9 * time.Minute), Ended: noon.Add(-8 * time.Minute)},
	}
}

func someHeartbeats() []journal.Heartbeat {
	return []journal.Heartbeat{
		{Run: "K3F9A2B7QX", At: noon, InterpreterID: first, Memory: 212e6, Waiting: 1, Execution: 7, Code: "for epoch in range(30):\n\ttrain()\n", Started: noon.Add(-6 * time.Minute), Limit: time.Hour,
			Tail: "epoch 1\repoch 2\n\x1b]0;owned\x07epoch\u202e 3 loss 0.2\n"},
		{Run: "K3F9A2B7QX", At: noon, InterpreterID: branch, Memory: 98e6},
	}
}

// aPicture is what a look at the experiment finds.
func aPicture() picture {
	run := aRun()
	return picture{at: noon, run: &run, interpreters: someInterpreters(), heartbeats: someHeartbeats(), executions: anExperiment()}
}

// fakeSource is a journal in memory.
type fakeSource struct {
	mu         sync.Mutex
	runs       []journal.Run // the newest first
	executions []journal.Execution
	problem    error
	asked      []journal.Query
	closed     bool
}

func (f *fakeSource) Runs(context.Context, int) ([]journal.Run, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.runs, f.problem
}

func (f *fakeSource) Run(_ context.Context, id string) (*journal.Run, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, r := range f.runs {
		if id == "" || r.ID == id {
			return &r, f.problem
		}
	}
	return nil, fmt.Errorf("no such run: %w", &journal.NotFoundError{})
}

func (f *fakeSource) Interpreters(context.Context, string) ([]journal.Interpreter, error) {
	return someInterpreters(), nil
}

func (f *fakeSource) Heartbeats(context.Context, string) ([]journal.Heartbeat, error) {
	return someHeartbeats(), nil
}

func (f *fakeSource) Executions(_ context.Context, q journal.Query) ([]journal.Execution, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked = append(f.asked, q)
	var found []journal.Execution
	for _, e := range f.executions {
		if e.Run == q.Run && e.Revision > q.Since && (q.ID == 0 || q.ID == e.ID) && (!q.Trials || e.Trial != nil) {
			found = append(found, e)
		}
	}
	return found[max(0, len(found)-q.Limit):], nil
}

func (f *fakeSource) Close() error {
	f.closed = true
	return nil
}

func (f *fakeSource) change(do func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	do()
}
