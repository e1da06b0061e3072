package report

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"understudy/internal/journal"
	"understudy/sessions"
)

// sample is an experiment that tries all there is: drafts, a debug, improvements,
// code that would end a script element, a figure.
type sample struct {
	journal.Run
	executions []journal.Execution
}

func (s *sample) find(id int64) *journal.Execution {
	for i := range s.executions {
		if s.executions[i].ID == id {
			return &s.executions[i]
		}
	}
	return nil
}

// add adds an execution below another one; what is left zero is filled in.
func (s *sample) add(e journal.Execution) *journal.Execution {
	e.ID = int64(len(s.executions) + 1)
	e.Revision, e.Run = e.ID, s.Run.ID
	e.Place = sessions.StateRef{InterpreterID: "3fa9c0de11112222", Execution: int(e.ID)}
	e.Started = s.Started.Add(time.Duration(e.ID) * time.Minute)
	if e.Kind == "" {
		e.Kind = sessions.RunsCode
	}
	if e.Status == "" {
		e.Status = sessions.StatusOK
	}
	if e.ExecTime == 0 {
		e.ExecTime = time.Duration(e.ID) * 1234 * time.Millisecond
	}
	if e.Detail == nil {
		e.Detail = &journal.Detail{}
	}
	if e.Trial != nil {
		e.Trial.Experiment, e.Trial.Number = "E", 1
		for _, other := range s.executions {
			if other.Trial != nil {
				e.Trial.Number++
			}
		}
	}
	s.executions = append(s.executions, e)
	return s.find(e.ID)
}

const hostile = "</script><script>document.title='x'</script><!-- ]]> <img src=x onerror=\"document.title='y'\"> \u2028 `|` ``` # *a*"

func newSample(t testing.TB) *sample {
	t.Helper()
	s := &sample{Run: journal.Run{
		ID: "ABCDEFGH12", Started: time.Date(2026, 5, 4, 10, 0, 0, 0, time.UTC), Ended: time.Date(2026, 5, 4, 10, 30, 0, 0, time.UTC),
		Version: "1.2.3", Python: "3.12.1", Config: "trials: true\nsteps: 8\n", Steps: 8, Trials: 6, Executions: 7,
		Task: "Fit rows. " + hostile + "\n\nThe score is the absolute error.", Name: "line", Search: sessions.Search{Drafts: 5, DebugDepth: 3, DebugProb: 0.5},
	}}
	metric := func(value float64) *float64 { return &value }
	s.add(journal.Execution{Code: "import random\nrows = [(x, 2 * x + random.Random(x).random()) for x in range(50)]", Changed: true})
	s.add(journal.Execution{Parent: 1, Follows: 1, Code: "mean = sum(y for _, y in rows) / len(rows)\nscore = sum(abs(y - mean) for _, y in rows)\nprint('baseline', score)", Changed: true,
		Trial:  &journal.Trial{Plan: "Predict the mean, as a baseline.", Stage: sessions.StageDraft, MetricName: "score", Metric: metric(1250.4375)},
		Detail: &journal.Detail{TermOut: []string{"baseline 1250.4375\n"}}})
	s.add(journal.Execution{Parent: 2, Follows: 2, Code: "slope = fit(rows)  # " + hostile, Status: sessions.StatusError,
		Trial: &journal.Trial{Plan: "Fit a line. " + hostile, Stage: sessions.StageImprove, Parent: 2, MetricName: "score", Buggy: true, Why: "NameError: name 'fit' is not defined"},
		Detail: &journal.Detail{TermOut: []string{hostile + "\n"}, Record: sessions.Result{ExcType: "NameError", ExcInfo: &sessions.ExceptionInfo{Name: "fit"},
			Traceback: "Traceback (most recent call last):\n  File \"runfile.py\", line 1, in <module>\nNameError: name 'fit' is not defined"}}})
	figure := filepath.Join(t.TempDir(), "line.png")
	writePNG(t, figure)
	s.add(journal.Execution{Parent: 3, Follows: 3, Code: "slope = sum(x * y for x, y in rows) / sum(x * x for x, _ in rows)\nscore = sum(abs(y - slope * x) for x, y in rows)", Changed: true,
		Trial:  &journal.Trial{Plan: "Fit the line by least squares myself.\n\nNo library is needed for that.", Stage: sessions.StageDebug, Parent: 3, Depth: 1, MetricName: "score", Metric: metric(13.25)},
		Detail: &journal.Detail{Figures: []journal.Figure{{Figure: sessions.Figure{Path: "/gone.png", MIMEType: "image/png", Width: 60, Height: 40, Title: "Line | fitted"}, File: figure}}}})
	s.add(journal.Execution{Parent: 4, Follows: 4, Code: "offset = 0.5\nscore = sum(abs(y - slope * x - offset) for x, y in rows)", Changed: true,
		Trial: &journal.Trial{Plan: "Add an offset of a half.", Analysis: "The errors lie on one side. " + hostile, Stage: sessions.StageImprove, Parent: 4, MetricName: "score", Metric: metric(12.125)}})
	s.add(journal.Execution{Parent: 5, Follows: 5, Code: "while True: pass", Status: sessions.StatusTimeout, Limit: 7 * time.Second,
		Trial:  &journal.Trial{Plan: "Search the offset.", Stage: sessions.StageImprove, Parent: 5, MetricName: "score", Buggy: true, Why: "it reached its time limit"},
		Detail: &journal.Detail{Record: sessions.Result{ExcType: "TimeoutError"}}})
	s.add(journal.Execution{Parent: 4, Follows: 4, Code: "score = 40",
		Trial: &journal.Trial{Plan: "Something else from the line on.", Stage: sessions.StageImprove, Parent: 4, MetricName: "score", Metric: metric(40)}})
	for _, e := range s.executions {
		e.Detail.Python = new(string) // it ran as it was
	}
	return s
}

func writePNG(t testing.TB, path string) {
	t.Helper()
	line := image.NewRGBA(image.Rect(0, 0, 60, 40))
	for x := range 60 {
		line.Set(x, 39-x*39/59, color.RGBA{R: 200, G: 40, A: 255})
	}
	var data bytes.Buffer
	must(t, png.Encode(&data, line))
	must(t, os.WriteFile(path, data.Bytes(), 0o600))
}

// Run and the others are what a journal's reader gives.
func (s *sample) load(t testing.TB) *Experiment {
	t.Helper()
	x, err := Load(t.Context(), source{s}, s.Run, "E")
	must(t, err)
	return x
}

// source reads a sample as a journal.
type source struct{ *sample }

func (s source) Run(_ context.Context, id string) (*journal.Run, error) {
	if !strings.HasPrefix(s.sample.Run.ID, id) {
		return nil, fmt.Errorf("no run %q", id)
	}
	return &s.sample.Run, nil
}

func (s source) Experiments(context.Context, string) ([]string, error) { return []string{"E"}, nil }

func (s source) Executions(_ context.Context, q journal.Query) ([]journal.Execution, error) {
	var found []journal.Execution
	for _, e := range s.executions {
		if (e.Trial != nil || !q.Trials) && e.Revision > q.Since && q.Experiment != "unknown" {
			found = append(found, e)
		}
	}
	return found, nil
}

func (s source) Line(_ context.Context, id int64) ([]journal.Execution, error) {
	var line []journal.Execution
	for e := s.find(id); e != nil; e = s.find(e.Parent) {
		line = append([]journal.Execution{*e}, line...)
	}
	return line, nil
}
