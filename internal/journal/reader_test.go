package journal

import (
	"context"
	"database/sql"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"understudy/sessions"
)

// byHand makes a journal of the present version and fills it with statements.
func byHand(t *testing.T, statements ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a journal?#%.db")
	db, err := sql.Open("sqlite", source(path, "_pragma=journal_mode(WAL)"))
	must(t, err)
	defer db.Close()
	conn, err := db.Conn(t.Context())
	must(t, err)
	defer conn.Close()
	must(t, migrate(t.Context(), conn, path))
	for _, s := range statements {
		_, err := conn.ExecContext(t.Context(), s)
		insist(t, err == nil, "%s: %v", s, err)
	}
	return path
}

func open(t *testing.T, path string) *Reader {
	t.Helper()
	r, err := OpenReader(path)
	must(t, err)
	t.Cleanup(func() { must(t, r.Close()) })
	return r
}

const (
	aRun          = `INSERT INTO runs (id, started, ended, pid, version, config, python, steps, workspace, run_dir) VALUES `
	anInterpreter = `INSERT INTO interpreters (id, run, client, root, created) VALUES `
	anExecution   = `INSERT INTO executions (id, revision, run, interpreter, number, client, kind, code, started, time_limit, parent, follows, line, status) VALUES `
)

// The server of the second run is dead: no system has so high a process id.
func small(t *testing.T) string {
	return byHand(t,
		aRun+`('AAAAAAAAA2', 1000, 2000, 7, 'v', 'timeout: 1h', '3.12', 20, '', ''), ('AAAAAAAAB2', 3000, 0, 1073741824, 'v', '', '', 0, '', '')`,
		anInterpreter+`('3fa9aa', 'AAAAAAAAA2', 'stdio', '3fa9aa', 1100), ('3fa9bb', 'AAAAAAAAB2', 'stdio', '3fa9bb', 3100)`,
		anExecution+`(1, 1, 'AAAAAAAAA2', '3fa9aa', 1, 'stdio', 'code', 'x = 1', 1200, 5, 0, 0, 0, 'ok'),
			(2, 4, 'AAAAAAAAA2', '3fa9aa', 2, 'stdio', 'code', 'raise', 1300, 5, 1, 1, 0, 'error'),
			(3, 3, 'AAAAAAAAA2', '3fa9aa', 3, 'stdio', 'code', 'x', 1400, 5, 1, 2, 0, 'ok'),
			(4, 5, 'AAAAAAAAB2', '3fa9bb', 1, 'stdio', 'plugin', 'p', 3400, 5, 0, 0, 0, 'running')`,
		`UPDATE executions SET experiment = 'AAAAAAAAA2', trial = 1, metric_name = 'score', maximize = 1, metric = 0.5, buggy = 0, stage = 'draft', line = 3 WHERE id = 3`,
		`INSERT INTO experiments (name, run, owner, number, trials, best) VALUES ('AAAAAAAAA2', 'AAAAAAAAA2', 'stdio', 1, 1, 3)`,
		`INSERT INTO details VALUES (3, '{"Record": {"status": "ok", "result": 1}, "TermOut": ["1\n"], "Stdout": {"Text": "1\n", "Path": "AAAAAAAAA2/out"}, "Figures": [{"path": "/gone.png", "File": "AAAAAAAAA2/f.png"}]}')`,
		`INSERT INTO pulses VALUES ('3fa9bb', 'AAAAAAAAB2', 5400, 'stdio', 7, 0, 1, 'p', 3400, 5, 'tail', 1, '{"time":3}')`,
	)
}

func ids(all []Execution) []int64 {
	var found []int64
	for _, e := range all {
		found = append(found, e.ID)
	}
	return found
}

func TestReader(t *testing.T) {
	path := small(t)
	r := open(t, path)
	run, err := r.Run(t.Context(), "aaaaaaaaa")
	if err != nil || run.ID != "AAAAAAAAA2" || run.Executions != 3 || run.Trials != 1 || run.Alive || run.Config == "" {
		t.Errorf("run: %+v, %v", run, err)
	}
	if newest, err := r.Run(t.Context(), ""); err != nil || newest.ID != "AAAAAAAAB2" {
		t.Errorf("the newest: %+v, %v", newest, err)
	}
	for _, test := range []struct {
		what string
		q    Query
		want []int64
	}{
		{"all", Query{}, []int64{1, 2, 3, 4}},
		{"of a run", Query{Run: "AAAAAAAAA2"}, []int64{1, 2, 3}},
		{"the newest two", Query{Run: "AAAAAAAAA2", Limit: 2}, []int64{2, 3}},
		{"trials", Query{Trials: true}, []int64{3}},
		{"of an experiment", Query{Experiment: "AAAAAAAAA2"}, []int64{3}},
		{"what is new", Query{Run: "AAAAAAAAA2", Since: 3}, []int64{2}},
		{"of an interpreter", Query{Interpreter: "3fa9bb"}, []int64{4}},
		{"one", Query{ID: 2, Run: "AAAAAAAAA2"}, []int64{2}},
		{"none", Query{Interpreter: "none"}, nil},
	} {
		got, err := r.Executions(t.Context(), test.q)
		if err != nil || !slices.Equal(ids(got), test.want) {
			t.Errorf("%s: got %v, %v; want %v", test.what, ids(got), err, test.want)
		}
	}
	line, err := r.Line(t.Context(), 3)
	if err != nil || !slices.Equal(ids(line), []int64{1, 3}) {
		t.Fatalf("line: %v, %v", ids(line), err)
	}
	d := line[1].Detail
	if d == nil || d.Stdout.Text != "1\n" || d.Figures[0].File != filepath.Join(path+".files", "AAAAAAAAA2", "f.png") || d.Record.Kind != sessions.RunsCode {
		t.Errorf("detail: %+v", d)
	}
	if names, err := r.Experiments(t.Context(), "AAAAAAAAA2"); err != nil || !slices.Equal(names, []string{"AAAAAAAAA2"}) {
		t.Errorf("experiments: %v, %v", names, err)
	}
}

// What ran when its server was killed is lost, and nobody has a heartbeat then. Its last one
// tells what it had printed, and for how long it had run.
func TestRunningWithoutServerIsLost(t *testing.T) {
	path := small(t)
	look := func() (sessions.Status, int) {
		r := open(t, path)
		running, err := r.Executions(t.Context(), Query{Interpreter: "3fa9bb"})
		insist(t, err == nil && len(running) == 1, "%v, %v", running, err)
		heartbeats, err := r.Heartbeats(t.Context(), "AAAAAAAAB2")
		must(t, err)
		return running[0].Status, len(heartbeats)
	}
	lock, _, err := hold(path, "AAAAAAAAB2")
	must(t, err)
	if status, heartbeats := look(); status != sessions.StatusRunning || heartbeats != 1 {
		t.Errorf("alive: %s, %d heartbeats", status, heartbeats)
	}
	must(t, lock.Unlock())
	if status, heartbeats := look(); status != StatusLost || heartbeats != 0 {
		t.Errorf("dead: %s, %d heartbeats", status, heartbeats)
	}
	for _, detailed := range []bool{true, false} {
		all, err := open(t, path).Executions(t.Context(), Query{Interpreter: "3fa9bb", Detail: detailed})
		insist(t, err == nil && all[0].ExecTime == 2000 && all[0].Memory == 7 && (all[0].Detail != nil) == detailed, "%+v, %v", all, err)
		if detailed && (!slices.Equal(all[0].Detail.TermOut, []string{"tail"}) || all[0].Detail.Stdout.Text != "tail") {
			t.Errorf("%+v", all[0].Detail)
		}
	}
}

func TestReaderSaysWhatIsWrong(t *testing.T) {
	path := small(t)
	r := open(t, path)
	elsewhere := filepath.Join(t.TempDir(), "none.db")
	text := filepath.Join(t.TempDir(), "text.db")
	must(t, os.WriteFile(text, []byte(strings.Repeat("no database ", 100)), 0o600))
	foreign := filepath.Join(t.TempDir(), "foreign.db")
	fill(t, foreign, "CREATE TABLE t (x)")
	newer := byHand(t, "PRAGMA user_version = 99")
	ctx := t.Context()
	for _, test := range []struct {
		what string
		err  func() error
		want string
	}{
		{"no file", func() error { _, err := OpenReader(elsewhere); return err }, "--journal"},
		{"no database", func() error { _, err := OpenReader(text); return err }, "not a database"},
		{"what to do", func() error { _, err := OpenReader(text); return err }, "--journal"},
		{"another's", func() error { _, err := OpenReader(foreign); return err }, "another program"},
		{"newer", func() error { _, err := OpenReader(newer); return err }, "newer version of understudy"},
		{"several runs", func() error { _, err := r.Run(ctx, "A"); return err }, "AAAAAAAAB2"},
		{"no run", func() error { _, err := r.Run(ctx, "B"); return err }, "no run"},
		{"several interpreters", func() error { _, err := r.Interpreter(ctx, "3fa9"); return err }, "3fa9aa"},
		{"no interpreter", func() error { _, err := r.Interpreter(ctx, "4"); return err }, "no interpreter"},
		{"no execution", func() error { _, err := r.Line(ctx, 77); return err }, "no execution 77"},
	} {
		err := test.err()
		expect(t, err != nil && strings.Count(err.Error(), test.want) == 1, "%s: %v, want %q once", test.what, err, test.want)
	}
	if _, err := os.Stat(elsewhere); err == nil {
		t.Error("reading made the file")
	}
}

// fill runs a statement on a database of any kind.
func fill(t *testing.T, path, statement string) {
	t.Helper()
	db, err := sql.Open("sqlite", source(path))
	must(t, err)
	defer db.Close()
	if _, err := db.ExecContext(context.Background(), statement); err != nil {
		t.Fatal(err)
	}
}

func TestReaderOnAReadOnlyDirectory(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("root may write everywhere")
	}
	path := small(t)
	directory := filepath.Dir(path)
	must(t, os.Chmod(directory, 0o500))
	t.Cleanup(func() { _ = os.Chmod(directory, 0o700) })
	runs, err := open(t, path).Runs(t.Context(), 9)
	expect(t, err == nil && len(runs) == 2, "%v, %v", runs, err)
}

// TestReaderOfAnEmptyFile takes it for none: a server is about to fill it.
func TestReaderOfAnEmptyFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.db")
	must(t, os.WriteFile(path, nil, 0o600))
	_, err := OpenReader(path)
	expect(t, errors.Is(err, fs.ErrNotExist), "%v", err)
}

// TestAliveAfterAMove holds that a lock which is away for a while does not make a
// server dead for good.
func TestAliveAfterAMove(t *testing.T) {
	path := small(t)
	lock, _, err := hold(path, "AAAAAAAAB2")
	must(t, err)
	defer lock.Close()
	r := open(t, path)
	files := filesOf(path)
	must(t, os.Rename(files, files+".away"))
	if run, err := r.Run(t.Context(), "AAAAAAAAB2"); err != nil || run.Alive {
		t.Fatalf("without its lock: %+v, %v", run, err)
	}
	must(t, os.Rename(files+".away", files))
	if run, err := r.Run(t.Context(), "AAAAAAAAB2"); err != nil || !run.Alive {
		t.Errorf("with its lock again: %+v, %v", run, err)
	}
}

// TestInterpretersByName: names repeat from run to run, and from client to client.
func TestInterpretersByName(t *testing.T) {
	key := func(digit string) string { return strings.Repeat(digit, 32) }
	r := open(t, byHand(t,
		aRun+"('OLDRUN0000', 1, 0, 1, '', '', '', 0, '', ''), ('NEWRUN0000', 2, 0, 1, '', '', '', 0, '', '')",
		anInterpreter+"('py1-"+key("a")+"', 'OLDRUN0000', 'stdio', '', 3), ('py1-"+key("b")+"', 'NEWRUN0000', 'stdio', '', 2)",
		anInterpreter+"('again-"+key("1")+"', 'NEWRUN0000', 'stdio', '', 7), ('again-"+key("0")+"', 'NEWRUN0000', 'stdio', '', 8)",
		anInterpreter+"('py10-"+key("c")+"', 'NEWRUN0000', 'stdio', '', 9), ('py2-"+key("d")+"', 'OLDRUN0000', 'stdio', '', 4)",
		anInterpreter+"('own-"+key("e")+"', 'NEWRUN0000', 'principal:anna', '', 5), ('own-"+key("f")+"', 'NEWRUN0000', 'principal:bert', '', 6)",
	))
	for id, want := range map[string]string{
		"py1": "py1-" + key("b"), "OLDRUN/py1": "py1-" + key("a"), "oldrun/py1": "py1-" + key("a"), "py10": "py10-" + key("c"),
		"py2": "py2-" + key("d"), "py1-a": "py1-" + key("a"), "own-e": "own-" + key("e"),
		"again": "again-" + key("0"),
	} {
		i, err := r.Interpreter(t.Context(), id)
		expect(t, err == nil && i.ID == want, "%s: %+v, %v", id, i, err)
	}
	for id, want := range map[string]string{
		"own": "own-" + key("f") + ", own-" + key("e"), "py3": "py3", "NEWRUN/py2": "NEWRUN/py2", "NOSUCH/py1": "NOSUCH/py1",
	} {
		_, err := r.Interpreter(t.Context(), id)
		expect(t, err != nil && strings.Contains(err.Error(), want), "%s: %v", id, err)
	}
}
