package conformance

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// addAskingTools adds the tools that need something of the client before they
// can answer. On the older eras the library asks the client during the call; on
// 2026-07-28 the call is answered with the questions and made again with what
// the client replied.
func addAskingTools(s *server.MCPServer) {
	s.AddTool(tool("test_sampling", mcp.WithString("prompt", mcp.Required())), func(_ context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if sampled := server.SamplingResponse(r.Params.InputResponses, "sample"); sampled != nil {
			return mcp.NewToolResultText("LLM response: " + textOf(sampled)), nil
		}
		return asking("").Sample("sample", sample(r.GetString("prompt", ""), 100)).ToolResult(), nil
	})
	s.AddTool(tool("test_elicitation", mcp.WithString("message", mcp.Required())), func(_ context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if answer := answered(r.Params.InputResponses, "user"); answer != nil {
			return mcp.NewToolResultText("User response: " + answer.String()), nil
		}
		return asking("").Elicit("user", mcp.ElicitationParams{
			Message: r.GetString("message", ""),
			RequestedSchema: json.RawMessage(`{"type": "object", "required": ["username", "email"], "properties": {
				"username": {"type": "string", "description": "User's response"},
				"email": {"type": "string", "description": "User's email address"}}}`),
		}).ToolResult(), nil
	})
	for name, schema := range map[string]string{"test_elicitation_sep1034_defaults": defaults, "test_elicitation_sep1330_enums": enums} {
		s.AddTool(tool(name), func(_ context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			if answer := answered(r.Params.InputResponses, "form"); answer != nil {
				return mcp.NewToolResultText("Elicitation completed: " + answer.String()), nil
			}
			return asking("").Elicit("form", mcp.ElicitationParams{Message: "Please fill in.", RequestedSchema: json.RawMessage(schema)}).ToolResult(), nil
		})
	}
	addModernAskingTools(s)
}

const defaults = `{"type": "object", "required": [], "properties": {
	"name": {"type": "string", "default": "John Doe"},
	"age": {"type": "integer", "default": 30},
	"score": {"type": "number", "default": 95.5},
	"status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
	"verified": {"type": "boolean", "default": true}}}`

const enums = `{"type": "object", "required": [], "properties": {
	"untitledSingle": {"type": "string", "enum": ["option1", "option2", "option3"]},
	"titledSingle": {"type": "string", "oneOf": [{"const": "value1", "title": "First Option"}, {"const": "value2", "title": "Second Option"}, {"const": "value3", "title": "Third Option"}]},
	"legacyEnum": {"type": "string", "enum": ["opt1", "opt2", "opt3"], "enumNames": ["Option One", "Option Two", "Option Three"]},
	"untitledMulti": {"type": "array", "items": {"type": "string", "enum": ["option1", "option2", "option3"]}},
	"titledMulti": {"type": "array", "items": {"anyOf": [{"const": "value1", "title": "First Choice"}, {"const": "value2", "title": "Second Choice"}, {"const": "value3", "title": "Third Choice"}]}}}}`

// addModernAskingTools adds the tools of the scenarios that only 2026-07-28 has.
func addModernAskingTools(s *server.MCPServer) {
	name := question("What is your name?", "name", "string")
	add := func(called string, handle func(context.Context, mcp.CallToolParams) (*mcp.CallToolResult, error)) {
		s.AddTool(tool(called), func(ctx context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return handle(ctx, r.Params)
		})
	}
	greet := func(_ context.Context, p mcp.CallToolParams) (*mcp.CallToolResult, error) {
		if answer := answered(p.InputResponses, "user_name"); answer != nil {
			return mcp.NewToolResultText("Hello, " + answer.text("name") + "!"), nil
		}
		return asking("").Elicit("user_name", name).ToolResult(), nil
	}
	add("test_input_required_result_elicitation", greet)
	add("test_streaming_elicitation", greet)
	add("test_input_required_result_sampling", func(_ context.Context, p mcp.CallToolParams) (*mcp.CallToolResult, error) {
		if sampled := server.SamplingResponse(p.InputResponses, "capital_question"); sampled != nil {
			return mcp.NewToolResultText("The model says: " + textOf(sampled)), nil
		}
		return asking("").Sample("capital_question", sample("What is the capital of France?", 100)).ToolResult(), nil
	})
	add("test_input_required_result_list_roots", func(_ context.Context, p mcp.CallToolParams) (*mcp.CallToolResult, error) {
		if roots := server.RootsResponse(p.InputResponses, "client_roots"); roots != nil {
			return mcp.NewToolResultText(fmt.Sprintf("Roots: %v", roots.Roots)), nil
		}
		return asking("").Roots("client_roots").ToolResult(), nil
	})
	add("test_input_required_result_multiple_inputs", func(_ context.Context, p mcp.CallToolParams) (*mcp.CallToolResult, error) {
		if len(p.InputResponses) >= 3 {
			return checked(p.RequestState, "several", "All three were answered.")
		}
		return asking(seal("several")).Elicit("user_name", name).Sample("greeting", sample("Generate a greeting", 50)).
			Roots("client_roots").ToolResult(), nil
	})
	add("test_input_required_result_capabilities", func(ctx context.Context, _ mcp.CallToolParams) (*mcp.CallToolResult, error) {
		return askWhatIsPossible(ctx), nil
	})
	addStatefulAskingTools(add)
}

// addStatefulAskingTools adds the tools that have the client keep their state.
func addStatefulAskingTools(add func(string, func(context.Context, mcp.CallToolParams) (*mcp.CallToolResult, error))) {
	confirm := func(_ context.Context, p mcp.CallToolParams) (*mcp.CallToolResult, error) {
		if answered(p.InputResponses, "confirm") != nil {
			return checked(p.RequestState, "confirm", "state-ok")
		}
		return asking(seal("confirm")).Elicit("confirm", question("Please confirm", "ok", "boolean")).ToolResult(), nil
	}
	add("test_input_required_result_request_state", confirm)
	add("test_input_required_result_tampered_state", confirm)
	add("test_input_required_result_multi_round", func(_ context.Context, p mcp.CallToolParams) (*mcp.CallToolResult, error) {
		if answered(p.InputResponses, "step2") != nil {
			return checked(p.RequestState, "second", "Both steps were taken.")
		}
		if answered(p.InputResponses, "step1") != nil {
			if _, err := checked(p.RequestState, "first", ""); err != nil {
				return nil, err
			}
			return asking(seal("second")).Elicit("step2", question("Step 2: What is your favorite color?", "color", "string")).ToolResult(), nil
		}
		return asking(seal("first")).Elicit("step1", question("Step 1: What is your name?", "name", "string")).ToolResult(), nil
	})
}

// askWhatIsPossible asks only for what the client has declared.
func askWhatIsPossible(ctx context.Context) *mcp.CallToolResult {
	ask := asking("")
	info := server.RequestProtocolInfoFromContext(ctx)
	if info == nil || info.ClientCapabilities == nil {
		return mcp.NewToolResultText("The client can do nothing.")
	}
	if info.ClientCapabilities.Elicitation != nil {
		ask.Elicit("user_name", question("What is your name?", "name", "string"))
	}
	if info.ClientCapabilities.Sampling != nil {
		ask.Sample("greeting", sample("Generate a greeting", 50))
	}
	if info.ClientCapabilities.Roots != nil {
		ask.Roots("client_roots")
	}
	return ask.ToolResult()
}

func asking(state string) *server.InputRequestBuilder { return server.NewInputRequestBuilder(state) }

// question asks for one required value.
func question(message, property, kind string) mcp.ElicitationParams {
	return mcp.ElicitationParams{Message: message, RequestedSchema: map[string]any{
		"type": "object", "required": []string{property}, "properties": map[string]any{property: map[string]any{"type": kind}},
	}}
}

func sample(text string, tokens int) mcp.CreateMessageParams {
	return mcp.CreateMessageParams{MaxTokens: tokens, Messages: []mcp.SamplingMessage{{Role: mcp.RoleUser, Content: mcp.NewTextContent(text)}}}
}

// reply is what a user replied.
type reply mcp.ElicitationResult

// answered returns what the user replied to a question, nil when there is no
// usable reply.
func answered(responses mcp.InputResponses, key string) *reply {
	answer := server.ElicitationResponse(responses, key)
	if answer == nil || answer.Action == "" {
		return nil
	}
	return (*reply)(answer)
}

func (r *reply) text(property string) string {
	values, _ := r.Content.(map[string]any)
	return fmt.Sprint(values[property])
}

func (r *reply) String() string {
	content, _ := json.Marshal(r.Content)
	return fmt.Sprintf("action=%s, content=%s", r.Action, content)
}

func textOf(sampled *mcp.CreateMessageResult) string {
	text, err := json.Marshal(sampled.Content)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// sealer signs states, so that a changed one is refused.
var sealer = []byte(rand.Text())

func seal(state string) string {
	mac := hmac.New(sha256.New, sealer)
	mac.Write([]byte(state))
	return state + "." + hex.EncodeToString(mac.Sum(nil))
}

var errState = errors.New("requestState is not as it was given")

// checked answers with text if the state that came back is the one that was
// given.
func checked(got, state, text string) (*mcp.CallToolResult, error) {
	if !hmac.Equal([]byte(got), []byte(seal(state))) {
		return nil, errState
	}
	return mcp.NewToolResultText(strings.TrimSpace(text)), nil
}
