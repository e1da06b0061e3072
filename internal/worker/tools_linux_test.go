package worker

import (
	"context"
	"os"
	"testing"

	"understudy/internal/worker/workertest"
	"understudy/sessions"
)

// A copy that leads, and a branch, ask by doors of their own, and no descriptor is left.
func TestToolsOfCopies(t *testing.T) {
	z := testZygote(t, withTools)
	before := openHere(t)
	w, u := equipped(t, z), &upstream{}
	runTools(t, w, u, "from mcptools import my_echo as m\nx = 'kept'")
	copied, err := w.Fork(context.Background(), sessions.ToStandBy)
	must(t, err)
	branch := branchOf(t, w, t.TempDir())
	must(t, branch.Equip(context.Background(), sessions.Equipment{}))
	theirs := &upstream{}
	if got := runTools(t, branch, theirs, "print(m.echo(x)['text'])"); got != "kept\n" || len(theirs.calls) != 1 || len(u.calls) != 0 {
		t.Errorf("the branch printed %q; it has asked %q, its original %q", got, theirs.calls, u.calls)
	}
	sink := workertest.NewRecorder()
	sink.Tools = u.answer
	if _, err := w.Run(context.Background(), sessions.Request{Execution: 2, Code: "m.echo('a'); import os; os.abort()"}, sink); err == nil {
		t.Fatal("it did not die")
	}
	<-w.Exited()
	next, err := copied.Wake(context.Background(), sessions.Spec{InterpreterID: "test", Workdir: t.TempDir(), PrivateDir: t.TempDir(), FirstExecution: 1})
	must(t, err)
	must(t, w.Close(context.Background()))
	expect(t, len(next.Info().Notes) == 0, "it says %q", next.Info().Notes)
	must(t, next.Equip(context.Background(), sessions.Equipment{}))
	if got := runTools(t, next, u, "print(m.echo(x)['text'])"); got != "kept\n" || len(u.calls) != 2 {
		t.Errorf("the copy printed %q and has asked %q", got, u.calls)
	}
	must(t, next.Close(context.Background()))
	must(t, branch.Close(context.Background()))
	eventually(t, "all descriptors are closed", func() bool { return openHere(t) <= before })
}

func openHere(t *testing.T) int {
	entries, err := os.ReadDir("/proc/self/fd")
	must(t, err)
	return len(entries)
}
