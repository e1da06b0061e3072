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

// The first version's schema is frozen: files of it are there.
func TestVersion1IsTaken(t *testing.T) {
	frozen, err := os.ReadFile("testdata/version1.sql")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "journal.db")
	fill(t, file, string(frozen)+";PRAGMA user_version = 1; PRAGMA application_id = 1970168953;"+
		aRun+`('AAAAAAAAA2', 1000, 2000, 7, 'v', '', '3.12', 20, '', '');`+
		anInterpreter+`('3fa9aa', 'AAAAAAAAA2', 'stdio', '3fa9aa', 1100);`+
		anExecution+`(1, 1, 'AAAAAAAAA2', '3fa9aa', 1, 'stdio', 'code', 'x = 1', 1200, 5, 0, 0, 0, 'ok')`)
	j := begin(t, file, Options{})
	newAgent(t, j, "a", "c").run("new", fine)
	all, err := open(t, file).Executions(t.Context(), Query{})
	if err != nil || len(all) != 2 || all[0].Code != "x = 1" || all[1].ID <= all[0].ID {
		t.Errorf("%+v, %v", all, err)
	}
}

// Each version is made of the one before; a step that fails leaves that as it was.
func TestMigrations(t *testing.T) {
	released := migrations
	defer func() { migrations = released }()
	next := len(released) + 1
	file := small(t)
	migrations = append(slices.Clip(released), "ALTER TABLE runs ADD COLUMN host TEXT NOT NULL DEFAULT ''", "CREATE TABLE half (x); SELECT nonsense")
	db, conn := connection(t, file)
	defer db.Close()
	defer conn.Close()
	if err := migrate(t.Context(), conn, file); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("to version %d", next+1)) {
		t.Errorf("got %v", err)
	}
	version, err := schemaVersion(t.Context(), conn, file)
	var tables int
	if failed := conn.QueryRowContext(t.Context(), "SELECT count(*) FROM sqlite_schema WHERE name = 'half'").Scan(&tables); err != nil || failed != nil || version != next || tables != 0 {
		t.Errorf("version %d, %d tables of half a step, %v, %v", version, tables, err, failed)
	}
	if _, err := OpenReader(file); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("version %d of the format", next)) {
		t.Errorf("a reader of the version after: %v", err)
	}
	migrations = migrations[:next]
	if runs, err := open(t, file).Runs(t.Context(), 9); err != nil || len(runs) != 2 {
		t.Errorf("%v, %v", runs, err)
	}
}

func connection(t *testing.T, file string) (*sql.DB, *sql.Conn) {
	t.Helper()
	db, err := sql.Open("sqlite", source(file))
	if err != nil {
		t.Fatal(err)
	}
	conn, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
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
	if err := j.Begin(t.Context(), a.next("runs", &sessions.Trial{MetricVarName: "m", Maximize: true})); err != nil {
		t.Fatal(err)
	}
	a.stand()
	if err := j.Begin(t.Context(), a.next("runs", nil)); err != nil {
		t.Fatal(err)
	}
	a.run("next", fine)
	if err := j.Pulse(t.Context(), []sessions.Pulse{{InterpreterID: "a"}}); err != nil {
		t.Fatal(err)
	}
	queries := map[string]bool{}
	j.mu.Lock()
	for query := range j.statements {
		queries[query] = true
	}
	j.mu.Unlock()
	if len(queries) < 20 {
		t.Fatalf("only %d statements were seen", len(queries))
	}
	for _, q := range []Query{{Run: "r", Since: 1}, {Run: "r", Since: 1, Trials: true, Limit: 9}, {Run: "r"}, {Interpreter: "i"}, {Experiment: "e", Detail: true}, {Since: 1, Detail: true}} {
		query, _ := q.sql()
		queries[query] = true
	}
	db, conn := connection(t, j.Path())
	defer db.Close()
	defer conn.Close()
	for query := range queries {
		for _, step := range plan(t, conn, query) {
			sorts := strings.Contains(step, "TEMP B-TREE") && !strings.Contains(query, "revision > ?") // sorts what is new
			scans := strings.HasPrefix(step, "SCAN ") && !strings.Contains(step, "counter")            // which has one row
			if sorts || scans {
				t.Errorf("%s\n\t%s", step, query)
			}
		}
	}
}

func plan(t *testing.T, conn *sql.Conn, query string) (steps []string) {
	t.Helper()
	args := make([]any, strings.Count(query, "?"))
	rows, err := conn.QueryContext(context.Background(), "EXPLAIN QUERY PLAN "+query, args...)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	defer rows.Close()
	for rows.Next() {
		var id, parent, unused int
		var step string
		if err := rows.Scan(&id, &parent, &unused, &step); err != nil {
			t.Fatal(err)
		}
		steps = append(steps, step)
	}
	return steps
}

// The check makes no directory, and a failure is said once.
func TestCheckChangesNothing(t *testing.T) {
	directory := t.TempDir()
	if size, err := Check(filepath.Join(directory, "new", "sub", "j.db")); err != nil || size != 0 {
		t.Errorf("%d, %v", size, err)
	}
	if left, err := os.ReadDir(directory); err != nil || len(left) > 0 {
		t.Errorf("left %v, %v", left, err)
	}
	file := filepath.Join(directory, "text")
	if err := os.WriteFile(file, []byte(strings.Repeat("no database ", 1000)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Check(file); err == nil || strings.Contains(err.Error(), "\n") {
		t.Errorf("got %v", err)
	}
}
