package transport

import (
	"encoding/json"
	"maps"
	"testing"
)

// FuzzFields: whatever valid JSON it is, the fields are those that a decoder finds.
func FuzzFields(f *testing.F) {
	for _, text := range []string{
		`{}`, `{"a":1}`, ` { "a" : -1.5e3 , "b" : [ 1 , { "c" : "]}" } ] } `, `{"a\"}":"\\","b":"\\\"","c":{}}`, `{"a":[],"b":{"a":"{"},"c":null}`,
		`{"\u0061":true,"é":"\ud800"}`, `[{"a":1}]`, `"{"`, `7`, `{"a":{"b":[[[]]]},"c":false}`,
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if !json.Valid([]byte(text)) {
			t.Skip()
		}
		var want map[string]json.RawMessage
		_ = json.Unmarshal([]byte(text), &want) // nil for what is no object
		got := map[string]json.RawMessage{}
		for name, value := range fields([]byte(text)) {
			got[string([]rune(name))] = value // as the decoder: what is no UTF-8 is U+FFFD
		}
		if !maps.EqualFunc(got, want, func(a, b json.RawMessage) bool { return string(a) == string(b) }) {
			t.Errorf("%s: %q, not %q", text, got, want)
		}
	})
}
