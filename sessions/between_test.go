package sessions

import (
	"context"
	"strings"
	"testing"
	"time"
)

func (w *fakeWorker) prints(pieces ...Piece) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.between = append(w.between, pieces...)
}

func TestOutputBetweenCallsIsToldApart(t *testing.T) {
	t.Parallel()
	f := echoes()
	var entries recorder
	m := newTestManager(t, f, func(o *Options) { o.Recorder = &entries })
	defer m.Close(context.Background())
	run(t, m, "first")
	f.lead().prints(Piece{Stream: Stdout, Text: []byte("caf\xc3")}, Piece{Stream: Stderr, Text: []byte("oops\n")}, Piece{Stream: Stdout, Text: []byte("\xa9\n")})
	r := run(t, m, "second")
	if r.Between != "cafoops\né\n" || r.Stdout != "second" {
		t.Errorf("got %q and %q", r.Between, r.Stdout)
	}
	printed := string(entries[1].Printed[Stdout].Text)
	if want := "[between calls]\ncafé\n[this call]\nsecond"; printed != want {
		t.Errorf("the whole output is %q, want %q", printed, want)
	}
	if entries[1].Result.Between != r.Between {
		t.Errorf("recorded is %q", entries[1].Result.Between)
	}
	if r := run(t, m, "third"); r.Between != "" {
		t.Errorf("it is told twice: %q", r.Between)
	}
}

func TestWaitHandsOutWhatWasPrintedBetweenCalls(t *testing.T) {
	t.Parallel()
	f := echoes()
	m := newTestManager(t, f, func(o *Options) { o.OutputLimit = 200 })
	defer m.Close(context.Background())
	run(t, m, "first")
	f.lead().prints(Piece{Stream: Stdout, Text: []byte(strings.Repeat("x", 1000))})
	if l := list(t, m)[0]; l.Printed != 1000 {
		t.Errorf("the listing says %d bytes", l.Printed)
	}
	r, err := m.Await(t.Context(), me, WaitRequest{})
	if err != nil || !strings.HasPrefix(r.Between, "xxx") || len(r.Between) > 300 || r.Execution != 1 {
		t.Errorf("got %+v, %v", r, err)
	}
	if _, err := m.Await(t.Context(), me, WaitRequest{}); err == nil || !strings.Contains(err.Error(), "nothing is running") {
		t.Errorf("the second wait says %v", err)
	}
}

// lives is a starter whose code leaves tasks behind that go on.
func lives() *fakeStarter {
	f := remembers()
	start := f.start
	f.start = func(s Spec) (*fakeWorker, error) {
		w, err := start(s)
		inner := w.run
		w.run = func(w *fakeWorker, r Request, sink Sink) (Outcome, error) {
			outcome, err := inner(w, r, sink)
			outcome.Tasks = 2
			return outcome, err
		}
		return w, err
	}
	return f
}

func TestAStateThatGoesOnIsCopiedAnewAsTheNextCallComes(t *testing.T) {
	t.Parallel()
	f := lives()
	m := surviving(t, f, nil)
	if r := run(t, m, "a"); r.Tasks != 2 {
		t.Errorf("the record says %d tasks", r.Tasks)
	}
	list(t, m) // once the copy is made
	f.lead().remember("tick")
	if r := run(t, m, "crash"); r.StateRestored == nil || !*r.StateRestored {
		t.Errorf("got %+v", r)
	}
	if r := run(t, m, "b"); r.Stdout != "a tick b" {
		t.Errorf("the state that came back is %q", r.Stdout)
	}
}

func TestTasksThatLetNothingElseRunLoseTheirProcess(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := lives()
		m := surviving(t, f, nil)
		run(t, m, "a")
		list(t, m) // once the copy is made
		hogged := f.lead()
		f.forking = func(ctx context.Context, w *fakeWorker, _ Purpose) error {
			if w == hogged {
				<-ctx.Done()
				return ctx.Err()
			}
			return nil
		}
		began := time.Now()
		r := run(t, m, "b")
		if r.Stdout != "a b" || time.Since(began) != checkpointTime {
			t.Errorf("got %q after %v", r.Stdout, time.Since(began))
		}
		if notes := strings.Join(r.Notes, " "); !strings.Contains(notes, "would let nothing else run") {
			t.Errorf("the notes are %q", notes)
		}
	})
}
