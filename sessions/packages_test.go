package sessions

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"
)

// TestPackagesBelongToTheFamily: without a wall there is no home until something is
// installed; then every execution of the family is told where the packages are.
func TestPackagesBelongToTheFamily(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		told := map[string]string{}
		f := workerThat(func(w *fakeWorker, r Request, _ Sink) (Outcome, error) {
			told[r.Code] = r.PackagesDir
			if r.Kind == RunsInstall && string(r.Arguments) != `{"packages":["x"]}` {
				t.Errorf("arguments %s", r.Arguments)
			}
			if r.Code == "%pip install slow" {
				<-w.stopped
				return Outcome{Signalled: true, Exception: &Exception{Type: "KeyboardInterrupt", Traceback: "KeyboardInterrupt\n"}}, nil
			}
			return Outcome{OK: true}, nil
		})
		f.forks = true
		m := newTestManager(t, f, func(*Options) {})
		defer m.Close(t.Context())
		arguments := json.RawMessage(`{"packages":["x"]}`)
		id := mustRun(t, m, RunRequest{Code: "before"}).InterpreterID
		if r := mustRun(t, m, RunRequest{Kind: RunsInstall, Code: "%pip install x", Arguments: arguments}); r.Kind != RunsInstall || !r.Success {
			t.Errorf("%+v", r)
		}
		mustRun(t, m, RunRequest{Code: "after"})
		other, err := m.Branch(t.Context(), me, id)
		if err != nil {
			t.Fatal(err)
		}
		mustRun(t, m, RunRequest{Code: "branch", InterpreterID: other.ID})
		stranger, err := m.Create(t.Context(), me, CreateRequest{})
		if err != nil {
			t.Fatal(err)
		}
		mustRun(t, m, RunRequest{Code: "stranger", InterpreterID: stranger.ID})

		packages := filepath.Join(m.options.WorkdirRoot, "home-"+id, "packages")
		for code, want := range map[string]string{"before": "", "%pip install x": packages, "after": packages, "branch": packages, "stranger": ""} {
			if told[code] != want {
				t.Errorf("%s: told %q, want %q", code, told[code], want)
			}
		}
		r := mustRun(t, m, RunRequest{Kind: RunsInstall, Code: "%pip install slow", Arguments: arguments, Timeout: time.Second})
		if r.Status != StatusTimeout || r.Traceback != "" {
			t.Errorf("%+v", r)
		}
		for _, gone := range []string{id, other.ID} {
			if _, err := os.Stat(filepath.Dir(packages)); err != nil {
				t.Error(err)
			}
			if err := m.Delete(t.Context(), me, gone); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := os.Stat(filepath.Dir(packages)); !os.IsNotExist(err) {
			t.Errorf("the home is still there: %v", err)
		}
	})
}
