package tools

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"
)

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
