package upstream

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"
)

// TestRender: code, and the journal for a script, get the data that a result is.
func TestRender(t *testing.T) {
	const (
		result  = `{"properties":{"result":{}}}`
		wraps   = `{"properties":{"result":{},"more":{}},"x-fastmcp-wrap-result":true}`
		orError = `{"properties":{"result":{},"error":{}}}`
		other   = `{"properties":"?"}`
	)
	said := func(structured string, content ...mcp.Content) *mcp.CallToolResult {
		return &mcp.CallToolResult{Content: content, RawStructuredContent: json.RawMessage(structured)}
	}
	failed := said(`{"result":7}`)
	failed.IsError = true
	decoded := &mcp.CallToolResult{StructuredContent: map[string]any{"result": nil}}
	picture := mcp.NewImageContent("eA==", "image/png")
	for name, c := range map[string]struct {
		result *mcp.CallToolResult
		schema string
		want   string // of structured
		parts  int
	}{
		"wrapped":             {said(`{"result":7}`), result, `7`, 0},
		"said to be wrapped":  {said(`{"result":[]}`), wraps, `[]`, 0},
		"wrapped, no schema":  {said(`{"result":7}`), "", `7`, 0},
		"null":                {decoded, result, `null`, 0},
		"a field called so":   {said(`{"result":7}`), orError, `{"result":7}`, 0},
		"a schema of nothing": {said(`{"result":7}`), other, `{"result":7}`, 0},
		"more fields":         {said(`{"result":7,"a":1}`), "", `{"result":7,"a":1}`, 0},
		"no object":           {said(`[1]`), "", `[1]`, 0},
		"nothing":             {said(`null`), "", "", 0},
		"of an error":         {failed, result, `{"result":7}`, 0},
		"text of JSON":        {said("", mcp.NewTextContent(`{"a":1}`)), other, `{"a":1}`, 1},
		"text of none":        {said("", mcp.NewTextContent(`{"a":`)), other, "", 1},
		"text, no schema":     {said("", mcp.NewTextContent(`{"a":1}`)), "", "", 1},
		"pictures beside":     {said(`{"a":1}`, picture), "", `{"a":1}`, 1},
		"nothing was said of": {said(`{"a":1}`, mcp.NewTextContent("x"), picture), other, `{"a":1}`, 1},
		"a picture":           {said("", picture), other, "", 1},
	} {
		answer, err := render(c.result, json.RawMessage(c.schema))
		if err != nil {
			t.Fatal(name, err)
		}
		var got struct {
			Structured json.RawMessage
			Content    []any
		}
		if err := json.Unmarshal(answer.Body, &got); err != nil || string(got.Structured) != c.want || len(got.Content) != c.parts {
			t.Errorf("%s: %s %v", name, answer.Body, err)
		}
		if c.want == "" && strings.Contains(string(answer.Body), "structured") {
			t.Errorf("%s: %s", name, answer.Body)
		}
	}
}
