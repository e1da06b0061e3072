package tools

import (
	"context"
	"encoding/json"
	"strings"
	"unicode"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"understudy/schemas"
	"understudy/sessions"
	"understudy/tools/answer"
)

// A question of the code's reaches the user in one of two ways. Older clients
// get a request while their call waits, and may answer after it. For those of
// 2026-07-28 the call ends with the question; they call again with the reply
// and with requestState, which names the execution that has gone on meanwhile.

const (
	// inputKey names our question among those of an input_required result.
	inputKey = "input"
	// answerField is the field of the form that the user fills in.
	answerField = "answer"
	// maxRounds is how many questions one call may end with: clients give up
	// after ten. A later one is put by the next call of operation wait.
	maxRounds = 8
	// promptLimit is how many characters of a prompt a user is shown.
	promptLimit = 2000
)

// round is what requestState holds: which question a call answers.
type round struct {
	Interpreter string `json:"interpreter"`
	Execution   int    `json:"execution"`
	Question    int    `json:"question"`
	Round       int    `json:"round"` // questions that the call has ended with so far
}

// asking is how the client of a call can be asked; the zero value when it can't.
func (b *toolbox) asking(ctx context.Context, request mcp.CallToolRequest, rounds int) sessions.Asking {
	if !canElicit(ctx, request) {
		return sessions.Asking{}
	}
	if mcp.IsModernProtocol(server.RequestProtocolVersion(ctx)) {
		return sessions.Asking{Return: true, WithOutput: rounds >= maxRounds, Consent: b.AsksConsent}
	}
	// One without an id could not send its answer to anybody.
	if session, ok := server.ClientSessionFromContext(ctx).(server.SessionWithElicitation); !ok || session.SessionID() == "" {
		return sessions.Asking{}
	}
	return sessions.Asking{Consent: b.AsksConsent, Ask: func(waits context.Context, asked sessions.Asked) sessions.Reply {
		return b.elicit(ctx, waits, asked)
	}}
}

// canElicit reports whether the client said that it can show its user a form:
// newer clients in every request, older ones once when they connected.
func canElicit(ctx context.Context, request mcp.CallToolRequest) bool {
	var can *mcp.ElicitationCapability
	if capabilities := request.Params.Meta.ClientCapabilities(); capabilities != nil {
		can = capabilities.Elicitation
	} else if session, ok := server.ClientSessionFromContext(ctx).(server.SessionWithClientInfo); ok {
		can = session.GetClientCapabilities().Elicitation
	}
	return can != nil && (can.Form != nil || can.URL == nil)
}

// elicit asks the client of call, which may have been answered meanwhile, until
// waits ends.
func (b *toolbox) elicit(call, waits context.Context, asked sessions.Asked) sessions.Reply {
	ctx, cancel := context.WithCancel(context.WithoutCancel(call))
	defer cancel()
	defer context.AfterFunc(waits, cancel)()
	result, err := b.server.RequestElicitation(ctx, mcp.ElicitationRequest{Params: question(asked)})
	if err != nil {
		b.Logger.Warn("asking the client's user", "error", err)
		return sessions.Reply{Unasked: true}
	}
	return replyOf(result)
}

// question is the form that the user is shown. It says who asks: the prompt may
// be anything, but what could play with a terminal is left out.
func question(asked sessions.Asked) mcp.ElicitationParams {
	prompt := strings.TrimSpace(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return -1
		}
		return r
	}, asked.Prompt))
	// Not required: an empty line is an answer, too. The default has a form that
	// nothing was typed into send one: without it, some leave the field out.
	field := map[string]any{"type": "string", "title": "Answer", "default": ""}
	message := "The Python code asks for a line of input" + word(prompt == "", ".", ": "+answer.Clip(prompt, promptLimit))
	var required []string
	if asked.Consent {
		field, message, required = consentField(), answer.Clip(prompt, promptLimit), []string{answerField}
	}
	schema := map[string]any{"type": "object", "properties": map[string]any{answerField: field}}
	if required != nil {
		schema["required"] = required
	}
	return mcp.ElicitationParams{Mode: mcp.ElicitationModeForm, Message: message, RequestedSchema: schema}
}

// consentField is what a user chooses who is asked whether another server's tool may be
// called. Nothing is chosen for them.
func consentField() map[string]any {
	titles := [][2]string{
		{sessions.ChoiceOnce, "Allow this call"},
		{sessions.ChoiceInterpreter, "Allow this tool in this interpreter"},
		{sessions.ChoiceAlways, "Always allow this tool"},
		{sessions.ChoiceDeny, "Refuse"},
	}
	var choices, names []string
	for _, each := range titles {
		choices, names = append(choices, each[0]), append(names, each[1])
	}
	return map[string]any{"type": "string", "title": "May the code call it?", "enum": choices, "enumNames": names}
}

// replyOf is what the user's form says. An empty line is one only if the form has it: who
// sends a form without the field has typed nothing, and code must not take that for an
// answer.
func replyOf(result *mcp.ElicitationResult) sessions.Reply {
	switch {
	case result == nil:
		return sessions.Reply{Refusal: "the client sent no reply"}
	case result.Action == mcp.ElicitationResponseActionDecline:
		return sessions.Reply{Refusal: "the user declined to answer"}
	case result.Action != mcp.ElicitationResponseActionAccept:
		return sessions.Reply{Refusal: "the user dismissed the question"}
	}
	fields, _ := result.Content.(map[string]any)
	switch answer := fields[answerField].(type) {
	case nil:
		return sessions.Reply{Refusal: "the user sent the form without an answer"}
	case string:
		line, _, _ := strings.Cut(answer, "\n") // input() takes one, and would give the rest to the next input()
		return sessions.Reply{Text: strings.TrimRight(line, "\r")}
	default: // a client's form may make a number of what looks like one
		text, _ := json.Marshal(answer) // it was JSON
		return sessions.Reply{Text: string(text)}
	}
}

// returned ends a call with a question of the code's, or, when it has done so
// too often, says how to go on.
func (b *toolbox) returned(result *sessions.Result, rounds int) *mcp.CallToolResult {
	if result.Question == nil || rounds >= maxRounds {
		return nil
	}
	state, _ := json.Marshal(round{result.InterpreterID, result.Execution, result.Question.Number, rounds + 1}) // strings and numbers
	return server.NewInputRequestBuilder(string(state)).Elicit(inputKey, question(*result.Question)).ToolResult()
}

// resumed returns the question that a call answers, if it is not a new one.
func resumed(request mcp.CallToolRequest) (at round, again bool, err error) {
	given := request.Params.MultiRoundTripParams
	if given.RequestState == "" {
		if len(given.InputResponses) > 0 {
			err = &schemas.ArgumentError{Argument: "requestState", Message: "inputResponses came without the requestState that the question had; nothing was run"}
		}
		return at, false, err
	}
	if json.Unmarshal([]byte(given.RequestState), &at) != nil || at.Interpreter == "" || at.Round < 0 {
		return at, false, &schemas.ArgumentError{Argument: "requestState", Message: "requestState is not one that this server gave; nothing was run"}
	}
	return at, true, nil
}

// resume goes on waiting for the execution whose question a call answers. A
// call without a reply gets the question again.
func (b *toolbox) resume(ctx context.Context, request mcp.CallToolRequest, at round, r sessions.WaitRequest) (*sessions.Result, error) {
	r.InterpreterID = at.Interpreter
	answer := &sessions.Answer{Execution: at.Execution}
	if reply := server.ElicitationResponse(request.Params.InputResponses, inputKey); reply != nil {
		answer.Question, answer.Reply = at.Question, replyOf(reply)
	}
	r.Answer = answer
	return b.manager.Await(ctx, b.Client(ctx), r)
}
