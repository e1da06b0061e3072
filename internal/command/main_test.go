package command

import (
	"context"
	"testing"

	"go.uber.org/goleak"

	says "understudy/internal/check"
	"understudy/internal/config"
	"understudy/sessions"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func configOf(t *testing.T, args ...string) *config.Config {
	t.Helper()
	c, err := config.Parse(config.Source{Args: args})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// fakeStarter starts fakeWorkers.
type fakeStarter struct {
	run func(ctx context.Context, request sessions.Request, sink sessions.Sink) (sessions.Outcome, error)
}

func (fakeStarter) ForkObstacle() string { return "they are fakes" }

func (s fakeStarter) Start(context.Context, sessions.Spec) (sessions.Worker, error) {
	return &fakeWorker{run: s.run, killed: make(chan struct{})}, nil
}

// fakeWorker answers as it is told to; what else a worker does it can't.
type fakeWorker struct {
	sessions.Worker
	told   sessions.Equipment
	run    func(ctx context.Context, request sessions.Request, sink sessions.Sink) (sessions.Outcome, error)
	killed chan struct{}
}

func (w *fakeWorker) Run(ctx context.Context, request sessions.Request, sink sessions.Sink) (sessions.Outcome, error) {
	if w.run == nil { // hangs until it is killed, whatever the context says
		<-w.killed
		return sessions.Outcome{}, &sessions.CrashError{Reason: "killed"}
	}
	return w.run(ctx, request, sink)
}

func (w *fakeWorker) Kill() int                   { close(w.killed); return 0 }
func (w *fakeWorker) Close(context.Context) error { return nil }

func (w *fakeWorker) Equip(_ context.Context, e sessions.Equipment) error {
	w.told = e
	return nil
}

var must, expect = says.Must, says.Expect

// errOf is the error alone of what a call returned.
func errOf[T any](_ T, err error) error { return err }
