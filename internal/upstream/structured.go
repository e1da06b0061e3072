package upstream

import (
	"encoding/json"

	"github.com/mark3labs/mcp-go/mcp"
)

// structuredOf returns the data that a result is, nil where it has none: its structured
// content, the value alone where that was wrapped, or the JSON that its text should be.
func structuredOf(r *mcp.CallToolResult, schema json.RawMessage) json.RawMessage {
	data := r.RawStructuredContent
	if len(data) == 0 && r.StructuredContent != nil {
		data, _ = json.Marshal(r.StructuredContent) // was JSON
	}
	switch {
	case r.IsError:
		return data
	case len(data) > 0 && string(data) != "null":
		return unwrapped(data, schema)
	case len(schema) == 0 || len(r.Content) != 1:
		return nil
	}
	text, isText := r.Content[0].(mcp.TextContent)
	if !isText || !json.Valid([]byte(text.Text)) {
		return nil
	}
	return unwrapped(json.RawMessage(text.Text), schema)
}

// unwrapped returns the value of {"result": value} where that stands for the value, as some
// servers wrap what is no object, and data as it is elsewhere.
func unwrapped(data, schema json.RawMessage) json.RawMessage {
	var fields map[string]json.RawMessage
	if json.Unmarshal(data, &fields) != nil || len(fields) != 1 || fields["result"] == nil {
		return data
	}
	var of struct {
		Properties map[string]json.RawMessage `json:"properties"`
		Wraps      bool                       `json:"x-fastmcp-wrap-result"`
	}
	_ = json.Unmarshal(schema, &of) // of another form it says nothing of wrapping
	if _, only := of.Properties["result"]; len(schema) == 0 || of.Wraps || only && len(of.Properties) == 1 {
		return fields["result"]
	}
	return data
}
