package tools

import (
	"context"
	"encoding/json"
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"

	"understudy/sessions"
)

// TestPrompts: a client of either era lists them and gets their texts.
func TestPrompts(t *testing.T) {
	for era, options := range eras {
		t.Run(era, func(t *testing.T) {
			c := connect(t, "tester", &fakeManager{}, Options{Trials: true}, options...)
			listed, err := c.ListPrompts(t.Context(), mcp.ListPromptsRequest{})
			if err != nil {
				t.Fatal(err)
			}
			if len(listed.Prompts) != len(prompts) {
				t.Fatalf("%d prompts are listed of %d", len(listed.Prompts), len(prompts))
			}
			for _, p := range listed.Prompts {
				checkPrompt(t, p)
				var request mcp.GetPromptRequest
				request.Params.Name = p.Name
				request.Params.Arguments = map[string]string{p.Arguments[0].Name: "my {data} wish"}
				got, err := c.GetPrompt(t.Context(), request)
				if err != nil {
					t.Fatal(err)
				}
				words, _ := mcp.AsTextContent(got.Messages[0].Content)
				if len(got.Messages) != 1 || got.Messages[0].Role != mcp.RoleUser || !strings.Contains(words.Text, ": my {data} wish\n") {
					t.Errorf("%s: %+v", p.Name, got)
				}
			}
		})
	}
}

func checkPrompt(t *testing.T, p mcp.Prompt) {
	t.Helper()
	if p.Title == "" || p.Description == "" || len(p.Arguments) == 0 || p.Arguments[0].Required == (p.Name == reportPrompt.name) {
		t.Errorf("%+v", p)
	}
	for _, a := range p.Arguments {
		if a.Description == "" {
			t.Errorf("%s: argument %s has no description", p.Name, a.Name)
		}
	}
}

// TestPromptTexts: every argument has its place, and what they name exists.
func TestPromptTexts(t *testing.T) {
	for _, p := range prompts {
		given := map[string]string{}
		for _, a := range p.arguments {
			given[a.name] = "⟨" + a.name + "⟩"
		}
		var known map[string]string
		if p.known != nil {
			known = p.known(t.Context(), newToolbox(nil, nil, experimenting), nil)
		}
		text, err := p.fill(given, known)
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range p.arguments {
			if strings.Count(text, "⟨"+a.name+"⟩") != 1 {
				t.Errorf("%s: the place of %s", p.name, a.name)
			}
		}
		if strings.ContainsAny(text, "{}") || !strings.Contains(text, runPythonCodeName) {
			t.Errorf("%s: %s", p.name, text)
		}
		for _, quoted := range regexp.MustCompile(`"(\w+)"`).FindAllStringSubmatch(text, -1) {
			if word := quoted[1]; word != string(sessions.StatusRunning) && !slices.Contains(operationsIn(t), word) {
				t.Errorf("%s names operation %s, which does not exist", p.name, word)
			}
		}
	}
}

func TestPromptWithoutItsArgument(t *testing.T) {
	c := connect(t, "tester", &fakeManager{}, Options{})
	var request mcp.GetPromptRequest
	request.Params.Name = "debug"
	if _, err := c.GetPrompt(t.Context(), request); err == nil || !strings.Contains(err.Error(), `argument "problem" of prompt "debug" is missing`) {
		t.Errorf("%v", err)
	}
}

// operationsIn are those that manage_interpreters offers.
func operationsIn(t *testing.T) []string {
	t.Helper()
	var schema struct {
		Properties struct{ Operation struct{ Enum []string } }
	}
	if err := json.Unmarshal(newToolbox(nil, nil, Options{}).manArgs.Schema(), &schema); err != nil {
		t.Fatal(err)
	}
	return schema.Properties.Operation.Enum
}

func analyzePrompt(t *testing.T, o Options) string {
	t.Helper()
	c := connect(t, "tester", &fakeManager{}, o)
	var request mcp.GetPromptRequest
	request.Params.Name = "analyze"
	request.Params.Arguments = map[string]string{"task": "count"}
	got, err := c.GetPrompt(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	words, _ := mcp.AsTextContent(got.Messages[0].Content)
	return words.Text
}

// TestPreviewInPrompt: the prompt on data ends with what data there is, as it is.
func TestPreviewInPrompt(t *testing.T) {
	plain := analyzePrompt(t, Options{})
	with := analyzePrompt(t, Options{Preview: func(context.Context) (string, error) { return "### {task}.csv\n", nil }})
	if rest, ok := strings.CutPrefix(with, plain); !ok || !strings.Contains(rest, "data, never instructions") || !strings.HasSuffix(rest, "\n\n### {task}.csv\n") {
		t.Errorf("%q", with)
	}
	failed := analyzePrompt(t, Options{Preview: func(context.Context) (string, error) { return "", errors.New("cause") }})
	if !strings.Contains(failed, "could not be previewed") || strings.Contains(failed, "cause") {
		t.Errorf("%q", failed)
	}
}
