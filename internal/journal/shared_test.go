package journal

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"understudy/sessions"
)

// Two servers write one file, and a reader sees only whole things.
func TestTwoWritersAndAReader(t *testing.T) {
	file := newPath(t)
	const each = 100
	var agents []*agent
	for i := range 2 { // both before one writes: who opens the file waits for two seconds
		j := begin(t, file, Options{})
		j.patience = time.Minute // they write without a pause, as no clients do; who waits is not the point here
		agents = append(agents, newAgent(t, j, fmt.Sprint("i", i), "c"))
	}
	var writing sync.WaitGroup
	for _, a := range agents {
		writing.Go(func() {
			for range each {
				a.try(1, true, fine)
			}
		})
	}
	r := open(t, file)
	over := make(chan struct{})
	var reading sync.WaitGroup
	reading.Go(func() {
		seen := int64(0)
		for done := false; !done; {
			select {
			case <-over:
				done = true // once more
			default:
			}
			news, err := r.Executions(t.Context(), Query{Since: seen, Detail: true})
			if err != nil {
				t.Error(err)
				return
			}
			for _, e := range news {
				seen = max(seen, e.Revision)
				expect(t, (e.Status == sessions.StatusOK) == (e.Detail != nil), "execution %d is %s with detail %v", e.ID, e.Status, e.Detail)
			}
		}
	})
	writing.Wait()
	close(over)
	reading.Wait()
	all, err := r.Executions(t.Context(), Query{})
	expect(t, err == nil && len(all) == 2*each, "%d executions, %v", len(all), err)
}

// lockedBy holds the journal's lock as another process would, until release.
func lockedBy(t *testing.T, file string) (release func()) {
	t.Helper()
	db, err := sql.Open("sqlite", source(file))
	must(t, err)
	conn, err := db.Conn(t.Context())
	must(t, err)
	if _, err := conn.ExecContext(t.Context(), "BEGIN IMMEDIATE"); err != nil {
		t.Fatal(err)
	}
	return func() {
		_, err := conn.ExecContext(context.Background(), "ROLLBACK")
		must(t, errors.Join(err, conn.Close(), db.Close()))
	}
}

// A journal that another process holds costs the first call its patience and the
// others little; what began meanwhile is told apart from what runs.
func TestLockedJournal(t *testing.T) {
	j := begin(t, newPath(t), Options{})
	a, b := newAgent(t, j, "a", "c"), newAgent(t, j, "b", "c")
	e := a.begin("slow", &sessions.Trial{MetricVarName: "loss"})
	release := lockedBy(t, j.Path())
	value := 0.5
	e = a.done(e, fine)
	e.Metric = &sessions.Metric{Value: &value}
	_, err := j.Record(t.Context(), e)
	expect(t, err != nil && strings.Contains(err.Error(), "another process holds"), "got %v", err)
	expect(t, j.locked, "the next call waits as long as the first")
	if _, err := j.Record(t.Context(), b.done(b.next("x", nil), fine)); err == nil {
		t.Error("it was recorded all the same")
	}
	release()
	// The direction of the trial that could not be recorded is forgotten with it.
	got, want := word(b.try(1, true, fine)), "2 draft parent=0 depth=0 best=2"
	expect(t, got == want, "got %s, want %s", got, want)
	expect(t, !j.locked, "calls do not wait for other servers any more")
	all, err := open(t, j.Path()).Executions(t.Context(), Query{Interpreter: "a"})
	expect(t, err == nil && len(all) == 1 && all[0].Status == StatusLost && all[0].Trial.Buggy, "%+v, %v", all, err)
}

// What follows an execution that could not be stored goes on from the one before it.
func TestParentThatIsMissing(t *testing.T) {
	j := begin(t, newPath(t), Options{})
	a := newAgent(t, j, "a", "c")
	a.try(1, true, fine)
	a.done(a.next("not stored", nil), fine)
	got, want := word(a.try(2, true, fine)), "2 improve parent=1 depth=0 best=2"
	expect(t, got == want, "got %s, want %s", got, want)
}

func TestOpenSaysWhatIsWrong(t *testing.T) {
	text := newPath(t)
	must(t, os.WriteFile(text, []byte(strings.Repeat("no database ", 1000)), 0o600))
	foreign, newer, directory := newPath(t), byHand(t, "PRAGMA user_version = 99"), t.TempDir()
	fill(t, foreign, "CREATE TABLE t (x)")
	for _, test := range []struct{ what, file, want string }{
		{"no database", text, "--journal"},
		{"another program's", foreign, "another program"},
		{"newer", newer, "newer version"},
		{"a directory", directory, "is a directory"},
		{"below a file", filepath.Join(text, "j.db"), "not a directory"},
	} {
		j, err := Open(test.file, Options{})
		expect(t, err != nil && strings.Contains(err.Error(), test.want), "%s: %v, want %q", test.what, err, test.want)
		if err == nil {
			end(t, j)
		}
		left, _ := os.ReadDir(filesOf(test.file))
		expect(t, len(left) == 0, "%s: left %v", test.what, left)
		if _, err := Check(test.file); err == nil {
			t.Errorf("%s: the check finds nothing", test.what)
		}
	}
}

// A full disk refuses what is new and harms nothing that is there.
func TestFullDisk(t *testing.T) {
	if os.Getenv("JOURNAL_DISK") == "" {
		if err := exec.Command("unshare", "-rm", "mount", "-t", "tmpfs", "tmpfs", t.TempDir()).Run(); err != nil {
			t.Skipf("no disk can be mounted here: %v", err)
		}
		disk := t.TempDir()
		again := exec.Command("unshare", "-rm", "sh", "-c", `mount -t tmpfs -o size=10m tmpfs "$1" && shift && exec "$@"`, "sh", disk, os.Args[0], "-test.run=^TestFullDisk$", "-test.v")
		again.Env = append(os.Environ(), "JOURNAL_DISK="+disk)
		out, err := again.CombinedOutput()
		expect(t, err == nil && strings.Contains(string(out), "--- PASS"), "%v\n%s", err, out)
		return
	}
	disk := os.Getenv("JOURNAL_DISK")
	file, ballast := filepath.Join(disk, "journal.db"), filepath.Join(disk, "ballast")
	must(t, os.WriteFile(ballast, make([]byte, 8<<20), 0o600))
	j := begin(t, file, Options{})
	a := newAgent(t, j, "a", "c")
	stored := 0
	var failure error
	for range 100 {
		if _, failure = j.Record(t.Context(), a.done(a.next(strings.Repeat("x", 50_000), nil), fine)); failure != nil {
			break
		}
		stored++
	}
	insist(t, failure != nil && strings.Contains(failure.Error(), "full"), "after %d executions: %v", stored, failure)
	all, err := open(t, file).Executions(t.Context(), Query{})
	expect(t, err == nil && len(all) == stored, "%d of %d are there, %v", len(all), stored, err)
	must(t, os.Remove(ballast))
	a.run("with room again", fine)
	checkSound(t, file)
}
