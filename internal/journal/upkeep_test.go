package journal

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"understudy/sessions"
)

// ended makes a run with some executions and a file, which ended so long ago.
func endedRun(t *testing.T, file string, ago time.Duration, size int) string {
	t.Helper()
	j := begin(t, file, Options{})
	a := newAgent(t, j, "i"+strings.ToLower(j.RunID()), "c")
	figure := filepath.Join(t.TempDir(), "f.png")
	must(t, os.WriteFile(figure, make([]byte, size), 0o600))
	for range batch + 1 {
		a.try(1, true, sessions.Result{Notes: []string{strings.Repeat("x", 1000)}})
	}
	a.run("plot", sessions.Result{Figures: []sessions.Figure{{Path: figure}}})
	must(t, j.write(func(*tx) {}))
	end(t, j)
	r, err := OpenReader(file)
	must(t, err)
	defer r.Close()
	db, conn := connection(t, file)
	defer db.Close()
	defer conn.Close()
	if _, err := conn.ExecContext(t.Context(), "UPDATE runs SET ended = ?, started = ? WHERE id = ?",
		time.Now().Add(-ago).UnixNano(), time.Now().Add(-ago).UnixNano(), j.RunID()); err != nil {
		t.Fatal(err)
	}
	return j.RunID()
}

// quiet opens a journal whose upkeep is done by the test alone.
func quiet(t *testing.T, file string, options Options) *Journal {
	t.Helper()
	j := begin(t, file, Options{})
	j.end()
	j.working.Wait()
	j.options.Keep, j.options.Size = options.Keep, options.Size
	return j
}

func left(t *testing.T, file string) (runs []string) {
	t.Helper()
	all, err := open(t, file).Runs(t.Context(), 99)
	must(t, err)
	for _, run := range all {
		runs = append(runs, run.ID)
	}
	slices.Sort(runs)
	return runs
}

func TestOldRunsGo(t *testing.T) {
	file := newPath(t)
	old, young := endedRun(t, file, 48*time.Hour, 10), endedRun(t, file, time.Hour, 10)
	stranger := filepath.Join(filesOf(file), "AAAAAAAAAA") // no run of the journal's
	must(t, os.Mkdir(stranger, 0o700))
	j := quiet(t, file, Options{Keep: 24 * time.Hour})
	before := fileSize(file)
	must(t, j.clean(t.Context()))
	want := []string{young, j.RunID()}
	slices.Sort(want)
	got := left(t, file)
	expect(t, slices.Equal(got, want), "left %v, want %v", got, want)
	for name, there := range map[string]bool{filepath.Join(filesOf(file), old): false, filepath.Join(filesOf(file), young): true, stranger: true} {
		_, err := os.Stat(name)
		expect(t, (err == nil) == there, "%s is there: %v", name, err == nil)
	}
	for _, table := range []string{"executions", "interpreters", "experiments"} {
		var count int
		err := j.conn.QueryRowContext(t.Context(), "SELECT count(*) FROM "+table+" WHERE run = ?", old).Scan(&count)
		expect(t, err == nil && count == 0, "%d of %s, %v", count, table, err)
	}
	var free int
	err := j.conn.QueryRowContext(t.Context(), "PRAGMA freelist_count").Scan(&free)
	expect(t, err == nil && free == 0, "%d pages are free, %v", free, err)
	if _, err := j.conn.ExecContext(t.Context(), "PRAGMA wal_checkpoint(TRUNCATE)"); err != nil || fileSize(file) >= before {
		t.Errorf("%d bytes of %d, %v", fileSize(file), before, err)
	}
	checkSound(t, file)
}

// A run whose removal has begun is shown by nobody, and is gone after the next look,
// however little the journal has then.
func TestRemovalGoesOn(t *testing.T) {
	file := newPath(t)
	old := endedRun(t, file, time.Hour, 10)
	j := quiet(t, file, Options{})
	stopped, stop := context.WithCancel(t.Context())
	stop()
	if err := j.remove(stopped, old); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	count := func() (n int) {
		t.Helper()
		if err := j.conn.QueryRowContext(t.Context(), "SELECT count(*) FROM executions WHERE run = ?", old).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	if got := left(t, file); count() == 0 || len(got) != 1 {
		t.Errorf("%d executions are left, and %v is shown", count(), got)
	}
	if err := j.clean(t.Context()); err != nil || count() > 0 {
		t.Errorf("%d executions are left, %v", count(), err)
	}
}

func TestLargeJournalShrinks(t *testing.T) {
	file := newPath(t)
	first, second, third := endedRun(t, file, 3*time.Hour, 1<<20), endedRun(t, file, 2*time.Hour, 1<<20), endedRun(t, file, time.Hour, 1<<20)
	j := quiet(t, file, Options{Size: 5 << 19}) // 2.5 MB: two of them with what is beside
	must(t, j.clean(t.Context()))
	want := []string{second, third, j.RunID()}
	slices.Sort(want)
	got := left(t, file)
	expect(t, slices.Equal(got, want), "left %v, want %v without %s", got, want, first)
}

// What lives stays, however old and large it is.
func TestLiveRunsStay(t *testing.T) {
	file := newPath(t)
	live := begin(t, file, Options{})
	newAgent(t, live, "a", "c").run("x", fine)
	j := quiet(t, file, Options{Keep: time.Nanosecond, Size: 1})
	must(t, j.clean(t.Context()))
	got := left(t, file)
	expect(t, len(got) == 2, "left %v", got)
	err := j.remove(t.Context(), "../elsewhere")
	expect(t, err != nil, "something that is no run was removed")
}

// The log does not grow with what is written.
func TestLogIsBounded(t *testing.T) {
	j := quiet(t, newPath(t), Options{})
	a := newAgent(t, j, "a", "c")
	big := strings.Repeat("x", 60_000)
	most := int64(0)
	for range 20 {
		for range 20 {
			a.run("x", sessions.Result{Notes: []string{big}})
		}
		most = max(most, fileSize(j.Path()+"-wal"))
	}
	expect(t, most <= 8<<20, "the log has grown to %d bytes", most)
}

// The log that grew while somebody read shrinks again while the server lives.
func TestLogShrinksAgain(t *testing.T) {
	file := newPath(t)
	j := quiet(t, file, Options{})
	reader, conn := connection(t, file)
	defer reader.Close()
	defer conn.Close()
	_, err := conn.ExecContext(t.Context(), "BEGIN")
	if err = errors.Join(err, conn.QueryRowContext(t.Context(), "SELECT count(*) FROM runs").Scan(new(int))); err != nil {
		t.Fatal(err)
	}
	write := func(size int) {
		must(t, j.write(func(t *tx) { t.exec("UPDATE runs SET config = randomblob(?) WHERE id = ?", size, j.run) }))
	}
	for range 3 {
		write(mostLog / 2)
	}
	grown := fileSize(file + "-wal")
	if _, err := conn.ExecContext(t.Context(), "COMMIT"); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		write(1000)
	}
	now := fileSize(file + "-wal")
	expect(t, grown > mostLog && now <= mostLog, "the log has %d bytes, and had %d", now, grown)
}
