package workertest

import (
	"context"
	"strings"
	"testing"

	"understudy/sessions"
)

// testAsking answers a question, refuses one, and comes too late with one.
func testAsking(t *testing.T, s sessions.Starter) {
	w := Start(t, s)
	sink := NewRecorder()
	go answerWith(sink, sessions.Reply{Text: "ada"}, sessions.Reply{Refusal: "nobody knows"})
	outcome, err := w.Run(context.Background(), sessions.Request{Execution: 1, ResultVarName: "why", Code: `
print("hello")
name = input("name? ")
try:
    input("age? ")
except EOFError as error:
    why = str(error)
`}, sink)
	expect(t, err == nil && string(outcome.Result) == `"input() got no answer: nobody knows"`, "%s, %v", outcome.Result, err)
	expectText(t, sink, "hello\nname? ada\nage? ", "")
}

// answerWith answers the questions of one execution in order, each one twice.
func answerWith(sink *Recorder, replies ...sessions.Reply) {
	for _, reply := range replies {
		question := <-sink.Asked()
		question.Reply(reply)
		question.Reply(sessions.Reply{Text: "once more"})
	}
}

// testAskingIsInterrupted: an interrupt ends the wait, and so does a kill; the
// answer that comes then is nobody's.
func testAskingIsInterrupted(t *testing.T, s sessions.Starter) {
	w := Start(t, s)
	sink, ended := NewRecorder(), make(chan End, 1)
	run := func(code string) sessions.Question {
		go func() {
			outcome, err := w.Run(context.Background(), sessions.Request{Execution: 1, Code: code}, sink)
			ended <- End{outcome, err}
		}()
		return <-sink.Asked()
	}
	question := run("input('one ')")
	got := sink.Text(sessions.Stdout)
	expect(t, got == "one ", "%q had been printed when it asked", got)
	if err := w.Interrupt(); err != nil {
		t.Fatal(err)
	}
	if end := <-ended; end.Err != nil || end.Outcome.Exception == nil || end.Outcome.Exception.Type != "KeyboardInterrupt" {
		t.Fatalf("%+v", end)
	}
	question.Reply(sessions.Reply{Text: "late"})
	Run(t, w, "x = 1")
	question = run("input('two')")
	w.Kill()
	if end := <-ended; end.Err == nil {
		t.Errorf("%+v", end)
	}
	question.Reply(sessions.Reply{Text: "later"})
}

// testLongAnswer: one that is too long is refused, with the reason.
func testLongAnswer(t *testing.T, s sessions.Starter) {
	w := Start(t, s)
	sink := NewRecorder()
	go answerWith(sink, sessions.Reply{Text: strings.Repeat("\x01", 32<<10)}, sessions.Reply{Text: strings.Repeat("x", 1+32<<10)})
	outcome, err := w.Run(context.Background(), sessions.Request{Execution: 1, Code: "print(len(input()))\ninput()"}, sink)
	insist(t, err == nil && outcome.Exception != nil && strings.Contains(outcome.Exception.Traceback, "32768 are taken"), "%+v, %v", outcome, err)
	got := sink.Text(sessions.Stdout)
	expect(t, strings.HasSuffix(got, "\n32768\n"), "%.50q", got)
}
