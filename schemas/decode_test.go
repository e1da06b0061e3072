package schemas

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// trialArgs has a field of every kind that a tool may declare.
type trialArgs struct {
	Code    string   `json:"code"`
	ID      string   `json:"interpreter_id,omitempty"`
	Timeout *float64 `json:"timeout,omitempty" unit:"seconds" jsonschema:"minimum=0"`
	Wait    *float64 `json:"wait,omitempty" unit:"seconds" jsonschema:"minimum=0"`
	Ratio   float64  `json:"ratio,omitempty"`
	Reset   bool     `json:"reset,omitempty"`
	Mode    string   `json:"mode,omitempty" jsonschema:"enum=create,enum=list,enum=delete"`

	Names Texts `json:"names,omitempty"`
}

func trial(t testing.TB) *Arguments[trialArgs] {
	t.Helper()
	a, err := For[trialArgs]("run_python_code")
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func number(f float64) *float64 { return &f }

func word(s string) *string { return &s }

func TestDecode(t *testing.T) {
	for name, test := range map[string]struct {
		raw  string
		want trialArgs
	}{
		"one":               {`{"code": "1+1"}`, trialArgs{Code: "1+1"}},
		"all":               {`{"code":"x","interpreter_id":"7f","timeout":30,"wait":0,"ratio":-0.5,"reset":true,"mode":"list","names":{"a":null,"b":"c"}}`, trialArgs{"x", "7f", number(30), number(0), -0.5, true, "list", Texts{"a": nil, "b": word("c")}}},
		"object as string":  {`{"code":"x","names":"{\"a\": \"b\"}"}`, trialArgs{Code: "x", Names: Texts{"a": word("b")}}},
		"names and values":  {`{"code":"x","names":[{"name":"a","value":"b"},{"name":"c"},{"value":null,"name":"d"}]}`, trialArgs{Code: "x", Names: Texts{"a": word("b"), "c": nil, "d": nil}}},
		"list as string":    {`{"code":"x","names":"[{\"name\":\"a\",\"value\":\"\"}]"}`, trialArgs{Code: "x", Names: Texts{"a": word("")}}},
		"none of them":      {`{"code":"x","names":[]}`, trialArgs{Code: "x", Names: Texts{}}},
		"all filled in":     {`{"code":"x","interpreter_id":"","timeout":"","wait":0,"ratio":0,"reset":false,"mode":"","names":""}`, trialArgs{Code: "x", Wait: number(0)}},
		"null is absent":    {`{"code":"x","timeout":null,"mode":null,"reset":null}`, trialArgs{Code: "x"}},
		"empty code":        {`{"code":""}`, trialArgs{}},
		"number as string":  {`{"code":"x","timeout":"30","wait":" 1.5e1 "}`, trialArgs{Code: "x", Timeout: number(30), Wait: number(15)}},
		"boolean as string": {`{"code":"x","reset":"True"}`, trialArgs{Code: "x", Reset: true}},
		"space around":      {" \n{\"code\":\"x\"}\t", trialArgs{Code: "x"}},
		"NUL and unicode":   {`{"code":"a\u0000\u00e9😀"}`, trialArgs{Code: "a\x00é😀"}},
		"code that is JSON": {`{"code":"{\"a\": 1}"}`, trialArgs{Code: `{"a": 1}`}},
		"digits stay text":  {`{"code":"42"}`, trialArgs{Code: "42"}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := trial(t).Decode(json.RawMessage(test.raw))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestDecodeRefuses(t *testing.T) {
	for name, test := range map[string]struct{ raw, argument, want string }{
		"unknown, near":       {`{"code":"x","interpeter_id":"7f"}`, "interpeter_id", `unknown argument "interpeter_id" for run_python_code; did you mean "interpreter_id"?`},
		"camel case":          {`{"code":"x","interpreterId":"7f"}`, "interpreterId", `unknown argument "interpreterId" for run_python_code; did you mean "interpreter_id"?`},
		"other case":          {`{"Code":"x"}`, "Code", `unknown argument "Code" for run_python_code; did you mean "code"?`},
		"a beginning":         {`{"code":"x","interp":"7f"}`, "interp", `unknown argument "interp" for run_python_code; did you mean "interpreter_id"?`},
		"unknown, far":        {`{"source":"x"}`, "source", `unknown argument "source" for run_python_code; it takes code, interpreter_id, timeout, wait, ratio, reset, mode and names`},
		"unknown before null": {`{"code":"x","cdoe":null}`, "cdoe", `unknown argument "cdoe" for run_python_code; did you mean "code"?`},
		"missing":             {`{}`, "code", `argument "code" is required for run_python_code`},
		"missing by null":     {`{"code":null}`, "code", `argument "code" is required for run_python_code`},
		"nothing at all":      {``, "code", `argument "code" is required for run_python_code`},
		"null for all":        {`null`, "code", `argument "code" is required for run_python_code`},
		"not a string":        {`{"code":5}`, "code", `argument "code" must be a string, not the number 5`},
		"a list of lines":     {`{"code":["a","b"]}`, "code", `argument "code" must be a string, not an array`},
		"not a number":        {`{"code":"x","timeout":"30s"}`, "timeout", `argument "timeout" must be a number of seconds, not the string "30s"`},
		"Python's infinity":   {`{"code":"x","timeout":"inf"}`, "timeout", `argument "timeout" must be a number of seconds, not the string "inf"`},
		"a string in a string": {`{"code":"x","timeout":"\"30\""}`, "timeout",
			`argument "timeout" must be a number of seconds, not the string "\"30\""`},
		"no unit":        {`{"code":"x","ratio":{}}`, "ratio", `argument "ratio" must be a number, not an object`},
		"not a boolean":  {`{"code":"x","reset":1}`, "reset", `argument "reset" must be true or false, not the number 1`},
		"no names":       {`{"code":"x","names":["a"]}`, "names", `argument "names" must hold objects with name and value; item 1 is the string "a"`},
		"no list":        {`{"code":"x","names":5}`, "names", `argument "names" must be a list of objects with name and value, not the number 5`},
		"no name":        {`{"code":"x","names":[{"value":"b"}]}`, "names", `argument "names" must hold objects with name and value; item 1 has no name`},
		"other field":    {`{"code":"x","names":[{"name":"a"},{"name":"a","text":"b"}]}`, "names", `argument "names" must hold objects with name and value; item 2 has text the string "b"`},
		"no text":        {`{"code":"x","names":{"a":5}}`, "names", `names["a"] must be a string, or null to remove it, not 5; put other values into a string, as JSON say`},
		"a name twice":   {`{"code":"x","names":[{"name":"a","value":"b"},{"name":"a"}]}`, "names", `names["a"] is given twice; give it once`},
		"too small":      {`{"code":"x","wait":-1}`, "wait", `argument "wait" must be at least 0 seconds, not -1`},
		"out of range":   {`{"code":"x","wait":1e999}`, "wait", `argument "wait" is out of range: 1e999`},
		"choice, near":   {`{"code":"x","mode":"lst"}`, "mode", `argument "mode" must be one of "create", "list" or "delete", not "lst"; did you mean "list"?`},
		"choice, far":    {`{"code":"x","mode":"explode"}`, "mode", `argument "mode" must be one of "create", "list" or "delete", not "explode"`},
		"twice":          {`{"code":"x","code":"y"}`, "code", `argument "code" is given twice; give it once`},
		"an array":       {`["x"]`, "", `the arguments of run_python_code must be one JSON object: this is an array`},
		"encoded twice":  {`"{\"code\":1}"`, "", `the arguments of run_python_code must be one JSON object: this is the string "{\"code\":1}"`},
		"broken":         {`{"code":`, "", `the arguments of run_python_code must be one JSON object: this is not valid JSON`},
		"two objects":    {`{"code":"x"}{"code":"y"}`, "", `the arguments of run_python_code must be one JSON object: this is not valid JSON`},
		"too deep":       {strings.Repeat("[", 100_000), "", `the arguments of run_python_code must be one JSON object: this is not valid JSON`},
		"a long name":    {`{"` + strings.Repeat("n", 5000) + `":1}`, strings.Repeat("n", 5000), `unknown argument "` + strings.Repeat("n", 60) + `…" for run_python_code; it takes code, interpreter_id, timeout, wait, ratio, reset, mode and names`},
		"a long value":   {`{"code":"x","timeout":"` + strings.Repeat("n", 5000) + `"}`, "timeout", `argument "timeout" must be a number of seconds, not a string`},
		"a long number":  {`{"code":` + strings.Repeat("1", 5000) + `}`, "code", `argument "code" must be a string, not the number ` + strings.Repeat("1", 60) + `…`},
		"choice of case": {`{"code":"x","mode":"List"}`, "mode", `argument "mode" must be one of "create", "list" or "delete", not "List"; did you mean "list"?`},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := trial(t).Decode(json.RawMessage(test.raw))
			var wrong *ArgumentError
			if !errors.As(err, &wrong) {
				t.Fatalf("got %+v and error %v", got, err)
			}
			if wrong.Message != test.want {
				t.Errorf("message\n got %s\nwant %s", wrong.Message, test.want)
			}
			if wrong.Argument != test.argument {
				t.Errorf("argument %q, want %q", wrong.Argument, test.argument)
			}
		})
	}
}

func TestChoiceIsKept(t *testing.T) {
	_, err := trial(t).Decode(json.RawMessage(`{"code":"x","mode":"explode"}`))
	var wrong *ArgumentError
	if !errors.As(err, &wrong) || wrong.Choice != "explode" {
		t.Errorf("got %+v", wrong)
	}
}

func TestForRefusesWhatItCannotCheck(t *testing.T) {
	type listArgs struct {
		Names []float64 `json:"names"`
	}
	if _, err := For[listArgs]("trial"); err == nil {
		t.Error("a list of numbers was accepted")
	}
}

func TestListsOfStrings(t *testing.T) {
	type listArgs struct {
		Names []string `json:"names,omitempty"`
	}
	a, err := For[listArgs]("trial")
	if err != nil {
		t.Fatal(err)
	}
	for raw, want := range map[string][]string{
		`{"names": ["a", "b"]}`: {"a", "b"}, `{"names": "[\"a\"]"}`: {"a"}, `{"names": null}`: nil, `{"names": []}`: {},
	} {
		if got, err := a.Decode(json.RawMessage(raw)); err != nil || !cmp.Equal(want, got.Names) {
			t.Errorf("%s: %q, %v", raw, got.Names, err)
		}
	}
	for raw, want := range map[string]string{
		`{"names": "a"}`:       `argument "names" must be an array of strings, not the string "a"`,
		`{"names": ["a", []]}`: `argument "names" must hold strings only; item 2 is an array`,
		`{"names": [null]}`:    `argument "names" must hold strings only; item 1 is the null null`,
	} {
		if _, err := a.Decode(json.RawMessage(raw)); err == nil || err.Error() != want {
			t.Errorf("%s: %v", raw, err)
		}
	}
}

// FuzzDecode: no bytes make it panic, and what it accepts it accepts again
// from its own encoding.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		``, `{}`, `null`, `{"code":"x"}`, `{"code":"x","timeout":"30","reset":"true"}`, `{"code":"x","code":"y"}`,
		`{"mode":"lst"}`, `[1]`, `{"code":"\ud800"}`, `{"code":"x","wait":1e308}`, "{\"\xff\":1}", `{"code":"x","ratio":-0}`,
	} {
		f.Add([]byte(seed))
	}
	a := trial(f)
	f.Fuzz(func(t *testing.T, raw []byte) {
		got, err := a.Decode(raw)
		if err != nil {
			if len(err.Error()) > 1000 {
				t.Errorf("an error of %d characters", len(err.Error()))
			}
			return
		}
		encoded, err := json.Marshal(got)
		if err != nil {
			t.Fatal(err)
		}
		again, err := a.Decode(encoded)
		if err != nil {
			t.Fatalf("%s: %v", encoded, err)
		}
		if diff := cmp.Diff(got, again); diff != "" {
			t.Error(diff)
		}
	})
}
