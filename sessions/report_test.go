package sessions

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"
)

// prints prints more and more until it is interrupted, or for ever.
func prints(obeys bool) *fakeStarter {
	return workerThat(func(w *fakeWorker, _ Request, sink Sink) (Outcome, error) {
		for {
			sink.Output(Stdout, bytes.Repeat([]byte("line\n"), 100))
			select {
			case <-w.exited:
				return Outcome{}, w.crash
			case <-w.stopped:
				if obeys {
					return Outcome{Signalled: true, Exception: &Exception{Type: "KeyboardInterrupt"}}, nil
				}
			case <-time.After(time.Millisecond):
			}
		}
	})
}

func TestPrintLimit(t *testing.T) {
	for name, obeys := range map[string]bool{"interrupted": true, "killed": false} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				m := surviving(t, prints(obeys), func(o *Options) { o.PrintLimit, o.OutputLimit = 1e6, 1000 })
				r := run(t, m, "flood")
				if r.Status != StatusInterrupted || !strings.HasPrefix(r.ExcInfo.Msg, "output limit of 1 MB reached") {
					t.Errorf("%+v", r)
				}
				if r.InterpreterRestarted == obeys {
					t.Errorf("restarted: %v", r.InterpreterRestarted)
				}
				if !strings.HasPrefix(r.Stdout, "line\nline\n") || r.StdoutTruncated < 1e6-2000 || r.OutputPath == "" {
					t.Errorf("%d of stdout, %d left out, %q", len(r.Stdout), r.StdoutTruncated, r.OutputPath)
				}
			})
		})
	}
}

// TestPrintLimitIsPerExecution: what the ones before have printed doesn't count.
func TestPrintLimitIsPerExecution(t *testing.T) {
	m := newTestManager(t, echoes(), func(o *Options) { o.PrintLimit = 1000 })
	for range 3 {
		if r := run(t, m, strings.Repeat("x", 1000)); r.Status != StatusOK {
			t.Errorf("%+v", r)
		}
	}
}

func TestMemoryErrorNamesTheLimit(t *testing.T) {
	for exc, want := range map[string]bool{"MemoryError": true, "numpy.exceptions._ArrayMemoryError": true, "ValueError": false} {
		starter := workerThat(func(*fakeWorker, Request, Sink) (Outcome, error) {
			return Outcome{Exception: &Exception{Type: exc}}, nil
		})
		m := newTestManager(t, starter, func(o *Options) { o.MemoryLimit = 1 << 30 })
		if got := strings.Contains(notes(run(t, m, "x")), "the memory limit is 1.0 GiB (--memory-limit)"); got != want {
			t.Errorf("%s: %v", exc, got)
		}
	}
}

func TestThreadsThatDoNotStartNameTheLimit(t *testing.T) {
	for message, want := range map[string]bool{`"can't start new thread"`: true, `"another"`: false, `5`: false} {
		starter := workerThat(func(*fakeWorker, Request, Sink) (Outcome, error) {
			return Outcome{Exception: &Exception{Type: "RuntimeError", Info: ExceptionInfo{Args: []json.RawMessage{json.RawMessage(message)}}}}, nil
		})
		m := newTestManager(t, starter, func(o *Options) { o.MemoryLimit = 1 << 30 })
		if got := strings.Contains(notes(run(t, m, "x")), "counts for the memory limit of 1.0 GiB (--memory-limit)"); got != want {
			t.Errorf("%s: %v", message, got)
		}
	}
}
