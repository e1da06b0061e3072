package sessions

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func trial(code string) RunRequest {
	return RunRequest{Code: code, Trial: &Trial{Plan: "a plan", MetricVarName: "score", Maximize: true}}
}

// TestATrialIsAnnounced before it runs, and any other execution only if it takes a
// while or is answered as running.
func TestATrialIsAnnounced(t *testing.T) {
	onStage(t, nil, func(t *testing.T, s *stage) {
		mustRun(t, s.manager, RunRequest{Code: "a"})
		mustRun(t, s.manager, trial("b"))
		for _, wait := range []time.Duration{-1, time.Second} {
			r := RunRequest{Code: "hang", Wait: wait}
			if wait > 0 {
				r.Timeout = unrecordedFor + time.Millisecond
			}
			mustRun(t, s.manager, r)
			must(t, errOf(s.manager.Interrupt(t.Context(), me, "")))
		}
		want := []string{
			"A stands -", "A1 - - A1", "A2 begins A1 A1", "A2 A1 A1 A2",
			"A3 begins A2 A2", "A3 A2 A2 A2", "A4 begins A2 A3", "A4 A2 A3 A2",
		}
		same(t, want, s.diary.told())
	})
}

// TestARefusedTrialLeavesNothingBehind: no number, no turn, no file, nothing in the
// history.
func TestARefusedTrialLeavesNothingBehind(t *testing.T) {
	s := newStage(t, nil)
	s.play("A a")
	s.diary.begin = func(context.Context, Entry) error {
		return Errorf(CodeInvalid, "maximize is true here and was false in trial 1")
	}
	wantCode(t, errOf(s.manager.Run(t.Context(), me, trial("b"))), CodeInvalid, "maximize is true here")
	s.diary.begin = nil
	session := s.manager.sessions[s.diary.id("A")]
	same(t, 1, len(session.history.list()))
	files, err := os.ReadDir(session.outputs)
	expect(t, err != nil || len(files) == 0, "it left %v", files)
	wantRun(t, mustRun(t, s.manager, trial("c")), 2, "a c")
}

// TestARefusedTrialResetsNothing: what it would have dropped stays.
func TestARefusedTrialResetsNothing(t *testing.T) {
	onStage(t, nil, func(t *testing.T, s *stage) {
		s.play("A a")
		before := s.workerOf(s.diary.id("A"))
		s.diary.begin = func(_ context.Context, e Entry) error {
			expect(t, e.Parent == (StateRef{}) && e.Follows == (StateRef{}), "it goes on from %+v", e.Parent)
			return Errorf(CodeInvalid, "no")
		}
		r := trial("b")
		r.Reset = true
		wantCode(t, errOf(s.manager.Run(t.Context(), me, r)), CodeInvalid, "no")
		expect(t, s.workerOf(s.diary.id("A")) == before, "there is another worker")
		s.diary.begin = nil
		wantRun(t, mustRun(t, s.manager, RunRequest{Code: "c"}), 2, "a c")
		r.Code = "d"
		wantRun(t, mustRun(t, s.manager, r), 3, "d")
		want := []string{"A stands -", "A1 - - A1", "A2 begins - -", "A2 A1 A1 A2", "A3 begins - -", "A stands A2", "A stands -", "A3 begins - -", "A3 - - A3"}
		same(t, want, s.diary.told())
	})
}

// TestABuggyTrialIsFollowedThoughItIsUndone: what runs next mends it.
func TestABuggyTrialIsFollowedThoughItIsUndone(t *testing.T) {
	s := newStage(t, nil)
	s.diary.record = func(e Entry) (*TrialReport, error) {
		if e.Trial == nil {
			return nil, nil
		}
		return &TrialReport{Buggy: e.Code == "bug"}, nil
	}
	s.play("A a")
	for _, code := range []string{"bug", "bug", "fine", "b"} {
		mustRun(t, s.manager, trial(code))
		s.play("A undo")
	}
	mustRun(t, s.manager, trial("bug"))
	s.plays("A c", "A undo", "A d")
	var got []string
	for _, e := range s.diary.last {
		got = append(got, fmt.Sprintf("%s: %s %s", e.Code, s.diary.place(e.Parent), s.diary.place(e.Follows)))
	}
	want := []string{"a: - -", "bug: A1 A1", "bug: A1 A2", "fine: A1 A3", "b: A1 A1", "bug: A1 A1", "c: A6 A6", "d: A6 A6"}
	same(t, want, got)
}

// TestARefusedTrialOfNobody takes its interpreter with it, which no call could reach.
func TestARefusedTrialOfNobody(t *testing.T) {
	s := newStage(t, nil)
	s.diary.begin = func(context.Context, Entry) error { return Errorf(CodeInvalid, "no") }
	wantCode(t, errOf(s.manager.Run(t.Context(), Anonymous, trial("b"))), CodeInvalid, "no")
	same(t, []string{"A stands -", "A1 begins - -", "A ended -"}, s.diary.told())
}

// TestATrialRunsThoughItCouldNotBeAnnounced: a journal that fails costs no result.
func TestATrialRunsThoughItCouldNotBeAnnounced(t *testing.T) {
	s := newStage(t, nil)
	s.diary.begin = func(context.Context, Entry) error { return errors.New("the disk is full") }
	s.diary.record = func(Entry) (*TrialReport, error) { return nil, errors.New("the disk is full") }
	r := mustRun(t, s.manager, trial("b"))
	expect(t, r.Stdout == "b" && r.Trial == nil && strings.Contains(notes(r), "this run is not in the journal: the disk is full"), "%+v", r)
}

// delayed returns a begin that waits until go is closed or the call ends, and what
// is closed when it has begun.
func delayed() (begin func(context.Context, Entry) error, began, release chan struct{}) {
	began, release = make(chan struct{}), make(chan struct{})
	var once sync.Once
	return func(ctx context.Context, _ Entry) error {
		once.Do(func() { close(began) })
		select {
		case <-release:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}, began, release
}

// TestAnAnnouncedTrialThatDoesNotRun is withdrawn: its call was cancelled, or the
// interpreter was restarted or ended, while the Recorder took its time.
func TestAnAnnouncedTrialThatDoesNotRun(t *testing.T) {
	for name, c := range map[string]struct {
		act  func(s *stage, cancel func(), release chan struct{})
		want []string
	}{
		"cancelled": {func(_ *stage, cancel func(), _ chan struct{}) { cancel() }, []string{"A stands A1"}},
		"restarted": {func(s *stage, _ func(), release chan struct{}) {
			time.AfterFunc(time.Second, func() { close(release) })
			s.play("A restart")
		}, []string{"A stands A1", "A stands -"}},
		"deleted": {func(s *stage, _ func(), release chan struct{}) {
			time.AfterFunc(time.Second, func() { close(release) })
			s.play("A delete")
		}, []string{"A ended A1", "A ended A1"}},
	} {
		t.Run(name, func(t *testing.T) {
			onStage(t, nil, func(t *testing.T, s *stage) {
				s.play("A a")
				begin, began, release := delayed()
				s.diary.begin = begin
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				failed := make(chan error, 1)
				go func() {
					_, err := s.manager.Run(ctx, me, trial("b"))
					failed <- err
				}()
				<-began
				c.act(s, cancel, release)
				err := <-failed
				expect(t, err != nil, "it ran")
				synctest.Wait()
				want := append([]string{"A stands -", "A1 - - A1", "A2 begins A1 A1"}, c.want...)
				same(t, want, s.diary.told())
			})
		})
	}
}

// TestTheReportOfATrialReachesWhoTakesItsResult, also an operation "wait".
func TestTheReportOfATrialReachesWhoTakesItsResult(t *testing.T) {
	onStage(t, nil, func(t *testing.T, s *stage) {
		score := 0.5
		s.diary.record = func(e Entry) (*TrialReport, error) {
			return &TrialReport{Number: e.Execution, Stage: StageDraft, Metric: e.Metric.Value}, nil
		}
		s.starter.start = func(Spec) (*fakeWorker, error) {
			return &fakeWorker{run: func(_ *fakeWorker, r Request, _ Sink) (Outcome, error) {
				time.Sleep(time.Minute)
				if r.MetricVarName != "score" {
					return Outcome{}, errors.New("nothing is measured")
				}
				return Outcome{OK: true, Metric: &Metric{Value: &score}}, nil
			}}, nil
		}
		r := mustRun(t, s.manager, RunRequest{Code: "b", Trial: trial("").Trial, Wait: time.Second})
		expect(t, r.Status == StatusRunning && r.Trial == nil, "%+v", r)
		r, err := s.manager.Await(t.Context(), me, WaitRequest{Wait: time.Hour})
		expect(t, err == nil && r.Trial != nil && r.Trial.Number == 1 && *r.Trial.Metric == score, "%+v %v", r, err)
	})
}

// TestAnAnswerAsRunningIsRecordedBeforeItLeaves, once, however many leave.
func TestAnAnswerAsRunningIsRecordedBeforeItLeaves(t *testing.T) {
	onStage(t, nil, func(t *testing.T, s *stage) {
		mustRun(t, s.manager, RunRequest{Code: "hang", Wait: -1})
		if told := s.diary.told(); told[len(told)-1] != "A1 begins - -" {
			t.Errorf("%q", told)
		}
		for range 3 {
			must(t, errOf(s.manager.Await(t.Context(), me, WaitRequest{Wait: time.Second})))
		}
		n := strings.Count(strings.Join(s.diary.told(), "\n"), "begins")
		expect(t, n == 1, "%q", s.diary.told())
	})
}

// TestNothingIsToldAfterTheRecord of an execution that ends while its Begin goes on.
func TestNothingIsToldAfterTheRecord(t *testing.T) {
	onStage(t, func(o *Options) { o.Grace = time.Millisecond }, func(t *testing.T, s *stage) {
		s.diary.begin = func(_ context.Context, e Entry) error {
			<-s.workerOf(e.InterpreterID).Exited()
			s.diary.mu.Lock()
			defer s.diary.mu.Unlock()
			s.diary.write("begun")
			return nil
		}
		mustRun(t, s.manager, RunRequest{Code: "hang", Timeout: unrecordedFor + 100*time.Millisecond})
		want := []string{"A stands -", "A1 begins - -", "begun", "A1 - - -"}
		same(t, want, s.diary.told())
	})
}

type printedCase struct {
	text         []byte
	after, limit int
	memory       int
	inFile       bool
	size, lost   int
}

// check wants the beginning of the text as it was printed.
func (c printedCase) check(t *testing.T, p Printed) {
	t.Helper()
	got := p.Text
	if p.Path != "" {
		var err error
		if got, err = os.ReadFile(p.Path); err != nil {
			t.Fatal(err)
		}
	}
	expect(t, (p.Path != "") == c.inFile && p.Size == int64(c.size) && p.Lost == int64(c.lost) && bytes.Equal(got, c.text[:c.size]),
		"%q of %d bytes, %d lost, file %q", got, p.Size, p.Lost, p.Path)
}

// TestWhatWasPrintedIsWholeWhenItIsRecorded, in memory or in a file, and nothing is
// added to it afterwards.
func TestWhatWasPrintedIsWholeWhenItIsRecorded(t *testing.T) {
	long := bytes.Repeat([]byte("käse\xff"), 1000)
	for name, c := range map[string]printedCase{
		"nothing":                  {nil, 100, 1000, 1 << 20, false, 0, 0},
		"short":                    {[]byte("short\xff"), 100, 1000, 1 << 20, false, 6, 0},
		"long":                     {long, 100, 1 << 20, 1 << 20, true, len(long), 0},
		"cut from memory":          {long, 1 << 20, 1 << 20, 100, true, len(long), 0},
		"beyond the limit":         {long, 100, 1000, 1 << 20, true, 1000, len(long) - 1000},
		"no file may be long":      {long, 100, 0, 1 << 20, true, 0, len(long)},
		"short, no file be long":   {[]byte("short"), 100, 0, 1 << 20, false, 5, 0},
		"cut and no file be long":  {long, 1 << 20, 0, 100, true, 0, len(long)},
		"an incomplete character":  {[]byte("k\xc3"), 100, 1000, 1 << 20, false, 2, 0},
		"as long as memory allows": {long[:100], 100, 1000, 1 << 20, false, 100, 0},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t, func(o *Options) {
				o.SpoolAfter, o.SpoolLimit, o.OutputLimit = c.after, int64(c.limit), c.memory
			})
			s.starter.start = func(Spec) (*fakeWorker, error) {
				return &fakeWorker{run: func(_ *fakeWorker, _ Request, sink Sink) (Outcome, error) {
					for _, b := range bytes.SplitAfter(c.text, []byte("k")) {
						sink.Output(Stderr, b)
					}
					return Outcome{OK: true}, nil
				}}, nil
			}
			s.diary.record = func(e Entry) (*TrialReport, error) {
				c.check(t, e.Printed[Stderr])
				return nil, nil
			}
			mustRun(t, s.manager, RunRequest{Code: "x"})
			c.check(t, s.diary.last[0].Printed[Stderr])
			p := s.diary.last[0].Printed[Stdout]
			expect(t, p.Size == 0 && p.Path == "" && len(p.Text) == 0, "%+v", p)
		})
	}
}

// TestHeartbeatsTellWhatRuns, and wait for nothing.
func TestHeartbeatsTellWhatRuns(t *testing.T) {
	manage(t, obeys(), func(o *Options) { o.SessionVariables = map[string]string{"key": "secret"} }, func(t *testing.T, m *Manager, _ *fakeStarter) {
		must(t, errOf(m.Create(t.Context(), me, CreateRequest{})))
		time.Sleep(time.Second) // so that one is older
		mustRun(t, m, RunRequest{Code: "work", Wait: time.Second})
		heartbeats := m.Heartbeats()
		if len(heartbeats) != 2 || heartbeats[0].Execution != 0 || heartbeats[0].Code != "" {
			t.Fatalf("%+v", heartbeats)
		}
		p := heartbeats[1]
		expect(t, p.Execution == 1 && p.Code == "work" && p.Limit == time.Hour && p.Tail == "working\n" && p.Client == me && time.Since(p.Started) == time.Second,
			"%+v", p)
		same(t, []string{"secret"}, p.Secrets)
	})
}

// preparing is a starter whose starts wait for a workspace.
type preparing struct {
	*fakeStarter
	until time.Time
}

func (p preparing) Waiting() string {
	if time.Now().Before(p.until) {
		return "the workspace is being prepared (3 of 12 GB)"
	}
	return ""
}

// TestWhatAStartWaitsForIsSaid in progress and in answers that come before it is done.
func TestWhatAStartWaitsForIsSaid(t *testing.T) {
	bubble(t, func(t *testing.T) {
		f := echoes()
		starting := f.start
		f.start = func(spec Spec) (*fakeWorker, error) {
			time.Sleep(time.Minute)
			return starting(spec)
		}
		m := newTestManager(t, preparing{f, time.Now().Add(time.Minute)}, nil)
		phases := map[string]bool{}
		r := RunRequest{Code: "x", Wait: 20 * time.Second, Progress: func(p Progress) { phases[p.Phase] = true }}
		for range 2 { // the one that begins the start, and one that waits for its turn
			wantCode(t, errOf(m.Run(t.Context(), me, r)), CodeBusy, "is still starting: the workspace is being prepared (3 of 12 GB); this code did not run. Try again in a minute")
		}
		same(t, map[string]bool{"the workspace is being prepared (3 of 12 GB)": true}, phases)
		wantOut(t, mustRun(t, m, RunRequest{Code: "x"}), "x")
	})
}

func TestRecorderGetsWhatEarlierAnswersHandedOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var entries recorder
		m := newTestManager(t, workerThat(func(_ *fakeWorker, _ Request, sink Sink) (Outcome, error) {
			sink.Output(Stdout, []byte("start\n"))
			sink.Figure(Figure{Path: "/f.png"})
			time.Sleep(time.Minute)
			sink.Output(Stderr, []byte("end\n"))
			return Outcome{OK: true}, nil
		}), func(o *Options) { o.Recorder = &entries })
		if r := mustRun(t, m, RunRequest{Code: "x", Wait: time.Second}); r.Stdout != "start\n" || len(r.Figures) != 1 {
			t.Fatalf("%+v", r)
		}
		if r, err := m.Await(t.Context(), me, WaitRequest{InterpreterID: "", Wait: 2 * time.Minute}); err != nil || r.Stdout != "" || r.Stderr != "end\n" || len(r.Figures) != 0 {
			t.Fatalf("%+v %v", r, err)
		}
		expect(t, entries[0].Code == "x" && entries[0].Client == me, "%+v", entries[0])
		r := entries[0].Result
		expect(t, r.Status == StatusOK && r.Stdout == "start\n" && r.Stderr == "end\n" && len(r.TermOut) == 2 && len(r.Figures) == 1, "recorded %+v", r)
	})
}

type recorder []Entry

func (r *recorder) Begin(context.Context, Entry) error              { return nil }
func (r *recorder) SaveSession(context.Context, SessionState) error { return nil }
func (r *recorder) Record(_ context.Context, e Entry) (*TrialReport, error) {
	*r = append(*r, e)
	return nil, nil
}

func TestStats(t *testing.T) {
	manage(t, obeys(), nil, func(t *testing.T, m *Manager, _ *fakeStarter) {
		running := mustRun(t, m, RunRequest{Code: "a", Wait: -1})
		must(t, errOf(m.Create(t.Context(), me, CreateRequest{})))
		must(t, errOf(m.Create(t.Context(), other, CreateRequest{})))
		queued := make(chan struct{})
		go func() {
			defer close(queued)
			_, _ = m.Run(t.Context(), me, RunRequest{Code: "b", InterpreterID: running.InterpreterID, Wait: 1})
		}()
		<-queued // it gave up, as the other one still runs

		want := Stats{
			Sessions: 3, Running: 1, Clients: 2, Memory: 300 << 20, Private: 60 << 20, Starts: map[string]uint64{"fake": 3},
		}
		same(t, want, m.Stats(t.Context()))
		must(t, errOf(m.Interrupt(t.Context(), me, running.InterpreterID)))
		got := m.Stats(t.Context())
		expect(t, got.Running == 0 && got.Unfetched == 1, "%+v", got)
		late, cancel := context.WithCancel(t.Context())
		cancel()
		got = m.Stats(late)
		expect(t, got.Sessions == 3 && got.Private == 0, "without time to measure: %+v", got)
	})
}

func TestStatsOfStartsThatFail(t *testing.T) {
	m := newTestManager(t, &fakeStarter{start: func(Spec) (*fakeWorker, error) { return nil, errors.New("no memory") }}, nil)
	wantCode(t, errOf(m.Create(t.Context(), me, CreateRequest{})), CodeStart, "no memory")
	got := m.Stats(t.Context())
	expect(t, got.FailedStarts == 1 && got.Sessions == 0, "%+v", got)
}

func TestEndedIsToldWithoutOutput(t *testing.T) {
	var ended []Result
	m := newTestManager(t, echoes(), func(o *Options) { o.Ended = func(r Result) { ended = append(ended, r) } })
	mustRun(t, m, RunRequest{Code: "a"})
	expect(t, len(ended) == 1 && ended[0].Status == StatusOK && ended[0].Execution == 1 && ended[0].Stdout == "", "%+v", ended)
}

func TestTerminal(t *testing.T) {
	const trace = "Traceback (most recent call last):\n  File \"train.py\", line 1, in <module>\nKeyError: 'a'\n"
	said := func(message string) *ExceptionInfo {
		return &ExceptionInfo{Msg: message, Args: []json.RawMessage{}}
	}
	for name, test := range map[string]struct {
		result Result
		output []string
		want   []string
	}{
		"ok":                      {Result{Status: StatusOK}, []string{"a\n"}, []string{"a\n"}},
		"running":                 {Result{Status: StatusRunning}, []string{"a"}, []string{"a"}},
		"error":                   {Result{Status: StatusError, ExcType: "KeyError", Traceback: trace}, []string{"a\n", "b\n"}, []string{"a\n", "b\n", trace}},
		"error in a line":         {Result{Status: StatusError, ExcType: "KeyError", Traceback: trace}, []string{"a"}, []string{"a", "\n" + trace}},
		"error without output":    {Result{Status: StatusError, ExcType: "KeyError", Traceback: trace}, nil, []string{trace}},
		"fault, no newline":       {Result{Status: StatusCrashed, Traceback: "Fatal Python error: Aborted"}, nil, []string{"Fatal Python error: Aborted\n"}},
		"crash without a report":  {Result{Status: StatusCrashed, ExcType: "InterpreterCrash", ExcInfo: said("killed by SIGKILL")}, nil, []string{"InterpreterCrash: killed by SIGKILL\n"}},
		"command that failed":     {Result{Status: StatusError, Kind: RunsCommand}, []string{"a\n"}, []string{"a\n"}},
		"time limit":              {Result{Status: StatusTimeout, ExcType: "TimeoutError", Traceback: trace}, nil, []string{trace}},
		"time limit, no answer":   {Result{Status: StatusTimeout, ExcType: "TimeoutError", ExcInfo: said("Execution exceeded")}, nil, nil}, // the line about its time says it
		"exception without a msg": {Result{Status: StatusError, ExcType: "KeyError"}, nil, []string{"KeyError\n"}},
	} {
		t.Run(name, func(t *testing.T) {
			same(t, test.want, test.result.Terminal(test.output))
		})
	}
}
