package tools

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/mark3labs/mcp-go/mcp"

	"understudy/sessions"
	"understudy/tools/answer"
)

func reaction(action mcp.ElicitationResponseAction, content any) *mcp.ElicitationResult {
	return &mcp.ElicitationResult{ElicitationResponse: mcp.ElicitationResponse{Action: action, Content: content}}
}

func TestReplies(t *testing.T) {
	const accept = mcp.ElicitationResponseActionAccept
	for name, e := range map[string]struct {
		result *mcp.ElicitationResult
		want   sessions.Reply
	}{
		"text":           {reaction(accept, map[string]any{"answer": "ada"}), sessions.Reply{Text: "ada"}},
		"an empty one":   {reaction(accept, map[string]any{"answer": ""}), sessions.Reply{}},
		"no form":        {reaction(accept, nil), sessions.Reply{Refusal: "the user sent the form without an answer"}},
		"an empty form":  {reaction(accept, map[string]any{}), sessions.Reply{Refusal: "the user sent the form without an answer"}},
		"null":           {reaction(accept, map[string]any{"answer": nil}), sessions.Reply{Refusal: "the user sent the form without an answer"}},
		"another field":  {reaction(accept, map[string]any{"reply": "ada"}), sessions.Reply{Refusal: "the user sent the form without an answer"}},
		"a large number": {reaction(accept, map[string]any{"answer": 1e6}), sessions.Reply{Text: "1000000"}},
		"a truth value":  {reaction(accept, map[string]any{"answer": true}), sessions.Reply{Text: "true"}},
		"the first line": {reaction(accept, map[string]any{"answer": "a\nb\r\n"}), sessions.Reply{Text: "a"}},
		"a number":       {reaction(accept, map[string]any{"answer": 4.5}), sessions.Reply{Text: "4.5"}},
		"decline":        {reaction(mcp.ElicitationResponseActionDecline, nil), sessions.Reply{Refusal: "the user declined to answer"}},
		"cancel":         {reaction(mcp.ElicitationResponseActionCancel, nil), sessions.Reply{Refusal: "the user dismissed the question"}},
		"nonsense":       {reaction("perhaps", nil), sessions.Reply{Refusal: "the user dismissed the question"}},
		"nothing":        {nil, sessions.Reply{Refusal: "the client sent no reply"}},
	} {
		diff := cmp.Diff(e.want, replyOf(e.result))
		expect(t, diff == "", "%s: %s", name, diff)
	}
}

func TestWhoCanBeAsked(t *testing.T) {
	form, link := &struct{}{}, &struct{}{}
	for name, e := range map[string]struct {
		capability *mcp.ElicitationCapability
		want       bool
	}{
		"nobody":     {nil, false},
		"as of old":  {&mcp.ElicitationCapability{}, true},
		"forms":      {&mcp.ElicitationCapability{Form: form}, true},
		"links":      {&mcp.ElicitationCapability{URL: link}, false},
		"everything": {&mcp.ElicitationCapability{Form: form, URL: link}, true},
	} {
		var request mcp.CallToolRequest
		request.Params.Meta = &mcp.Meta{}
		request.Params.Meta.SetClientCapabilities(mcp.ClientCapabilities{Elicitation: e.capability})
		got := canElicit(t.Context(), request)
		expect(t, got == e.want, "%s: %t", name, got)
	}
	expect(t, !canElicit(t.Context(), mcp.CallToolRequest{}), "a client that says nothing can be asked")
}

func TestQuestionsAreClipped(t *testing.T) {
	message := question(sessions.Asked{Prompt: strings.Repeat("x", 100_000)}).Message
	expect(t, len(message) <= promptLimit+100, "%d bytes", len(message))
	message = question(sessions.Asked{Prompt: "\x1b[2Ja\r\nb"}).Message
	expect(t, message == "The Python code asks for a line of input: [2Ja\nb", "%q", message)
	message = question(sessions.Asked{Prompt: " \n"}).Message
	expect(t, message == "The Python code asks for a line of input.", "%+v", message)
}

// TestAnswersToNothingRunNothing: neither tool takes a state that it didn't give.
func TestAnswersToNothingRunNothing(t *testing.T) {
	given := mcp.InputResponses{inputKey: mcp.NewElicitationInputResponse(*reaction("accept", nil))}
	for state, responses := range map[string]mcp.InputResponses{"nonsense": nil, `{"round": -1, "interpreter": "x"}`: nil, "{}": given, "": given} {
		b := newToolbox(nil, nil, Options{})
		b.manager = &fakeManager{}
		var request mcp.CallToolRequest
		request.Params.MultiRoundTripParams = mcp.MultiRoundTripParams{RequestState: state, InputResponses: responses}
		request.Params.Arguments = json.RawMessage(`{"code": "launch()"}`)
		result, err := b.runPythonCode(t.Context(), request)
		expect(t, err != nil && strings.Contains(err.Error(), "nothing was run"), "%q: %+v, %v", state, result, err)
		request.Params.Arguments = json.RawMessage(`{"operation": "wait"}`)
		result, err = b.manageInterpreters(t.Context(), request)
		expect(t, err != nil && strings.Contains(err.Error(), "nothing was run"), "%q: %+v, %v", state, result, err)
	}
}

// TestACallAsksOnlySoOften: then its answer says how to go on.
func TestACallAsksOnlySoOften(t *testing.T) {
	result := example(func(r *sessions.Result) {
		r.Status, r.PersonAsked, r.Question = sessions.StatusAsking, true, &sessions.Asked{Number: 9, Prompt: "more?"}
	})
	b := newToolbox(nil, nil, Options{})
	expect(t, b.returned(result, maxRounds-1) != nil && b.returned(result, maxRounds) == nil, "it asks too often, or not often enough")
	got := text(t, b.answers.Answer(t.Context(), mcp.CallToolRequest{}, result, answer.Call{}))
	expect(t, strings.Contains(got, "[asking]") && strings.Contains(got, `operation "wait"`) && !strings.Contains(got, "[running] Still"), "%+v", got)
}

// TestAnInterpreterThatHasEndedIsNotPassedOn, as when the server stops.
func TestAnInterpreterThatHasEndedIsNotPassedOn(t *testing.T) {
	kept := false
	for ended, want := range map[bool]bool{true: false, false: true} {
		result := example(func(r *sessions.Result) {
			r.StateRestored, r.InterpreterRestarted = &kept, !ended
		})
		got := text(t, newToolbox(nil, nil, Options{}).answers.Answer(t.Context(), mcp.CallToolRequest{}, result, answer.Call{NewID: true}))
		expect(t, strings.Contains(got, "Pass interpreter_id") == want, "ended %t: %s", ended, got)
	}
}

// TestAnonymousCallersSeeWhatTheyName: they have no list of their own.
func TestAnonymousCallersSeeWhatTheyName(t *testing.T) {
	m := &fakeManager{show: func(_ context.Context, _ sessions.Client, id string) (sessions.Listing, error) {
		return sessions.Listing{ID: id, Status: "running"}, nil
	}}
	c := connect(t, "tester", m, Options{Client: func(context.Context) sessions.Client { return sessions.Anonymous }})
	got := text(t, call(t, c, "manage_interpreters", `{"operation": "list"}`))
	expect(t, strings.Contains(got, "pass the interpreter_id that an earlier answer named"), "%+v", got)
	got = text(t, call(t, c, "manage_interpreters", `{"operation": "list", "interpreter_id": "7f"}`))
	expect(t, strings.Contains(got, "7f"), "%+v", got)
}

// TestTypedLines are what operation answer passes on, and it knows how to go on.
func TestTypedLines(t *testing.T) {
	for given, want := range map[string][]string{
		`"ada"`: {"ada"}, `""`: {""}, `"p x\r\nc\n"`: {"p x", "c"}, `"\n"`: {""}, `"\u0004"`: {sessions.EndOfInput},
	} {
		m := &fakeManager{await: func(_ context.Context, _ sessions.Client, r sessions.WaitRequest) (*sessions.Result, error) {
			diff := cmp.Diff(want, r.Lines)
			expect(t, diff == "", "%s: %s", given, diff)
			return example(func(r *sessions.Result) { r.Status, r.Prompt = sessions.StatusAsking, "(Pdb) " }), nil
		}}
		c := connect(t, "tester", m, Options{})
		got := text(t, call(t, c, "manage_interpreters", `{"operation": "answer", "text": `+given+`}`))
		expect(t, strings.HasPrefix(got, "[asking] The code waits for the next line of input."), "%+v", got)
	}
	c := connect(t, "tester", &fakeManager{}, Options{})
	result := call(t, c, "manage_interpreters", `{"operation": "answer"}`)
	expect(t, result.IsError && strings.Contains(text(t, result), "Ctrl-D"), "%+v", text(t, result))
}
