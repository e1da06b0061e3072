package worker

import (
	"context"
	"testing"

	"understudy/internal/worker/workertest"
	"understudy/sessions"
)

func TestSpawner(t *testing.T) {
	s := testSpawner(t, func(o *Options) { o.Echo = "none" })
	workertest.Suite(t, func(testing.TB) sessions.Starter { return s })
}

// What the operator's code prints belongs to the first execution; what it
// raises is told and keeps no worker from starting.
func TestInitCode(t *testing.T) {
	s := testSpawner(t, func(o *Options) { o.InitCode = "print('hello')\nx = 1\n1 / 0" })
	w := start(t, s)
	if got := w.Info().InitError; got == "" {
		t.Error("the error is not told")
	}
	_, sink := workertest.Run(t, w, "print(x)")
	if got := sink.Text(sessions.Stdout); got != "hello\n1\n" {
		t.Errorf("stdout is %q", got)
	}
}

// Many rounds, because one would be right by chance.
func TestOrderOfTheStreams(t *testing.T) {
	w := start(t, fakeSpawner(t))
	for range 200 {
		if _, sink := workertest.Run(t, w, "import os; os.write(1, b'a'); os.write(2, b'b')"); sink.All() != "ab" {
			t.Fatalf("got %q", sink.All())
		}
		if _, sink := workertest.Run(t, w, "import os; os.write(2, b'b'); os.write(1, b'a')"); sink.All() != "ba" {
			t.Fatalf("got %q", sink.All())
		}
	}
}

func TestCancelledRunDoesNotStart(t *testing.T) {
	w := start(t, fakeSpawner(t))
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := w.Run(ctx, sessions.Request{Execution: 1, Code: "print(1)"}, workertest.NewRecorder())
	expect(t, err == context.Canceled, "got %v", err)
	expectPrinted(t, w, "print(2)", "2\n")
}
