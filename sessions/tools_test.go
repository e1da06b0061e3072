package sessions

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"understudy/internal/check"
)

// box has the tools read, write, never and fail of one server, which answer with their name.
type box struct {
	mu     sync.Mutex
	called []string
	always []string
}

func (b *box) Permit(client Client, r ToolRequest) (*Consent, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case r.Name == "never":
		return nil, &ToolRefusal{RefusedDenied, "never"}
	case r.Name == "nothing":
		return nil, &ToolRefusal{RefusedInvalid, "there is none"}
	case strings.HasPrefix(r.Name, "write") && !slices.Contains(b.always, string(client)+r.Name):
		return &Consent{Key: "s." + r.Name, Text: "may it " + r.Name + "?"}, nil
	}
	return nil, nil
}

func (b *box) Allow(client Client, consent Consent) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.always = append(b.always, string(client)+strings.TrimPrefix(consent.Key, "s."))
	return nil
}

func (b *box) Answer(ctx context.Context, r ToolRequest) (*ToolAnswer, error) {
	if r.Op == ToolCatalog {
		return &ToolAnswer{Body: json.RawMessage(`{"servers":[]}`)}, nil
	}
	if r.Name == "hang" {
		<-ctx.Done()
		return nil, &ToolRefusal{RefusedCancelled, "cancelled"}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.called = append(b.called, r.Name)
	return &ToolAnswer{Body: json.RawMessage(fmt.Sprintf(`{"is_error":%v,"content":[{"type":"text","text":%q}]}`, r.Name == "fail", r.Name))}, nil
}

// callsTools is a starter whose workers call each word of a line of code at once, as
// threads do, and print how it went, sorted; "catalog" asks for that and "ask" a person.
func callsTools() *fakeStarter {
	return workerThat(func(w *fakeWorker, r Request, sink Sink) (Outcome, error) {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		over := make(chan struct{})
		defer close(over)
		interrupted := false
		go func() {
			select {
			case <-w.stopped:
				interrupted = true
				cancel()
			case <-over:
			}
		}()
		for _, line := range strings.Split(r.Code, "\n") {
			words := strings.Fields(line)
			said := make([]string, len(words))
			var all sync.WaitGroup
			for i, word := range words {
				all.Go(func() { said[i] = word + "=" + w.callTool(ctx, sink, word) })
			}
			all.Wait()
			slices.Sort(said)
			sink.Output(Stdout, fmt.Appendln(nil, strings.Join(said, " ")))
		}
		return Outcome{OK: !interrupted, Signalled: interrupted}, nil
	})
}

func (w *fakeWorker) callTool(ctx context.Context, sink Sink, word string) string {
	request := ToolRequest{Op: ToolCall, Server: "s", Name: word, Arguments: json.RawMessage(`{}`)}
	switch word {
	case "catalog":
		request = ToolRequest{Op: ToolCatalog}
	case "ask":
		replies := make(chan Reply, 1)
		sink.Ask(Question{Prompt: "name?", Reply: func(r Reply) { replies <- r }})
		select {
		case r := <-replies:
			return r.Text + r.Refusal
		case <-ctx.Done():
			return "interrupted"
		}
	}
	_, err := sink.Tool(ctx, request)
	var refusal *ToolRefusal
	if errors.As(err, &refusal) {
		return string(refusal.Kind)
	}
	return map[bool]string{true: "ok", false: "lost"}[err == nil]
}

// withTools runs a test with sessions whose code reaches b.
func withTools(t *testing.T, b *box, change func(*Options), test func(t *testing.T, m *Manager)) {
	t.Helper()
	manage(t, callsTools(), func(o *Options) {
		o.Toolbox, o.MaxToolCalls = b, 100
		if change != nil {
			change(o)
		}
	}, func(t *testing.T, m *Manager, _ *fakeStarter) { test(t, m) })
}

// chooser is a person who agrees with these choices, one after another; "" declines.
func chooser(asked *[]string, choices ...string) Asking {
	var mu sync.Mutex
	return Asking{Consent: true, Ask: func(_ context.Context, q Asked) Reply {
		mu.Lock()
		defer mu.Unlock()
		*asked = append(*asked, q.Prompt)
		if !q.Consent {
			return Reply{Text: "ada"}
		}
		choice := choices[0]
		choices = choices[1:]
		if choice == "" {
			return Reply{Refusal: "the user declined to answer"}
		}
		return Reply{Text: choice}
	}}
}

func TestToolsThatNeedNoConsent(t *testing.T) {
	b := &box{}
	withTools(t, b, nil, func(t *testing.T, m *Manager) {
		r := mustRun(t, m, RunRequest{Code: "catalog read fail never nothing"})
		expect(t, r.Stdout == "catalog=ok fail=ok never=denied nothing=invalid read=ok\n", "%q", r.Stdout)
		check.Insist(t, r.ToolCalls != nil, "it is not in the record")
		got := r.ToolCalls
		expect(t, got.Count == 3 && got.Failed == 2 && got.ByTool["s.read"] == 1 && got.ByTool["s.nothing"] == 0, "%+v", got)
		expect(t, run(t, m, "catalog").ToolCalls == nil, "a look at what there is counts")
	})
}

func TestToolsWithoutToolbox(t *testing.T) {
	manage(t, callsTools(), nil, func(t *testing.T, m *Manager, _ *fakeStarter) {
		r := run(t, m, "read catalog")
		expect(t, r.Stdout == "catalog=unavailable read=unavailable\n" && r.ToolCalls == nil, "%q", r.Stdout)
	})
}

func TestConsent(t *testing.T) {
	for name, test := range map[string]struct {
		choices []string
		code    string
		want    string
		asked   int
	}{
		"once is for one call":           {[]string{ChoiceOnce, ChoiceOnce}, "write\nwrite", "write=ok\nwrite=ok\n", 2},
		"this interpreter":               {[]string{ChoiceInterpreter}, "write\nwrite", "write=ok\nwrite=ok\n", 1},
		"always":                         {[]string{ChoiceAlways}, "write\nwrite", "write=ok\nwrite=ok\n", 1},
		"no":                             {[]string{ChoiceDeny}, "write\nwrite", "write=denied\nwrite=denied\n", 1},
		"the form was closed":            {[]string{""}, "write\nwrite", "write=denied\nwrite=denied\n", 1},
		"nonsense is no consent":         {[]string{"yes"}, "write", "write=denied\n", 1},
		"another tool is another matter": {[]string{ChoiceAlways, ChoiceDeny}, "write\nwrite2", "write=ok\nwrite2=denied\n", 2},
		"threads are asked for in turn":  {[]string{ChoiceInterpreter}, "write write write", "write=ok write=ok write=ok\n", 1},
		"and each that is once":          {[]string{ChoiceOnce, ChoiceOnce, ChoiceOnce}, "write write write", "write=ok write=ok write=ok\n", 3},
		"beside a question":              {[]string{ChoiceOnce}, "write ask", "ask=ada write=ok\n", 2},
	} {
		t.Run(name, func(t *testing.T) {
			withTools(t, &box{}, nil, func(t *testing.T, m *Manager) {
				var asked []string
				r := mustRun(t, m, RunRequest{Code: test.code, Asking: chooser(&asked, test.choices...)})
				expect(t, r.Stdout == test.want && len(asked) == test.asked, "it printed %q, and %q were asked", r.Stdout, asked)
			})
		})
	}
}

// What was agreed to for an interpreter ends with it, and is its client's; what is for
// always is the client's.
func TestHowFarConsentGoes(t *testing.T) {
	for choice, want := range map[string]string{ChoiceInterpreter: "write=denied\n", ChoiceAlways: "write=ok\n"} {
		withTools(t, &box{}, nil, func(t *testing.T, m *Manager) {
			var asked []string
			r := mustRun(t, m, RunRequest{Code: "write", Asking: chooser(&asked, choice)})
			again := run(t, m, "write")
			expect(t, again.Stdout == "write=ok\n", "%s: the next run printed %q", choice, again.Stdout)
			must(t, m.Delete(t.Context(), me, r.InterpreterID))
			fresh := run(t, m, "write")
			expect(t, fresh.Stdout == want, "%s: a fresh interpreter printed %q", choice, fresh.Stdout)
			other, err := m.Run(t.Context(), "somebody", RunRequest{Code: "write"})
			must(t, err)
			expect(t, other.Stdout == "write=denied\n", "%s: another client's printed %q", choice, other.Stdout)
		})
	}
}

// A model never agrees in its user's place: not with lines, and it is shown no question.
func TestNobodyToConsent(t *testing.T) {
	withTools(t, &box{}, nil, func(t *testing.T, m *Manager) {
		for name, asking := range map[string]Asking{
			"nobody can be asked": {},
			"nobody may be":       {Ask: func(context.Context, Asked) Reply { t.Error("asked"); return Reply{Text: ChoiceOnce} }},
			"it went wrong":       {Consent: true, Ask: func(context.Context, Asked) Reply { return Reply{Unasked: true} }},
			"not even by return":  {Return: true},
		} {
			r := mustRun(t, m, RunRequest{Code: "write", Asking: asking})
			expect(t, r.Stdout == "write=denied\n" && r.Question == nil && r.Status == StatusOK, "%s: %q %s %+v", name, r.Stdout, r.Status, r.Question)
		}
		r := mustRun(t, m, RunRequest{Code: "ask\nwrite"})
		check.Insist(t, r.Status == StatusAsking, "%+v", r)
		r = give(t, m, "ada", ChoiceAlways)
		expect(t, r.Stdout == "ask=ada\nwrite=denied\n", "with a line ahead: %q", r.Stdout)
	})
}

// Where a call has been answered before somebody could be asked, the next one asks.
func TestConsentOfALaterCall(t *testing.T) {
	withTools(t, &box{}, func(o *Options) { o.Wait = time.Second }, func(t *testing.T, m *Manager) {
		slow := chooser(new([]string), ChoiceOnce)
		slow.Ask = func(ctx context.Context, q Asked) Reply {
			time.Sleep(2 * time.Second)
			return Reply{Text: ChoiceOnce}
		}
		r := mustRun(t, m, RunRequest{Code: "write", Asking: slow})
		check.Insist(t, r.Status == StatusAsking && r.PersonAsked, "%+v", r)
		_, err := m.Await(t.Context(), me, WaitRequest{Lines: []string{ChoiceOnce}, Wait: time.Millisecond})
		expect(t, err != nil && strings.Contains(err.Error(), "asks nothing now"), "the model's answer was taken: %v", err)
		r, err = m.Await(t.Context(), me, WaitRequest{Wait: time.Hour, Asking: slow})
		expect(t, err == nil && r.Stdout == "write=ok\n", "%+v %v", r, err)
	})
}

// In the newest era the call returns with the question, and another brings the reply.
func TestConsentByReturn(t *testing.T) {
	withTools(t, &box{}, nil, func(t *testing.T, m *Manager) {
		r := mustRun(t, m, RunRequest{Code: "write", Asking: Asking{Return: true, Consent: true}})
		check.Insist(t, r.Question != nil && r.Question.Consent && r.Question.Prompt == "may it write?", "%+v", r)
		answer := &Answer{Execution: r.Execution, Question: r.Question.Number, Reply: Reply{Text: ChoiceOnce}}
		r, err := m.Await(t.Context(), me, WaitRequest{Answer: answer, Wait: time.Hour, Asking: Asking{Return: true, Consent: true}})
		expect(t, err == nil && r.Stdout == "write=ok\n", "%+v %v", r, err)
	})
}

// An interrupt ends a call, and a consent that is being asked for.
func TestToolsAreInterrupted(t *testing.T) {
	for _, code := range []string{"hang", "write"} {
		withTools(t, &box{}, func(o *Options) { o.Wait = time.Second }, func(t *testing.T, m *Manager) {
			told := make(chan struct{})
			never := Asking{Consent: true, Ask: func(ctx context.Context, _ Asked) Reply {
				<-ctx.Done()
				close(told)
				return Reply{Text: ChoiceAlways}
			}}
			r := mustRun(t, m, RunRequest{Code: code, Asking: never})
			check.Insist(t, r.Status.Runs(), "%+v", r)
			_, err := m.Interrupt(t.Context(), me, r.InterpreterID)
			must(t, err)
			r, err = m.Await(t.Context(), me, WaitRequest{Wait: time.Hour})
			expect(t, err == nil && r.Status == StatusInterrupted && r.Stdout == code+"=cancelled\n", "%+v %v", r, err)
			if code == "write" {
				<-told
			}
		})
	}
}

func TestToolLimitAndRate(t *testing.T) {
	withTools(t, &box{}, nil, func(t *testing.T, m *Manager) {
		began := time.Now()
		r := run(t, m, strings.Repeat("read ", 102))
		expect(t, strings.Count(r.Stdout, "=ok") == 100 && strings.Count(r.Stdout, "=limit") == 2, "%q", r.Stdout)
		if took := time.Since(began); took != time.Second { // the bubble's time: 50 at once, 50 in the second after
			t.Errorf("100 calls took %s", took)
		}
		r = run(t, m, "read")
		expect(t, r.Stdout == "read=ok\n", "the next run: %q", r.Stdout)
	})
}

// The Recorder gets each call, within bounds.
func TestToolsAreRecorded(t *testing.T) {
	calls := &toolCalls{}
	long := &ToolAnswer{Body: json.RawMessage(`"` + strings.Repeat("x", keptAnswer) + `"`), Attachments: [][]byte{make([]byte, 10)}}
	calls.keep(ToolUse{Server: "s", Tool: "t"}, long, nil)
	calls.keep(ToolUse{Server: "s", Tool: "t"}, nil, &ToolRefusal{RefusedInvalid, "no"})
	calls.keep(ToolUse{Server: "s", Tool: "t"}, &ToolAnswer{Body: json.RawMessage(`{"is_error":true,"content":[{"text":""},{"text":"bad"}]}`)}, nil)
	count, uses := calls.finish()
	check.Insist(t, len(uses) == 2 && count.Count == 2 && count.Failed == 1, "%+v %+v", count, uses)
	expect(t, uses[0].Result == nil && uses[0].Bytes == keptAnswer+12 && uses[0].Status == "ok", "%+v", uses[0])
	expect(t, uses[1].Status == "error" && uses[1].Message == "bad" && uses[1].Result != nil, "%+v", uses[1])
	calls.keep(ToolUse{}, long, nil)
	_, uses = calls.finish()
	expect(t, len(uses) == 2, "one that ended late is kept")
	calls.forget()
	_, uses = calls.finish()
	expect(t, uses == nil, "they are kept for ever")
	most := &toolCalls{}
	for range keptUses + 1 {
		most.keep(ToolUse{Server: "s", Tool: "t"}, &ToolAnswer{Body: json.RawMessage(`"` + strings.Repeat("x", 5000) + `"`)}, nil)
	}
	count, uses = most.finish()
	expect(t, count.Count == keptUses+1 && len(uses) == keptUses && uses[keptUses-1].Result == nil, "%d %d", count.Count, len(uses))
}
