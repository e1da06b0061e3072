package sessions

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestStats(t *testing.T) {
	bubble(t, func(t *testing.T) {
		m := newTestManager(t, obeys(), nil)
		defer m.Close(t.Context())
		running := mustRun(t, m, RunRequest{Code: "a", Wait: -1})
		if _, err := m.Create(t.Context(), me, CreateRequest{}); err != nil {
			t.Fatal(err)
		}
		if _, err := m.Create(t.Context(), other, CreateRequest{}); err != nil {
			t.Fatal(err)
		}
		queued := make(chan struct{})
		go func() {
			defer close(queued)
			_, _ = m.Run(t.Context(), me, RunRequest{Code: "b", InterpreterID: running.InterpreterID, Wait: 1})
		}()
		<-queued // it gave up, as the other one still runs

		want := Stats{
			Sessions: 3, Running: 1, Clients: 2, Memory: 300 << 20, Private: 60 << 20, Starts: map[string]uint64{"fake": 3},
		}
		if diff := cmp.Diff(want, m.Stats(t.Context())); diff != "" {
			t.Errorf("(-want +got)\n%s", diff)
		}
		if _, err := m.Interrupt(t.Context(), me, running.InterpreterID); err != nil {
			t.Fatal(err)
		}
		if got := m.Stats(t.Context()); got.Running != 0 || got.Unfetched != 1 {
			t.Errorf("%+v", got)
		}
		late, cancel := context.WithCancel(t.Context())
		cancel()
		if got := m.Stats(late); got.Sessions != 3 || got.Private != 0 {
			t.Errorf("without time to measure: %+v", got)
		}
	})
}

func TestStatsOfStartsThatFail(t *testing.T) {
	m := newTestManager(t, &fakeStarter{start: func(Spec) (*fakeWorker, error) { return nil, errors.New("no memory") }}, nil)
	defer m.Close(t.Context())
	if _, err := m.Create(t.Context(), me, CreateRequest{}); err == nil {
		t.Fatal("a start that fails made an interpreter")
	}
	if got := m.Stats(t.Context()); got.FailedStarts != 1 || got.Sessions != 0 {
		t.Errorf("%+v", got)
	}
}

func TestEndedIsToldWithoutOutput(t *testing.T) {
	var ended []Result
	m := newTestManager(t, echoes(), func(o *Options) { o.Ended = func(r Result) { ended = append(ended, r) } })
	defer m.Close(t.Context())
	mustRun(t, m, RunRequest{Code: "a"})
	if len(ended) != 1 || ended[0].Status != StatusOK || ended[0].Execution != 1 || ended[0].Stdout != "" {
		t.Errorf("%+v", ended)
	}
}
