package upstream

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestRender: code, and the journal for a script, get the data that a result is.
func TestRender(t *testing.T) {
	const (
		only    = `{"properties":{"result":{}}}`
		wraps   = `{"properties":{"result":{},"more":{}},"x-fastmcp-wrap-result":true}`
		orError = `{"properties":{"result":{},"error":{}}}`
		other   = `{"properties":"?"}`
		picture = `{"type":"image","data":"eA==","mimeType":"image/png"}`
	)
	text := func(text string) string {
		encoded, _ := json.Marshal(map[string]string{"type": "text", "text": text})
		return string(encoded)
	}
	for name, c := range map[string]struct{ structured, content, schema, want string }{
		"wrapped":             {`{"result":7}`, "", only, `7`},
		"said to be wrapped":  {`{"result":[]}`, "", wraps, `[]`},
		"wrapped, no schema":  {`{"result":7}`, "", "", `7`},
		"null":                {`{"result":null}`, "", only, `null`},
		"a field called so":   {`{"result":7}`, "", orError, `{"result":7}`},
		"a schema of nothing": {`{"result":7}`, "", other, `{"result":7}`},
		"more fields":         {`{"result":7,"a":1}`, "", "", `{"result":7,"a":1}`},
		"no object":           {`[1]`, "", "", `[1]`},
		"nothing":             {`null`, "", "", ""},
		"text of JSON":        {`null`, text(`{"a":1}`), other, `{"a":1}`},
		"text of none":        {`null`, text(`{"a":`), other, ""},
		"text, no schema":     {`null`, text(`{"a":1}`), "", ""},
		"pictures beside":     {`{"a":1}`, picture, "", `{"a":1}`},
		"a picture":           {`null`, picture, other, ""},
	} {
		s := &server{entry: entry{name: "s"}}
		answer, err := s.render(&tool{name: "t", output: json.RawMessage(c.schema)}, json.RawMessage(`{"content":[`+c.content+`],"structuredContent":`+c.structured+`}`))
		must(t, err)
		var got struct{ Structured json.RawMessage }
		must(t, json.Unmarshal(answer.Body, &got))
		expect(t, string(got.Structured) == c.want, "%s: %s", name, answer.Body)
		expect(t, c.want != "" || !strings.Contains(string(answer.Body), "structured"), "%s: %s", name, answer.Body)
	}
}
