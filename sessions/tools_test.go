package sessions

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"understudy/internal/check"
)

// upstreams is a Toolbox with one server, s. Its tools are read, which may be called, never,
// which may not, fail, which says that it failed, large and hang; any other asks.
type upstreams struct {
	mu     sync.Mutex
	always map[string]bool
	calls  int
}

// made is how many calls were answered.
func (u *upstreams) made() int {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.calls
}

func (u *upstreams) Permit(_ context.Context, client Client, r ToolRequest) (*Consent, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	switch {
	case strings.HasPrefix(r.Name, "none"):
		return nil, &ToolRefusal{RefusedInvalid, "there is no such tool"}
	case r.Name == "never":
		return nil, &ToolRefusal{RefusedDenied, "it may not be called"}
	case strings.HasPrefix(r.Name, "write") && !u.always[string(client)+r.Name]:
		return &Consent{Key: r.Name, Text: "May it " + r.Name + "?"}, nil
	}
	return nil, nil
}

func (u *upstreams) Allow(client Client, c Consent) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.always[string(client)+c.Key] = true
	return nil
}

func (u *upstreams) Answer(ctx context.Context, r ToolRequest) (*ToolAnswer, error) {
	u.mu.Lock()
	u.calls++
	u.mu.Unlock()
	text, failed := r.Name, r.Name == "fail"
	switch r.Name {
	case "large":
		text = strings.Repeat("x", keptAnswer-100)
	case "hang":
		<-ctx.Done()
		return nil, cancelledTool()
	}
	body, _ := json.Marshal(map[string]any{"is_error": failed, "content": []any{map[string]any{"text": text}}})
	return &ToolAnswer{Body: body, Attachments: [][]byte{make([]byte, 10)}}, nil
}

// calling is a starter whose workers make a call for each line of code, and print what it
// came to. What "&" parts are threads, each begun a second after the one before; "5 read"
// are five calls, input is one of input(), and leave starts a call and does not wait for it.
func calling() *fakeStarter {
	return workerThat(func(w *fakeWorker, r Request, sink Sink) (Outcome, error) {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		done := make(chan struct{})
		go func() {
			defer close(done)
			for line := range strings.SplitSeq(r.Code, "\n") {
				var threads sync.WaitGroup
				for i, word := range strings.Split(line, " & ") {
					threads.Go(func() {
						time.Sleep(time.Duration(i) * time.Second)
						perform(ctx, w, sink, word)
					})
				}
				threads.Wait()
			}
		}()
		select {
		case <-done:
			return Outcome{OK: true}, nil
		case <-w.stopped:
			return Outcome{Signalled: true, Exception: &Exception{Type: "KeyboardInterrupt"}}, nil
		case <-w.exited:
			return Outcome{}, w.crash
		}
	})
}

func perform(ctx context.Context, w *fakeWorker, sink Sink, word string) {
	name, times := word, 1
	_, _ = fmt.Sscanf(word, "%d %s", &times, &name)
	switch name {
	case "crash":
		if w == w.starter.started()[0] {
			w.die("killed by SIGSEGV")
			<-ctx.Done()
		}
		return
	case "input":
		replies := make(chan Reply, 1)
		sink.Ask(Question{Prompt: "input", Reply: func(r Reply) { replies <- r }})
		select {
		case r := <-replies:
			sink.Output(Stdout, fmt.Appendf(nil, "input %s%s\n", r.Text, r.Refusal))
		case <-ctx.Done():
		}
		return
	case "leave":
		go func() { _, _ = sink.Tool(ctx, ToolRequest{Op: ToolCall, Server: "s", Name: "hang"}) }()
		time.Sleep(time.Second)
		return
	}
	for range times {
		text := name + " done\n"
		if _, err := sink.Tool(ctx, ToolRequest{Op: ToolCall, Server: "s", Name: name, Arguments: json.RawMessage(`{}`)}); err != nil {
			text = name + ": " + err.Error() + "\n"
		}
		if times == 1 {
			sink.Output(Stdout, []byte(text))
		}
	}
}

// toolSessions runs a test with a manager of such sessions, which survive crashes.
func toolSessions(t *testing.T, change func(*Options), test func(t *testing.T, m *Manager, u *upstreams)) {
	t.Helper()
	u := &upstreams{always: map[string]bool{}}
	f := calling()
	f.forks = true
	survive(t, f, func(o *Options) {
		o.Toolbox, o.MaxToolCalls = u, 2000
		if change != nil {
			change(o)
		}
	}, func(t *testing.T, m *Manager, _ *fakeStarter) { test(t, m, u) })
}

// chooser is a user who takes a while to choose, or to answer input().
type chooser struct {
	choice Reply
	after  time.Duration
	mu     sync.Mutex
	asked  []string
	told   int // questions that were taken back
}

func (c *chooser) asking() Asking {
	return Asking{Consent: true, Ask: func(ctx context.Context, asked Asked) Reply {
		c.mu.Lock()
		c.asked = append(c.asked, asked.Prompt)
		c.mu.Unlock()
		select {
		case <-time.After(c.after):
		case <-ctx.Done():
			c.mu.Lock()
			c.told++
			c.mu.Unlock()
			return Reply{Refusal: "too late"}
		}
		if !asked.Consent {
			return Reply{Text: "typed"}
		}
		return c.choice
	}}
}

// asks returns what was asked since the last time.
func (c *chooser) asks() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	asked := c.asked
	c.asked = nil
	return asked
}

const refusedByUser = "write: s.write may not be called: the user has refused it. The server's operator can allow it with --mcp-allow s.write\n"

// TestChoices: how often the user is asked after each.
func TestChoices(t *testing.T) {
	for _, test := range []struct {
		choice                                           Reply
		first, second, restarted, inBranch, anew, others int
		denied                                           bool
	}{
		{Reply{Text: ChoiceOnce}, 2, 1, 1, 1, 1, 1, false},
		{Reply{Text: ChoiceInterpreter}, 1, 0, 0, 1, 1, 1, false},
		{Reply{Text: ChoiceAlways}, 1, 0, 0, 0, 0, 1, false},
		{Reply{Text: ChoiceDeny}, 1, 1, 1, 1, 1, 1, true},
		{Reply{Text: "yes"}, 1, 1, 1, 1, 1, 1, true},
		{Reply{Refusal: "the user declined to answer"}, 1, 1, 1, 1, 1, 1, true},
	} {
		t.Run(test.choice.Text+test.choice.Refusal, func(t *testing.T) {
			toolSessions(t, nil, func(t *testing.T, m *Manager, u *upstreams) {
				c := &chooser{choice: test.choice}
				made := 0
				runs := func(what string, client Client, id, code string, want int) string {
					t.Helper()
					before := u.made()
					r := runAs(t, m, client, RunRequest{Code: code, InterpreterID: id, Asking: c.asking()})
					asked := len(c.asks())
					expect(t, asked == want, "%s: asked %d times, not %d: %s", what, asked, want, r.Stdout)
					expect(t, (u.made() > before) != test.denied && strings.Contains(r.Stdout, "--mcp-allow") == test.denied, "%s: %s", what, r.Stdout)
					made++
					return r.InterpreterID
				}
				id := runs("the first run", me, "", "write\nwrite", test.first)
				runs("the second", me, id, "write", test.second)
				restart(t, m)
				runs("after a restart", me, id, "write", test.restarted)
				runs("a branch", me, branch(t, m, id).ID, "write", test.inBranch)
				remove(t, m, id)
				runs("a new one", me, "", "write", test.anew)
				runs("another client", other, "", "write", test.others)
				runs("another tool", me, "", "write_more", 1)
			})
		})
	}
}

// TestThreadsAreAskedOneAfterAnother, and what the first is told holds for the next.
func TestThreadsAreAskedOneAfterAnother(t *testing.T) {
	for choice, want := range map[string]int{ChoiceOnce: 3, ChoiceInterpreter: 1, ChoiceAlways: 1, ChoiceDeny: 1} {
		toolSessions(t, nil, func(t *testing.T, m *Manager, _ *upstreams) {
			c := &chooser{choice: Reply{Text: choice}, after: 10 * time.Second}
			r := mustRun(t, m, RunRequest{Code: "write & write & write", Asking: c.asking(), Wait: time.Minute})
			said := map[bool]string{true: refusedByUser, false: "write done\n"}[choice == ChoiceDeny]
			wantOut(t, r, strings.Repeat(said, 3))
			asked := c.asks()
			expect(t, len(asked) == want && asked[0] == "May it write?", "%s: asked %q", choice, asked)
		})
	}
}

// TestWhereNobodyCanConsent the call is refused, and the model is not asked.
func TestWhereNobodyCanConsent(t *testing.T) {
	anonymous := (&chooser{choice: Reply{Text: ChoiceAlways}}).asking()
	anonymous.Consent = false
	for name, test := range map[string]struct {
		client Client
		asking Asking
	}{
		"a client that can't ask":      {me, Asking{}},
		"one without authentication":   {me, anonymous},
		"likewise, of the newest era":  {me, byReturn},
		"one that says so and doesn't": {me, Asking{Consent: true, Ask: func(context.Context, Asked) Reply { return Reply{Unasked: true} }}},
		"the operator":                 {Operator, Asking{}},
	} {
		t.Run(name, func(t *testing.T) {
			toolSessions(t, nil, func(t *testing.T, m *Manager, u *upstreams) {
				id := mustRun(t, m, RunRequest{Code: "read"}).InterpreterID
				r := runAs(t, m, test.client, RunRequest{Code: "write\nwrite & read", InterpreterID: id, Asking: test.asking})
				no := "write: s.write may not be called: it is not a tool that only reads, and nobody could be asked. The server's operator can allow it with --mcp-allow s.write\n"
				expect(t, r.Status == StatusOK && u.made() == 2, "%+v, %d calls", r, u.made())
				wantOut(t, r, no+no+"read done\n")
			})
		})
	}
}

// TestAModelNeverConsents: neither by operation answer nor by lines that it gives ahead.
func TestAModelNeverConsents(t *testing.T) {
	toolSessions(t, nil, func(t *testing.T, m *Manager, u *upstreams) {
		c := &chooser{choice: Reply{Text: ChoiceDeny}, after: time.Minute}
		r := mustRun(t, m, RunRequest{Code: "write & input", Asking: c.asking(), Wait: 10 * time.Second})
		expect(t, r.Prompt == "May it write?" && r.PersonAsked, "%+v", r)
		wantCode(t, errOf(m.Await(t.Context(), me, WaitRequest{Lines: []string{ChoiceAlways}})), CodeInvalid, "asks nothing now")
		got := wait(t, m).Stdout + give(t, m, "x").Stdout
		expect(t, strings.Contains(got, refusedByUser) && strings.Contains(got, "input x\n"), "%q", got)
		mustRun(t, m, RunRequest{Code: "input\nwrite\ninput"})
		r = give(t, m, "x", ChoiceAlways)
		expect(t, u.made() == 0 && len(u.always) == 0 && strings.Contains(r.Stdout, "--mcp-allow") && strings.HasSuffix(r.Stdout, "input always\n"), "%+v", r)
	})
}

// TestConsentAndInput wait for each other, and each gets its own reply.
func TestConsentAndInput(t *testing.T) {
	for code, want := range map[string]string{
		"write & input": "May it write? input: write done\ninput typed\n",
		"input & write": "input May it write?: input typed\nwrite done\n",
	} {
		toolSessions(t, nil, func(t *testing.T, m *Manager, _ *upstreams) {
			c := &chooser{choice: Reply{Text: ChoiceOnce}, after: 5 * time.Second}
			r := mustRun(t, m, RunRequest{Code: code, Asking: c.asking(), Wait: time.Minute})
			got := strings.Join(c.asks(), " ") + ": " + r.Stdout
			expect(t, got == want, "%q", got)
		})
	}
}

// TestWhatEndsAConsent: who is asked is told, and nothing is taken for a refusal.
func TestWhatEndsAConsent(t *testing.T) {
	for name, end := range map[string]func(*testing.T, *Manager){
		"an interrupt":   func(t *testing.T, m *Manager) { interrupt(t, m) },
		"the time limit": func(*testing.T, *Manager) { time.Sleep(time.Hour) },
		"a restart":      func(t *testing.T, m *Manager) { restart(t, m) },
		"a death":        func(_ *testing.T, m *Manager) { m.options.Starter.(*fakeStarter).lead().die("killed") },
	} {
		t.Run(name, func(t *testing.T) {
			toolSessions(t, nil, func(t *testing.T, m *Manager, u *upstreams) {
				c := &chooser{choice: Reply{Text: ChoiceAlways}, after: 2 * time.Hour}
				r := mustRun(t, m, RunRequest{Code: "write & write", Asking: c.asking(), Wait: time.Second * 5})
				expect(t, r.Prompt == "May it write?", "%+v", r)
				end(t, m)
				synctest.Wait()
				expect(t, c.told == 1 && u.made() == 0 && len(c.asks()) == 1, "told %d times, %d calls", c.told, u.made())
				c.after = 0
				r = mustRun(t, m, RunRequest{Code: "write", Asking: c.asking()})
				expect(t, r.Stdout == "write done\n" && len(c.asks()) == 1, "%+v", r)
			})
		})
	}
}

// TestAConsentAfterACrash: the code that is run once more can ask.
func TestAConsentAfterACrash(t *testing.T) {
	toolSessions(t, func(o *Options) { o.RerunAfterCrash = true }, func(t *testing.T, m *Manager, _ *upstreams) {
		c := &chooser{choice: Reply{Text: ChoiceOnce}}
		r := mustRun(t, m, RunRequest{Code: "crash\nwrite", Asking: c.asking()})
		wantOut(t, r, "write done\n")
	})
}

// TestAConsentWithoutACaller is put by the next call that waits.
func TestAConsentWithoutACaller(t *testing.T) {
	toolSessions(t, nil, func(t *testing.T, m *Manager, _ *upstreams) {
		c := &chooser{choice: Reply{Text: ChoiceOnce}}
		letRun(t, m, RunRequest{Code: "write"})
		l := list(t, m)[0]
		expect(t, l.Status != "asking" && l.Prompt == "", "it is no question for the model: %+v", l)
		r, err := m.Await(t.Context(), me, WaitRequest{Asking: c.asking(), Wait: time.Minute})
		expect(t, err == nil && r.Stdout == "write done\n" && len(c.asks()) == 1, "%+v, %v", r, err)
	})
}

// TestTheCallReturnsWithTheConsent, as clients of the newest era want it.
func TestTheCallReturnsWithTheConsent(t *testing.T) {
	toolSessions(t, nil, func(t *testing.T, m *Manager, u *upstreams) {
		modern := Asking{Return: true, Consent: true}
		r := mustRun(t, m, RunRequest{Code: "write & write", Asking: modern})
		if r.Question == nil || *r.Question != (Asked{1, "May it write?", true}) {
			t.Fatalf("%+v", r)
		}
		reply := func(question int, choice string) *Result {
			t.Helper()
			r, err := m.Await(t.Context(), me, WaitRequest{Asking: modern, Answer: &Answer{1, question, Reply{Text: choice}}})
			must(t, err)
			return r
		}
		time.Sleep(time.Minute)
		if r = reply(1, ChoiceOnce); r.Question == nil || *r.Question != (Asked{2, "May it write?", true}) || u.made() != 1 {
			t.Fatalf("%+v", r)
		}
		if r = reply(1, ChoiceAlways); r.Question == nil || r.Question.Number != 2 || u.made() != 1 {
			t.Fatalf("a reply that comes twice: %+v", r)
		}
		wantOut(t, reply(2, ChoiceDeny), "write done\n"+refusedByUser)
	})
}

// TestBoundsOfCalls: their number and rate.
func TestBoundsOfCalls(t *testing.T) {
	toolSessions(t, func(o *Options) { o.MaxToolCalls = 200 }, func(t *testing.T, m *Manager, u *upstreams) {
		began := time.Now()
		r := mustRun(t, m, RunRequest{Code: "199 read\nread\nread\nwrite", Wait: time.Minute})
		expect(t, u.made() == 200, "%d calls were made", u.made())
		expect(t, strings.HasPrefix(r.Stdout, "read done\nread: this run has made 200 calls"), "%s", r.Stdout)
		wantTook(t, began, time.Duration(200-toolRate)*time.Second/toolRate)
		wantOut(t, run(t, m, "read\nnever\nnone"), "read done\nnever: it may not be called\nnone: there is no such tool\n")
	})
}

// TestRecordOfCalls has each that was made or refused, also one that the run's end
// cancels; what names no tool, however often, is not in it.
func TestRecordOfCalls(t *testing.T) {
	var entries recorder
	toolSessions(t, func(o *Options) { o.Recorder, o.MaxToolCalls = &entries, 8 }, func(t *testing.T, m *Manager, _ *upstreams) {
		r := mustRun(t, m, RunRequest{Code: "read\nfail\nnever\nwrite\n5 none\nleave\n2 read\nlarge\nread\nread\nnone_too"})
		same(t, &ToolCalls{Count: 10, Failed: 5, ByTool: map[string]int{"s.read": 5, "s.fail": 1, "s.never": 1, "s.write": 1, "s.hang": 1, "s.large": 1}}, r.ToolCalls)
		var got []string
		for _, use := range entries[0].ToolUses {
			got = append(got, fmt.Sprint(use.Tool, " ", use.Status, " ", use.Result != nil, " ", use.Message != "", " ", use.Bytes > 10))
		}
		same(t, []string{
			"read ok true false true", "fail error true true true", "never denied false true false", "write denied false true false",
			"read ok true false true", "read ok true false true", "large ok true false true", "read ok true false true",
			"read limit false true false", "hang cancelled false true false",
		}, got)
	})
}

// TestRecordIsBounded in the number of calls, and in what is kept of them; and the
// execution, which is kept for longer, lets go of it.
func TestRecordIsBounded(t *testing.T) {
	var entries recorder
	toolSessions(t, func(o *Options) { o.Recorder = &entries }, func(t *testing.T, m *Manager, _ *upstreams) {
		letRun(t, m, RunRequest{Code: "1100 large"})
		uses, size := entries[0].ToolUses, 0
		for _, use := range uses {
			size += len(use.Result)
		}
		expect(t, len(uses) == keptUses && size <= keptAnswers && size > keptAnswers-keptAnswer, "%d calls of %d bytes", len(uses), size)
		s, err := m.session(t.Context(), me, "")
		must(t, err)
		expect(t, len(s.uncollected) == 1 && s.uncollected[0].tools.uses == nil, "the execution has still what is recorded")
		r := wait(t, m)
		expect(t, r.ToolCalls.Count == 1100, "%+v", r.ToolCalls)
	})
}

// TestCallsOfWhatRuns: how many there were is told while it runs.
func TestCallsOfWhatRuns(t *testing.T) {
	toolSessions(t, nil, func(t *testing.T, m *Manager, _ *upstreams) {
		r := mustRun(t, m, RunRequest{Code: "3 read\nfail\ninput"})
		check.Insist(t, r.Status == StatusAsking, "%+v", r)
		same(t, map[string]int{"s": 4}, m.Heartbeats()[0].ToolCalls)
		give(t, m, "")
		expect(t, m.Heartbeats()[0].ToolCalls == nil, "an idle session has calls")
	})
}
