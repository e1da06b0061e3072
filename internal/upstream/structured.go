package upstream

import "encoding/json"

// structuredOf returns the data that a result is, nil where it has none: its structured
// content, the value alone where that was wrapped, or the JSON that its text should be.
func structuredOf(r *result, schema json.RawMessage) json.RawMessage {
	switch {
	case !isNull(r.Structured):
		if r.IsError {
			return r.Structured
		}
		return unwrapped(r.Structured, schema)
	case r.IsError, len(schema) == 0, len(r.Content) != 1:
		return nil
	}
	var part struct{ Type, Text string }
	if json.Unmarshal(r.Content[0], &part) != nil || part.Type != "text" || !json.Valid([]byte(part.Text)) {
		return nil
	}
	return unwrapped(json.RawMessage(part.Text), schema)
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
