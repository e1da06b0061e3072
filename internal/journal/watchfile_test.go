package journal

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"understudy/sessions"
)

// A journal that is removed, moved or replaced is begun anew, and an answer says so.
func TestJournalThatIsRemoved(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("open files can't be removed")
	}
	for what, remove := range map[string]func(file string) error{
		"removed": func(file string) error {
			return errors.Join(os.Remove(file), os.Remove(file+"-wal"), os.Remove(file+"-shm"))
		},
		"moved": func(file string) error {
			return errors.Join(os.Rename(file, file+".old"), os.Rename(file+"-wal", file+".old-wal"), os.Rename(file+"-shm", file+".old-shm"))
		},
		"removed with its files": func(file string) error {
			return errors.Join(os.Remove(file), os.Remove(file+"-wal"), os.Remove(file+"-shm"), os.RemoveAll(filesOf(file)))
		},
	} {
		t.Run(what, func(t *testing.T) {
			file := newPath(t)
			j := begin(t, file, Options{Run: Run{Version: "v1", PID: os.Getpid()}})
			a := newAgent(t, j, "a", "c")
			a.run("1", sessions.Result{})
			must(t, remove(file))
			j.looked = time.Time{}
			a.stand() // says nothing to anyone
			_, err := j.Record(t.Context(), a.done(a.next("2", nil), fine))
			var incomplete *sessions.Incomplete
			expect(t, errors.As(err, &incomplete) && strings.Contains(err.Error(), "removed or replaced"), "got %v", err)
			a.run("3", sessions.Result{})
			all, err := open(t, file).Executions(t.Context(), Query{})
			expect(t, err == nil && len(all) == 2 && all[0].Code == "2" && all[1].Parent == all[0].ID, "%+v, %v", all, err)
			if run, err := open(t, file).Run(t.Context(), ""); err != nil || !run.Alive || run.ID != j.RunID() || run.Version != "v1" {
				t.Errorf("%+v, %v", run, err)
			}
			if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("%v, %v", info.Mode(), err)
			}
			checkSound(t, file)
		})
	}
}

// A run whose lock is gone is not removed while its server lives, and gets it back.
func TestLiveRunWithoutLock(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("open files can't be removed")
	}
	file := newPath(t)
	live := begin(t, file, Options{Run: Run{PID: os.Getpid()}})
	a := newAgent(t, live, "a", "c")
	a.run("1", sessions.Result{})
	must(t, os.RemoveAll(filesOf(file)))
	j := quiet(t, file, Options{Keep: time.Nanosecond})
	must(t, j.clean(t.Context()))
	run, err := open(t, file).Run(t.Context(), live.RunID())
	expect(t, err == nil && run.Alive && run.Executions == 1, "%+v, %v", run, err)
	live.looked = time.Time{}
	if _, err := live.Record(t.Context(), a.done(a.next("2", nil), fine)); err == nil || !strings.Contains(err.Error(), "was removed while") {
		t.Errorf("got %v", err)
	}
	if _, err := os.Stat(lockOf(file, live.RunID())); err != nil || !open(t, file).alive(live.RunID()) {
		t.Errorf("the lock is not there again: %v", err)
	}
}

// An existing file that others may read is closed to them.
func TestOpenClosesTheFileToOthers(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("modes are of Unix")
	}
	file := newPath(t)
	end(t, begin(t, file, Options{}))
	must(t, os.Chmod(file, 0o644))
	newAgent(t, begin(t, file, Options{}), "a", "c")
	for _, name := range []string{file, file + "-wal"} {
		if info, err := os.Stat(name); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
	}
}

// Files that would stay do not cost the history.
func TestForeignFilesDoNotCount(t *testing.T) {
	file := newPath(t)
	old := endedRun(t, file, time.Hour, 10)
	stranger := filepath.Join(filesOf(file), "AAAAAAAAAA")
	must(t, errors.Join(os.Mkdir(stranger, 0o700), os.WriteFile(filepath.Join(stranger, "x"), make([]byte, 4<<20), 0o600)))
	j := quiet(t, file, Options{Size: 3 << 20})
	must(t, j.clean(t.Context()))
	got := left(t, file)
	expect(t, len(got) == 2, "left %v without %s", got, old)
}

// Code may write to the file of a figure: the journal's stays.
func TestFiguresAreCopies(t *testing.T) {
	j := begin(t, newPath(t), Options{})
	a := newAgent(t, j, "a", "c")
	figure := filepath.Join(t.TempDir(), "f.png")
	write := func(text string) {
		must(t, os.WriteFile(figure, []byte(text), 0o644))
	}
	write("png")
	a.run("plot", sessions.Result{Figures: []sessions.Figure{{Path: figure}}})
	write("overwritten")
	if kept, err := os.ReadFile(only(t, j.Path()).Figures[0].File); err != nil || string(kept) != "png" {
		t.Errorf("%q, %v", kept, err)
	}
	// A file that can't be kept is told.
	_, err := j.Record(t.Context(), a.done(a.next("plot", nil), sessions.Result{Figures: []sessions.Figure{{Path: figure + "x"}}}))
	var incomplete *sessions.Incomplete
	expect(t, errors.As(err, &incomplete) && strings.Contains(err.Error(), "figure 1"), "got %v", err)
}
