package journal

import (
	"bufio"
	"context"
	"database/sql"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"understudy/sessions"
)

// writeUntilKilled records one execution after the other and says so of each when it
// is stored.
func writeUntilKilled(file string) int {
	// Nothing is to be removed, however much a fast machine writes: files count each time
	// they are linked.
	j, err := Open(file, Options{Keep: time.Hour, Size: 1 << 50})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	id := j.RunID()
	spool := file + "." + id + ".spool"
	if err := os.WriteFile(spool, []byte(strings.Repeat("x", 100_000)), 0o600); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	a := &agent{j: j, id: id, client: "c"}
	for n := 1; ; n++ {
		e := a.next("score = "+strconv.Itoa(n), &sessions.Trial{MetricVarName: "score", Maximize: true})
		if err := j.Begin(context.Background(), e); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		e.Printed[0] = sessions.Printed{Text: []byte{}, Path: spool, Size: 100_000}
		e = a.done(e, sessions.Result{Stdout: strings.Repeat("x", 100_000)})
		value := float64(n)
		e.Metric = &sessions.Metric{Value: &value}
		if _, err := j.Record(context.Background(), e); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		fmt.Println(id, n)
	}
}

// Whatever was said to be stored is there when its server was killed at any moment,
// and the file is sound.
func TestKilled(t *testing.T) {
	kills := 60
	if testing.Short() {
		kills = 20
	}
	file := newPath(t)
	acknowledged := map[string]int{}
	for n := range kills {
		run, count := killOnce(t, file, time.Duration(n%60)*time.Millisecond)
		if run != "" {
			acknowledged[run] = count
		}
	}
	expect(t, len(acknowledged) >= kills/2, "only %d of %d servers stored anything", len(acknowledged), kills)
	checkSound(t, file)
	r := open(t, file)
	for run, count := range acknowledged {
		all, err := r.Executions(t.Context(), Query{Run: run, Detail: true})
		must(t, err)
		ended := 0
		for _, e := range all {
			switch e.Status {
			case sessions.StatusOK:
				ended++
				if e.Detail == nil || e.Trial.Number != e.Place.Execution || fileSize(e.Detail.Stdout.Path) != 100_000 {
					t.Errorf("run %s, execution %d: %+v", run, e.Place.Execution, e)
				}
			case StatusLost:
			default:
				t.Errorf("run %s, execution %d is %s", run, e.Place.Execution, e.Status)
			}
		}
		expect(t, ended >= count && len(all) <= count+2, "run %s: %d acknowledged, %d ended of %d", run, count, ended, len(all))
		best := Best(all)
		expect(t, best != nil && best.Trial.Number == ended, "run %s: the best of %d is %+v", run, ended, best)
	}
	end(t, begin(t, file, Options{})) // and the next server takes it
}

// killOnce starts a server, kills it at a moment after its first answer, and returns its run and what it
// said last to have stored.
func killOnce(t *testing.T, file string, moment time.Duration) (run string, count int) {
	t.Helper()
	server := exec.Command(os.Args[0])
	server.Env = append(os.Environ(), "JOURNAL_TO_WRITE="+file)
	var complaints strings.Builder
	server.Stderr = &complaints
	out, err := server.StdoutPipe()
	must(t, err)
	must(t, server.Start())
	var timer *time.Timer
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if timer == nil { // from its first answer on: starts take long enough of themselves
			timer = time.AfterFunc(moment, func() { _ = server.Process.Kill() })
		}
		if _, err := fmt.Sscan(lines.Text(), &run, &count); err != nil {
			t.Fatalf("%q: %v", lines.Text(), err)
		}
	}
	_, _ = io.Copy(io.Discard, out)
	_ = server.Wait() // it was killed
	if timer != nil {
		timer.Stop()
	}
	expect(t, complaints.Len() == 0, "the server said: %s", complaints.String())
	return run, count
}

func checkSound(t *testing.T, file string) {
	t.Helper()
	db, err := sql.Open("sqlite", source(file))
	must(t, err)
	defer db.Close()
	var verdict string
	if err := db.QueryRowContext(t.Context(), "PRAGMA integrity_check").Scan(&verdict); err != nil || verdict != "ok" {
		t.Errorf("integrity: %s, %v", verdict, err)
	}
}
