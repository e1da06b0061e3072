package worker

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"understudy/internal/worker/workertest"
	"understudy/sessions"
)

// TestResident: the memory of a process is told while it lives.
func TestResident(t *testing.T) {
	w := workertest.Start(t, testZygote(t))
	before := w.Resident()
	if before < 1<<20 {
		t.Errorf("%d bytes", before)
	}
	const size = 64 << 20
	workertest.Run(t, w, fmt.Sprintf("x = b'x' * %d", size))
	if grown := w.Resident() - before; grown < size || grown > 2*size {
		t.Errorf("it grew by %d bytes", grown)
	}
	workertest.RunToDeath(t, w, "import os; os._exit(9)")
	if after := w.Resident(); after != 0 {
		t.Errorf("%d bytes of a process that has ended", after)
	}
}

func BenchmarkResident(b *testing.B) {
	w := workertest.Start(b, testSpawner(b))
	for b.Loop() {
		if w.Resident() == 0 {
			b.Fatal("nothing")
		}
	}
}

// remembering is a Recorder.
type remembering struct {
	mu      sync.Mutex
	ids     []string
	entries []sessions.Entry
	stands  []sessions.SessionState
}

func (r *remembering) Begin(context.Context, sessions.Entry) error { return nil }

func (r *remembering) Record(_ context.Context, e sessions.Entry) (*sessions.TrialReport, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.entries = append(r.entries, e)
	return nil, nil
}

func (r *remembering) SaveSession(_ context.Context, s sessions.SessionState) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stands = append(r.stands, s)
	return nil
}

// place writes a Place with the interpreter's letter.
func (r *remembering) place(p sessions.StateRef) string {
	for i, id := range r.ids {
		if id == p.InterpreterID {
			return fmt.Sprintf("%c%d", 'A'+i, p.Execution)
		}
	}
	return "-"
}

func (r *remembering) line(e sessions.Entry) string {
	own := sessions.StateRef{InterpreterID: e.InterpreterID, Execution: e.Execution}
	line := strings.Join([]string{r.place(own), r.place(e.Parent), r.place(e.Follows), r.place(e.Present)}, " ")
	switch {
	case e.Metric == nil:
	case e.Metric.Value != nil:
		line += fmt.Sprintf(" %g", *e.Metric.Value)
	default:
		line += " " + e.Metric.Problem
	}
	return line
}

// TestLineageOfRealProcesses: states, outcomes and metrics of trials across a crash, a
// branch and an undo, as a Recorder is told of them.
func TestLineageOfRealProcesses(t *testing.T) {
	told := &remembering{}
	m := sessions.NewManager(sessions.Options{
		Starter: testZygote(t), Recorder: told, Dir: t.TempDir(), WorkdirRoot: t.TempDir(),
		Timeout: time.Minute, MaxTimeout: time.Hour, Wait: time.Minute, Grace: 5 * time.Second,
		MaxSessions: 4, Queue: 2, History: 3, OutputLimit: 1 << 20, SpoolAfter: 1 << 10, SpoolLimit: 1 << 20,
	})
	defer m.Close(context.Background())
	const client = "me"
	run := func(place int, code string) {
		t.Helper()
		r := sessions.RunRequest{Code: code, Trial: &sessions.Trial{MetricVarName: "score"}}
		if place < len(told.ids) {
			r.InterpreterID = told.ids[place]
		}
		result, err := m.Run(t.Context(), client, r)
		if err != nil {
			t.Fatal(err)
		}
		if len(told.ids) == 0 {
			told.ids = append(told.ids, result.InterpreterID)
		}
	}
	run(0, "score = 0.5\nprint('a line' * 1000)")
	run(0, "import os\nscore = 0.75\nos.kill(os.getpid(), 11)")
	run(0, "x = score")
	branch, err := m.Branch(t.Context(), client, told.ids[0])
	if err != nil {
		t.Fatal(err)
	}
	told.ids = append(told.ids, branch.ID)
	run(1, "y = x + score")
	run(1, "score = y")
	if _, err := m.Undo(t.Context(), client, branch.ID); err != nil {
		t.Fatal(err)
	}
	run(1, "score += 0.125")

	var got []string
	for _, e := range told.entries {
		got = append(got, told.line(e))
		if lives := e.Result.Status != sessions.StatusCrashed; lives && e.Memory < 1<<20 {
			t.Errorf("execution %d: %d bytes", e.Execution, e.Memory)
		}
	}
	want := []string{
		"A1 - - A1 0.5",
		"A2 A1 A1 A1",
		"A3 A1 A2 A3 score was not assigned by this run",
		"B4 A3 A3 B4 score was not assigned by this run",
		"B5 B4 B4 B5 1",
		"B6 B4 B4 B6 0.625",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if p := told.entries[0].Printed[sessions.Stdout]; p.Size != 6001 || p.Path == "" {
		t.Errorf("%+v", p)
	} else if text, err := os.ReadFile(p.Path); err != nil || len(text) != 6001 {
		t.Errorf("%d bytes, %v", len(text), err)
	}
	m.Close(t.Context())
	var stands []string
	for _, s := range told.stands {
		stands = append(stands, fmt.Sprint(told.place(s.Present), " ", told.place(s.Origin), " ", !s.Ended.IsZero()))
	}
	if len(stands) != 5 || !cmp.Equal(stands[:3], []string{"- - false", "A3 A3 false", "B4 A3 false"}) {
		t.Errorf("%q", stands)
	}
}
