package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/mcp"
)

// person answers questions.
type person struct {
	mu     sync.Mutex
	asked  []string
	answer func(message string) *mcp.ElicitationResult
}

func (p *person) Elicit(_ context.Context, request mcp.ElicitationRequest) (*mcp.ElicitationResult, error) {
	p.mu.Lock()
	p.asked = append(p.asked, request.Params.Message)
	answer := p.answer
	p.mu.Unlock()
	return answer(request.Params.Message), nil
}

// will makes the person answer so from now on, and forgets what was asked.
func (p *person) will(answer func(string) *mcp.ElicitationResult) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.answer, p.asked = answer, nil
}

func (p *person) heard() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.asked
}

func accepts(text string) *mcp.ElicitationResult {
	return reacts(mcp.ElicitationResponseActionAccept, map[string]any{"answer": text})
}

func reacts(action mcp.ElicitationResponseAction, content any) *mcp.ElicitationResult {
	return &mcp.ElicitationResult{ElicitationResponse: mcp.ElicitationResponse{Action: action, Content: content}}
}

func says(result *mcp.ElicitationResult) func(string) *mcp.ElicitationResult {
	return func(string) *mcp.ElicitationResult { return result }
}

// TestInput: input() asks the client's user, on every transport and in both
// eras, and code never runs twice for it.
func TestInput(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	for _, w := range ways {
		if w.name == "sse" {
			continue // mcp-go's client says that it can be asked, and then doesn't answer
		}
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			p := &person{}
			c := w.connect(t, s, client.WithElicitationHandler(p))
			record, _ := run(t, c, "runs = 0")
			a := &asker{t, c, p, record["interpreter_id"].(string)}
			a.answersTwoQuestions()
			a.answersMany()
			a.debugs()
			a.isRefused()
			a.hasALongPrompt()
			a.isInterrupted()
			a.crashes()
		})
	}
}

// asker runs code that asks.
type asker struct {
	t  *testing.T
	c  *client.Client
	p  *person
	id string
}

func (a *asker) run(code string) (record map[string]any, text string) {
	a.t.Helper()
	return run(a.t, a.c, code, "interpreter_id", a.id)
}

func (a *asker) answersTwoQuestions() {
	a.t.Helper()
	a.p.will(func(message string) *mcp.ElicitationResult {
		return accepts(strings.ToUpper(message[len(message)-1:]))
	})
	record, _ := a.run("runs += 1\nprint('first')\nx = input('what is a')\ny = input('and b')\nprint(x + y, runs)")
	if record["stdout"] != "first\nwhat is aA\nand bB\nAB 1\n" {
		a.t.Errorf("%q, %v", record["stdout"], record["traceback"])
	}
}

// answersMany: clients of the newest era give up after ten questions to a call.
func (a *asker) answersMany() {
	a.t.Helper()
	a.p.will(says(accepts("2")))
	const many = 12
	record, text := a.run(fmt.Sprintf("runs += 1\nprint('sum', sum(int(input()) for _ in range(%d)), runs)", many))
	if record["status"] == "asking" {
		expect(a.t, strings.Contains(text, "[asking]") && strings.Contains(text, `"wait"`), "%s\n%v", text, record)
		record, _ = manage(a.t, a.c, "wait", "interpreter_id", a.id)
	}
	stdout, _ := record["stdout"].(string)
	expect(a.t, strings.HasSuffix(stdout, "sum 24 2\n"), "%v", record)
	n := len(a.p.heard())
	expect(a.t, n == many, "asked %d times", n)
}

// debugs: a debugger's questions are the user's, too.
func (a *asker) debugs() {
	a.t.Helper()
	lines := []string{"p x", "w", "c"}
	a.p.will(func(string) *mcp.ElicitationResult {
		line := lines[0]
		lines = lines[1:]
		return accepts(line)
	})
	record, _ := a.run("def f(x):\n    breakpoint()\n    return x + 1\nf(41)")
	stdout, _ := record["stdout"].(string)
	if record["status"] != "ok" || !strings.Contains(stdout, "(Pdb) p x\n41\n") || !strings.HasSuffix(stdout, "42\n") || strings.Contains(stdout, "pyworker") {
		a.t.Errorf("%v", record)
	}
}

func (a *asker) isRefused() {
	a.t.Helper()
	for action, why := range map[mcp.ElicitationResponseAction]string{
		mcp.ElicitationResponseActionDecline: "the user declined",
		mcp.ElicitationResponseActionCancel:  "the user dismissed",
	} {
		a.p.will(says(reacts(action, nil)))
		record, _ := a.run("input('secret? ')")
		trace, _ := record["traceback"].(string)
		expect(a.t, record["exc_type"] == "EOFError" && strings.Contains(trace, why), "%v", record)
	}
}

func (a *asker) hasALongPrompt() {
	a.t.Helper()
	a.p.will(says(accepts("")))
	record, _ := a.run("x = input('y' * 100_000)\nprint(repr(x))")
	if heard := a.p.heard(); len(heard) != 1 || len(heard[0]) < 2000 || len(heard[0]) > 2200 {
		a.t.Errorf("asked %d times, with %d bytes", len(heard), len(strings.Join(heard, "")))
	}
	stdout, _ := record["stdout"].(string)
	expect(a.t, strings.HasSuffix(stdout, "yyy\n''\n"), "%.100q", stdout)
}

func (a *asker) isInterrupted() {
	a.t.Helper()
	interrupted := make(chan error, 1)
	a.p.will(func(string) *mcp.ElicitationResult {
		_, err := call(a.c, "manage_interpreters", "operation", "interrupt", "interpreter_id", a.id)
		interrupted <- err
		return accepts("too late")
	})
	record, _ := a.run("runs += 1\ninput('wait for it')")
	if err := <-interrupted; err != nil || record["status"] != "interrupted" || record["exc_type"] != "KeyboardInterrupt" {
		a.t.Errorf("%v, %v", record, err)
	}
}

func (a *asker) crashes() {
	a.t.Helper()
	heard := make(chan struct{})
	a.p.will(func(string) *mcp.ElicitationResult {
		defer close(heard)
		_, err := call(a.c, "manage_interpreters", "operation", "upload", "interpreter_id", a.id, "path", "heard", "content", "")
		expect(a.t, err == nil, "%v", err)
		a.awaitIdle()
		return accepts("too late")
	})
	record, _ := a.run("import os, signal\nsignal.signal(signal.SIGALRM, lambda *_: os.path.exists('heard') and os.kill(os.getpid(), 9))\nsignal.setitimer(signal.ITIMER_REAL, 0.05, 0.05)\ninput()")
	insist(a.t, record["status"] == "crashed" && record["state_restored"] == true, "%v", record)
	<-heard
	if record, _ = a.run("print(runs)"); record["stdout"] != "3\n" {
		a.t.Errorf("after all: %v", record)
	}
}

// awaitIdle returns when the interpreter runs nothing. It is not the test that calls it.
func (a *asker) awaitIdle() {
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		listed, err := call(a.c, "manage_interpreters", "operation", "list", "interpreter_id", a.id)
		if err != nil {
			break
		}
		for _, one := range listed.record["interpreters"].([]any) {
			if one := one.(map[string]any); one["id"] == a.id && one["status"] == "running" {
				return
			}
		}
	}
	a.t.Error("the interpreter did not become idle")
}

// TestInputOfClientsThatCannotAsk: they give the line themselves, on every transport.
func TestInputOfClientsThatCannotAsk(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	for _, w := range ways {
		c := w.connect(t, s)
		record, text := run(t, c, "print('hi', input('who? '))")
		if record["status"] != "asking" || record["prompt"] != "who? " || !strings.Contains(text, `operation "answer"`) {
			t.Errorf("%s: %v", w.name, record)
		}
		record, _ = manage(t, c, "answer", "text", "ada", "interpreter_id", record["interpreter_id"])
		expect(t, record["stdout"] == "ada\nhi ada\n" && record["status"] == "ok", "%s: %v", w.name, record)
	}
}

// TestInputOverSSE: the question comes over the stream while the call waits.
func TestInputOverSSE(t *testing.T) {
	t.Parallel()
	w := overSSE(t, startServer(t))
	w.initialize("tester", "elicitation")
	w.begin("print(input('name? ') * 2)")
	question := w.receive()
	for question["method"] == nil {
		question = w.receive()
	}
	insist(t, question["method"] == "elicitation/create", "%v", question)
	w.send(map[string]any{"id": question["id"], "result": map[string]any{"action": "accept", "content": map[string]any{"answer": "ada"}}})
	var text string
	for !strings.Contains(text, `"busy"`) {
		answer, err := json.Marshal(w.receive())
		must(t, err)
		text = string(answer)
	}
	w.has(text, `name? ada\nadaada\n`)
}
