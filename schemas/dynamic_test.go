package schemas

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const pluginSchema = `{"type":"object","properties":{
"path":{"type":"string","description":"A file."},
"limit":{"type":"integer","default":1000},
"ratio":{"type":"number"},
"strict":{"type":"boolean"},
"columns":{"type":"array","items":{}},
"options":{"type":"object"},
"value":{},
"method":{"type":"string","enum":["zscore","iqr"]},
"level":{"enum":[1,2.5,"all",null]},
"wait":{"type":"string"}},"required":["path"],"additionalProperties":false}`

// added are arguments that each plugin has beside its own.
type added struct {
	InterpreterID string   `json:"interpreter_id,omitempty"`
	Wait          *float64 `json:"wait,omitempty" unit:"seconds"`
	Timeout       *float64 `json:"timeout,omitempty" unit:"seconds" jsonschema:"minimum=0"`
}

func extended(t *testing.T, schema string) (*Extended[added], error) {
	t.Helper()
	more, err := For[added]("sql_query")
	if err != nil {
		t.Fatal(err)
	}
	return Extend("sql_query", json.RawMessage(schema), more)
}

func parsed(t *testing.T) *Extended[added] {
	t.Helper()
	e, err := extended(t, pluginSchema)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestExtend(t *testing.T) {
	want := strings.ReplaceAll(strings.Replace(pluginSchema, `"wait":{"type":"string"}`,
		`"wait":{"type":"string"},"interpreter_id":{"type":"string"},"timeout":{"type":"number","minimum":0}`, 1), "\n", "")
	if diff := cmp.Diff(want, string(parsed(t).Schema())); diff != "" {
		t.Error(diff)
	}
}

func TestObjectCheck(t *testing.T) {
	o := parsed(t)
	for name, c := range map[string]struct{ raw, own, others string }{
		"least":                         {`{"path":"a"}`, `{"path":"a"}`, `{}`},
		"all kinds":                     {`{"path":"a","limit":5,"ratio":1.5,"strict":true,"columns":["x",null,{"y":[1]}],"options":{"k":null}}`, `{"columns":["x",null,{"y":[1]}],"limit":5,"options":{"k":null},"path":"a","ratio":1.5,"strict":true}`, `{}`},
		"added":                         {`{"path":"a","timeout":"3","interpreter_id":"7f"}`, `{"path":"a"}`, `{"interpreter_id":"7f","timeout":3}`},
		"name taken":                    {`{"path":"a","wait":"long"}`, `{"path":"a","wait":"long"}`, `{}`},
		"null absent":                   {`{"path":"a","limit":null,"columns":null}`, `{"path":"a"}`, `{}`},
		"null a value":                  {`{"path":"a","value":null,"level":null}`, `{"level":null,"path":"a","value":null}`, `{}`},
		"any value":                     {`{"path":"a","value":[1,"x"]}`, `{"path":"a","value":[1,"x"]}`, `{}`},
		"any keeps strings as they are": {`{"path":"a","value":"3"}`, `{"path":"a","value":"3"}`, `{}`},
		"digits":                        {`{"path":"a","limit":123456789012345678901234567890}`, `{"limit":123456789012345678901234567890,"path":"a"}`, `{}`},
		"whole":                         {`{"path":"a","limit":3.0}`, `{"limit":3,"path":"a"}`, `{}`},
		"whole, power":                  {`{"path":"a","limit":"1e3"}`, `{"limit":1000,"path":"a"}`, `{}`},
		"as strings":                    {`{"path":"a","columns":"[1]","strict":"True","options":"{}"}`, `{"columns":[1],"options":{},"path":"a","strict":true}`, `{}`},
		"choices":                       {`{"path":"a","method":"iqr","level":2.5}`, `{"level":2.5,"method":"iqr","path":"a"}`, `{}`},
	} {
		own, more, err := o.Decode(json.RawMessage(c.raw))
		others, failed := json.Marshal(more)
		if err != nil || failed != nil || string(own) != c.own || string(others) != c.others {
			t.Errorf("%s: %s %s %v", name, own, others, err)
		}
	}
}

func TestObjectRefuses(t *testing.T) {
	o := parsed(t)
	for raw, want := range map[string]string{
		`{}`:                         `argument "path" is required for sql_query`,
		`{"path":3}`:                 `argument "path" must be a string, not the number 3`,
		`{"path":"a","limt":3}`:      `unknown argument "limt" for sql_query; did you mean "limit"?`,
		`{"path":"a","limit":1.5}`:   `argument "limit" must be a whole number, not 1.5`,
		`{"path":"a","limit":1e400}`: `argument "limit" must be a whole number, not 1e400`,
		`{"path":"a","limit":"x"}`:   `argument "limit" must be a whole number, not the string "x"`,
		`{"path":"a","columns":{}}`:  `argument "columns" must be an array, not an object`,
		`{"path":"a","options":[]}`:  `argument "options" must be an object, not an array`,
		`{"path":"a","method":"IQ"}`: `argument "method" must be one of "zscore" or "iqr", not "IQ"; did you mean "iqr"?`,
		`{"path":"a","level":3}`:     `argument "level" must be one of 1, 2.5, "all" or null, not 3`,
		`{"path":"a","timeout":-1}`:  `argument "timeout" must be at least 0 seconds, not -1`,
		`{"path":"a","path":"b"}`:    `argument "path" is given twice; give it once`,
		`[]`:                         `the arguments of sql_query must be one JSON object: this is an array`,
	} {
		_, _, err := o.Decode(json.RawMessage(raw))
		var argument *ArgumentError
		if !errors.As(err, &argument) || err.Error() != want {
			t.Errorf("%s:\n got %v\nwant %s", raw, err, want)
		}
	}
}

// TestExtendForeign: whatever is said of the values stays as it was written; names are checked.
func TestExtendForeign(t *testing.T) {
	const foreign = `{"$defs":{"p":{"type":"string"}},"type":"object","properties":{"z":{"$ref":"#/$defs/p"},"a":{"type":["string","null"]}},"required":["z"]}`
	more, err := For[added]("github_search")
	if err != nil {
		t.Fatal(err)
	}
	e, err := ExtendForeign("github_search", json.RawMessage(foreign), more)
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Replace(foreign, `"null"]}`, `"null"]},"interpreter_id":{"type":"string"},"wait":{"type":"number"},"timeout":{"type":"number","minimum":0}`, 1)
	if string(e.Schema()) != want {
		t.Errorf("%s", e.Schema())
	}
	own, others, err := e.Decode(json.RawMessage(`{"z":[1],"a":null,"interpreter_id":"x"}`))
	if err != nil || string(own) != `{"a":null,"z":[1]}` || others.InterpreterID != "x" {
		t.Errorf("%s %+v %v", own, others, err)
	}
	for raw, want := range map[string]string{`{"a":1}`: `argument "z" is required`, `{"z":1,"zz":1}`: `"zz"`} {
		if _, _, err := e.Decode(json.RawMessage(raw)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", raw, err)
		}
	}
}

func TestExtendRefuses(t *testing.T) {
	for _, schema := range []string{`{`, `{"type":"string"}`, `{"type":"object","properties":{"a":{"type":"null"}}}`} {
		if _, err := extended(t, schema); err == nil {
			t.Errorf("%s is taken", schema)
		}
	}
	o, err := extended(t, `{"type":"object"}`)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := o.Decode(json.RawMessage(`{"a":1}`)); err == nil || err.Error() != `unknown argument "a" for sql_query; it takes interpreter_id, wait and timeout` {
		t.Error(err)
	}
}
