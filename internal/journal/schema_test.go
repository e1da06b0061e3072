package journal

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"understudy/sessions"
)

// Files of versions that were released are frozen in testdata: each is taken, what it
// has is read, and it comes out like a new one.
func TestOlderVersionsAreTaken(t *testing.T) {
	columns := func(file string) (all []string) {
		db, conn := connection(t, file)
		defer db.Close()
		defer conn.Close()
		rows, err := conn.QueryContext(t.Context(), `SELECT t.name || '.' || c.name || ' ' || c.type FROM sqlite_schema t JOIN pragma_table_info(t.name) c
			WHERE t.name NOT IN ('counter', 'sqlite_sequence') UNION SELECT name || ' ' || coalesce(sql, '') FROM sqlite_schema
			WHERE type = 'index' AND name <> 'executions_by_revision' ORDER BY 1`) // which older programs read by
		must(t, err)
		defer rows.Close()
		for rows.Next() {
			var one string
			must(t, rows.Scan(&one))
			all = append(all, one)
		}
		return all
	}
	fresh := newPath(t)
	end(t, begin(t, fresh, Options{}))
	for version := 1; version < present; version++ {
		frozen, err := os.ReadFile(fmt.Sprintf("testdata/version%d.sql", version))
		must(t, err)
		file := newPath(t)
		fill(t, file, fmt.Sprintf("%s; PRAGMA user_version = %d; PRAGMA application_id = 1970168953;", frozen, version)+
			aRun+`('AAAAAAAAA2', 1000, 2000, 7, 'v', '', '3.12', 20, '', '');`+
			anInterpreter+`('3fa9aa', 'AAAAAAAAA2', 'stdio', '3fa9aa', 1100);`+
			anExecution+`(1, 1, 'AAAAAAAAA2', '3fa9aa', 1, 'stdio', 'code', 'x = 1', 1200, 5, 0, 0, 0, 'ok');
			INSERT INTO details VALUES (1, '{"Record": {"status": "ok"}, "Stdout": {"Text": "1\n"}}')`)
		j := begin(t, file, Options{})
		a := newAgent(t, j, "a", "c")
		a.run("new", fine)
		a.try(1, true, fine)
		all, err := open(t, file).Executions(t.Context(), Query{Detail: true})
		if err != nil || len(all) != 3 || all[0].Code != "x = 1" || all[0].Detail.Stdout.Text != "1\n" || all[1].ID <= all[0].ID || all[1].Detail == nil {
			t.Errorf("version %d: %+v, %v", version, all, err)
		}
		end(t, j)
		got, want := columns(file), columns(fresh)
		expect(t, slices.Equal(got, want), "version %d comes out as\n%s\nnot as\n%s", version, strings.Join(got, "\n"), strings.Join(want, "\n"))
		checkSound(t, file)
		db, conn := connection(t, file)
		asked := "executions_of_run WHERE run = ''" // by programs of version 3
		if version < 3 {
			asked = "executions_by_revision WHERE revision > 1"
		}
		if _, err := conn.ExecContext(t.Context(), "SELECT id FROM executions INDEXED BY "+asked); err != nil {
			t.Errorf("version %d: what an older program asks that has the file open: %v", version, err)
		}
		_, _ = conn.Close(), db.Close()
	}
}

// A step that fails leaves the version before, and readers say which one that is.
func TestMigrations(t *testing.T) {
	released, version := migrations, present
	defer func() { migrations, present = released, version }()
	file := small(t)
	migrations = append(slices.Clip(released), struct {
		statements string
		to         int
	}{"CREATE TABLE half (x); SELECT nonsense", present + 1})
	present++
	db, conn := connection(t, file)
	defer db.Close()
	defer conn.Close()
	if err := migrate(t.Context(), conn, file); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("to %d", present)) {
		t.Errorf("got %v", err)
	}
	var tables int
	err := conn.QueryRowContext(t.Context(), "SELECT count(*) FROM sqlite_schema WHERE name = 'half'").Scan(&tables)
	got, failed := schemaVersion(t.Context(), conn, file)
	expect(t, err == nil && failed == nil && got == version && tables == 0, "version %d, %d tables of half a step, %v, %v", got, tables, err, failed)
	if _, err := OpenReader(file); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("version %d of the format", version)) {
		t.Errorf("a reader of the version after: %v", err)
	}
}

func connection(t *testing.T, file string) (*sql.DB, *sql.Conn) {
	t.Helper()
	db, err := sql.Open("sqlite", source(file))
	must(t, err)
	conn, err := db.Conn(t.Context())
	must(t, err)
	return db, conn
}

// No statement on the way of a call, and none of a reader that polls, reads a whole
// table.
func TestNothingScans(t *testing.T) {
	j := begin(t, newPath(t), Options{})
	a := newAgent(t, j, "a", "c")
	a.run("x", fine)
	a.branch("b").try(1, true, fine)
	newAgent(t, j, "n", sessions.Anonymous).try(1, true, fine)
	a.begin("runs", &sessions.Trial{MetricVarName: "m", Maximize: true})
	a.stand()
	a.begin("runs", nil)
	e := a.done(a.next("next", nil), fine)
	e.ToolUses = someUses("word")
	_, err := j.Record(t.Context(), e)
	must(t, err)
	must(t, j.SaveHeartbeats(t.Context(), []sessions.Heartbeat{{InterpreterID: "a"}}))
	queries := map[string]bool{}
	j.mu.Lock()
	for query := range j.statements {
		queries[query] = true
	}
	j.mu.Unlock()
	insist(t, len(queries) >= 20, "only %d statements were seen", len(queries))
	for _, q := range []Query{{Run: "r", Since: 1}, {Run: "r", Since: 1, Trials: true, Limit: 9}, {Run: "r"}, {Interpreter: "i"}, {Experiment: "e", Detail: true}} {
		query, _ := q.sql()
		queries[query] = true
	}
	db, conn := connection(t, j.Path())
	defer db.Close()
	defer conn.Close()
	for query := range queries {
		for _, step := range plan(t, conn, query) {
			expect(t, !strings.Contains(step, "TEMP B-TREE") && !strings.HasPrefix(step, "SCAN "), "%s\n\t%s", step, query)
		}
	}
}

func plan(t *testing.T, conn *sql.Conn, query string) (steps []string) {
	t.Helper()
	args := make([]any, strings.Count(query, "?"))
	rows, err := conn.QueryContext(context.Background(), "EXPLAIN QUERY PLAN "+query, args...)
	insist(t, err == nil, "%s: %v", query, err)
	defer rows.Close()
	for rows.Next() {
		var id, parent, unused int
		var step string
		must(t, rows.Scan(&id, &parent, &unused, &step))
		steps = append(steps, step)
	}
	return steps
}

// The check makes no directory, and a failure is said once.
func TestCheckChangesNothing(t *testing.T) {
	directory := t.TempDir()
	size, err := Check(filepath.Join(directory, "new", "sub", "j.db"))
	expect(t, err == nil && size == 0, "%d, %v", size, err)
	if left, err := os.ReadDir(directory); err != nil || len(left) > 0 {
		t.Errorf("left %v, %v", left, err)
	}
	file := filepath.Join(directory, "text")
	must(t, os.WriteFile(file, []byte(strings.Repeat("no database ", 1000)), 0o600))
	if _, err := Check(file); err == nil || strings.Contains(err.Error(), "\n") {
		t.Errorf("got %v", err)
	}
}
