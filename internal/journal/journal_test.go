package journal

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"understudy/sessions"
)

// begin opens a journal that is closed with the test.
func begin(t testing.TB, path string, options Options) *Journal {
	t.Helper()
	j, err := Open(path, options)
	must(t, err)
	t.Cleanup(func() { end(t, j) })
	return j
}

func end(t testing.TB, j *Journal) {
	t.Helper()
	if j.closed {
		return
	}
	err := j.Close(context.Background())
	expect(t, err == nil, "%v", err)
}

// agent does in one interpreter what a session would tell a journal.
type agent struct {
	t       testing.TB
	j       *Journal
	id      string
	client  sessions.Client
	number  int
	present sessions.StateRef
	follows sessions.StateRef // of the next, when the last lost its process
	secrets []string
}

func newAgent(t testing.TB, j *Journal, id string, client sessions.Client) *agent {
	a := &agent{t: t, j: j, id: id, client: client}
	a.stand()
	return a
}

func (a *agent) stand() {
	a.t.Helper()
	must(a.t, a.j.SaveSession(a.t.Context(), sessions.SessionState{InterpreterID: a.id, Client: a.client, Created: time.Now(), Present: a.present}))
}

func (a *agent) branch(id string) *agent {
	a.t.Helper()
	b := &agent{t: a.t, j: a.j, id: id, client: a.client, number: a.number, present: a.present}
	must(a.t, a.j.SaveSession(a.t.Context(), sessions.SessionState{
		InterpreterID: id, Client: a.client, Created: time.Now(), Parent: a.id, Origin: a.present, Present: a.present,
	}))
	return b
}

// next is the entry of an execution that begins.
func (a *agent) next(code string, trial *sessions.Trial) sessions.Entry {
	a.number++
	e := sessions.Entry{
		InterpreterID: a.id, Execution: a.number, Client: a.client, Kind: sessions.RunsCode, Code: code, Started: time.Now(),
		Limit: time.Hour, Trial: trial, Parent: a.present, Follows: a.present, Secrets: a.secrets,
	}
	if a.follows != (sessions.StateRef{}) {
		e.Follows, a.follows = a.follows, sessions.StateRef{}
	}
	return e
}

// begin begins an execution.
func (a *agent) begin(code string, trial *sessions.Trial) sessions.Entry {
	a.t.Helper()
	e := a.next(code, trial)
	must(a.t, a.j.Begin(a.t.Context(), e))
	return e
}

// done is the same entry once it has ended.
func (a *agent) done(e sessions.Entry, r sessions.Result) sessions.Entry {
	here := sessions.StateRef{InterpreterID: a.id, Execution: e.Execution}
	r.InterpreterID, r.Execution, r.Kind = a.id, e.Execution, e.Kind
	if r.Status == "" {
		r.Status = sessions.StatusOK
	}
	if r.Status == sessions.StatusCrashed {
		a.follows = here
	} else {
		a.present = here
	}
	e.Present, e.Result = a.present, &r
	for stream, text := range []string{r.Stdout, r.Stderr} {
		if e.Printed[stream].Text == nil {
			e.Printed[stream] = sessions.Printed{Text: []byte(text), Size: int64(len(text))}
		}
	}
	return e
}

// run is an execution that is no trial.
func (a *agent) run(code string, r sessions.Result) {
	a.t.Helper()
	_, err := a.j.Record(a.t.Context(), a.done(a.next(code, nil), r))
	expect(a.t, err == nil, "%s: %v", code, err)
}

// try is a trial that ends with a metric, NaN-free, or with a result that failed.
func (a *agent) try(metric float64, maximize bool, r sessions.Result) *sessions.TrialReport {
	a.t.Helper()
	e := a.next(fmt.Sprintf("score = %v", metric), &sessions.Trial{Plan: "try", MetricVarName: "score", Maximize: maximize})
	if err := a.j.Begin(a.t.Context(), e); err != nil {
		a.number--
		a.t.Error(err)
		return nil
	}
	e = a.done(e, r)
	e.Metric = &sessions.Metric{Value: &metric}
	report, err := a.j.Record(a.t.Context(), e)
	expect(a.t, err == nil, "%v", err)
	return report
}

func newPath(t testing.TB) string { return filepath.Join(t.TempDir(), "journal.db") }

func TestWhatIsRecordedIsRead(t *testing.T) {
	file, scratch := newPath(t), t.TempDir()
	j := begin(t, file, Options{Run: Run{Version: "v1", PID: 7, Config: "timeout: 1h\n", Python: "3.12", Steps: 20}})
	figure, spool := filepath.Join(scratch, "f.PNG"), filepath.Join(scratch, "stdout")
	long := strings.Repeat("é line\n", 50_000)
	for name, text := range map[string]string{figure: "png", spool: long} {
		must(t, os.WriteFile(name, []byte(text), 0o600))
	}
	a := newAgent(t, j, "3fa9", "stdio")
	e := a.begin("x = 1\x00", nil)
	r := open(t, file)
	before, err := r.Executions(t.Context(), Query{Run: j.RunID()})
	if err != nil || len(before) != 1 || before[0].Status != sessions.StatusRunning || before[0].Detail != nil {
		t.Fatalf("while it runs: %+v, %v", before, err)
	}
	e.Printed[sessions.Stdout] = sessions.Printed{Text: []byte{}, Path: spool, Size: int64(len(long))}
	e.Memory = 1 << 20
	e = a.done(e, sessions.Result{
		Stdout: long, TermOut: []string{long, "took 1 s"}, ExecTime: 1.5, Result: []byte(`{"a":1}`),
		Figures: []sessions.Figure{{Path: figure, Title: "t"}}, Variables: &sessions.VariableDiff{Added: []string{"x"}},
	})
	if _, err := j.Record(t.Context(), e); err != nil {
		t.Fatal(err)
	}
	after, err := r.Executions(t.Context(), Query{Since: before[0].Revision, Run: j.RunID(), Detail: true})
	insist(t, err == nil && len(after) == 1, "afterwards: %v, %v", after, err)
	got := after[0]
	if got.ID != before[0].ID || got.Code != "x = 1\x00" || got.ExecTime != 1500*time.Millisecond || !got.Changed || got.Memory != 1<<20 || got.Trial != nil {
		t.Errorf("%+v", got)
	}
	d := got.Detail
	if len(d.Stdout.Text) > largestText+100 || !strings.Contains(d.Stdout.Text, "characters truncated") || d.Stdout.Size != int64(len(long)) {
		t.Errorf("the text has %d bytes", len(d.Stdout.Text))
	}
	if whole, err := os.ReadFile(d.Stdout.Path); err != nil || string(whole) != long {
		t.Errorf("the file has %d bytes, %v", len(whole), err)
	}
	expect(t, len(d.TermOut) == 4 && d.TermOut[3] == "took 1 s", "term_out has %d pieces", len(d.TermOut))
	if png, err := os.ReadFile(d.Figures[0].File); err != nil || string(png) != "png" || filepath.Ext(d.Figures[0].File) != ".png" {
		t.Errorf("figure: %q, %v", d.Figures[0].File, err)
	}
	expect(t, string(d.Record.Result) == `{"a":1}` && d.Record.Stdout == "", "record: %+v", d.Record)
	expect(t, e.Result.Stdout == long, "the client's answer was changed")
}

func TestOnlyTheOwnerMayRead(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("modes are of Unix")
	}
	file := filepath.Join(t.TempDir(), "new", "journal.db")
	j := begin(t, file, Options{})
	newAgent(t, j, "a", "c").run("1", sessions.Result{})
	for name, want := range map[string]os.FileMode{
		filepath.Dir(file): 0o700, file: 0o600, file + "-wal": 0o600, filesOf(file): 0o700, lockOf(file, j.RunID()): 0o600,
	} {
		if info, err := os.Stat(name); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
	}
}

func TestClose(t *testing.T) {
	file := newPath(t)
	j := begin(t, file, Options{})
	a := newAgent(t, j, "a", "c")
	a.run("1", sessions.Result{})
	r := open(t, file)
	if run, err := r.Run(t.Context(), ""); err != nil || !run.Alive || run.Executions != 1 {
		t.Errorf("alive: %+v, %v", run, err)
	}
	must(t, r.Close())
	end(t, j)
	r = open(t, file)
	run, err := r.Run(t.Context(), "")
	expect(t, err == nil && !run.Alive && !run.Ended.IsZero(), "ended: %+v, %v", run, err)
	if all, err := r.Interpreters(t.Context(), run.ID); err != nil || len(all) != 1 || all[0].Ended.IsZero() || all[0].Present.Execution != 1 {
		t.Errorf("%+v, %v", all, err)
	}
	if err := j.Begin(t.Context(), a.next("2", nil)); err == nil {
		t.Error("a closed journal took an execution")
	}
	left, _ := os.ReadDir(filesOf(file))
	expect(t, len(left) == 0, "left: %v", left)
}
