package sessions

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestACommandEnds: with its exit code, and without a traceback when it was stopped.
func TestACommandEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := workerThat(func(w *fakeWorker, r Request, _ Sink) (Outcome, error) {
			if r.Kind != RunsCommand {
				t.Errorf("kind %q", r.Kind)
			}
			if r.Code == "sleep" {
				<-w.stopped
				return Outcome{Signalled: true, Exception: &Exception{Type: "KeyboardInterrupt", Traceback: "KeyboardInterrupt\n"}}, nil
			}
			code := len(r.Code)
			return Outcome{OK: code == 0, ExitCode: &code}, nil
		})
		m := newTestManager(t, f, func(*Options) {})
		defer m.Close(t.Context())
		for command, want := range map[string]Result{
			"":      {Status: StatusOK, ExitCode: new(int)},
			"x":     {Status: StatusError, ExitCode: func() *int { one := 1; return &one }()},
			"sleep": {Status: StatusTimeout, ExcType: "TimeoutError"},
		} {
			r := mustRun(t, m, RunRequest{Kind: RunsCommand, Code: command, Timeout: time.Second})
			got := Result{Status: r.Status, ExitCode: r.ExitCode, ExcType: r.ExcType, Traceback: r.Traceback}
			if diff := cmp.Diff(want, got); diff != "" || r.Success != (want.Status == StatusOK) || r.Kind != RunsCommand {
				t.Errorf("%q: %s", command, diff)
			}
		}
	})
}
