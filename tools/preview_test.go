package tools

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

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

// TestPreviewResource: it is listed and read where there is data, and not found elsewhere.
func TestPreviewResource(t *testing.T) {
	without, _ := newHouse(t, time.Hour).connect(t)
	checkRefusal(t, without, previewURI, "--data")
	for era, options := range eras {
		t.Run(era, func(t *testing.T) {
			h := newHouse(t, time.Hour)
			waited := 0
			h.shelf.Preview = func(context.Context) (string, error) { return "one", nil }
			h.shelf.PreviewReady = func(context.Context) { waited++ }
			c, _ := h.connect(t, options...)
			listed, err := c.ListResources(t.Context(), mcp.ListResourcesRequest{})
			if err != nil || len(listed.Resources) != 1 || listed.Resources[0].URI != previewURI || listed.Resources[0].MIMEType != "text/markdown" {
				t.Errorf("%v: %+v", err, listed)
			}
			if got := readText(t, c, previewURI); got != quotedNote+"one" {
				t.Errorf("%q", got)
			}
			// Who only watches for changes must not hold up the other resources.
			if _, err := h.shelf.previewState(t.Context()); err != nil || waited != 1 {
				t.Errorf("%v, waited %d times", err, waited)
			}
		})
	}
}
