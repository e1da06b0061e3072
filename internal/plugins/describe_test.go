package plugins

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

const whole = `name: fit
description: |
  Fit a line. It returns
  the slope.
enabled: true
parameters:
  - {name: data, type: any, description: numbers}
  - name: start
    type: float
    default: 3
    description: |
      where to begin,
      on the x axis
  - {name: steps, type: int, default: 0x10}
  - {name: method, type: str, enum: [ols, "l'1"], default: ols}
  - {name: names, type: list, default: [a, 1.0, true, null, {k: 2}]}
  - {name: seed, type: int, required: false}
returns:
  - {name: slope, type: float, description: its slope}
examples:
  - fit([1, 2])
  - |
    fit(
      [1])
configuration:
  timeout: {type: float, default: 10, description: seconds}
  host: {type: str, default: a, value: b}
  nothing: {default: null}
  table: {type: dict, default: {a: {b: [1]}}}
preload: [sqlite3, sklearn.ensemble]
annotations: {read_only: true, title: Fit}
`

func TestWholePlugin(t *testing.T) {
	p := describe("fit", "/p/fit.yaml", []byte(whole))
	insist(t, p.State == Ready && p.Callable, "%v", p.Problems)
	for _, test := range []struct{ what, got, want string }{
		{"signature", p.Signature, `(data, start=3.0, steps=16, method='ols', names=['a', 1.0, True, None, {'k': 2}], seed=None)`},
		{"description", p.Description, "Fit a line. It returns the slope."},
		{"schema", string(p.Schema), `{"type":"object","properties":{` +
			`"data":{"description":"numbers"},` +
			`"start":{"type":"number","description":"where to begin, on the x axis","default":3.0},` +
			`"steps":{"type":"integer","default":16},` +
			`"method":{"type":"string","enum":["ols","l'1"],"default":"ols"},` +
			`"names":{"type":"array","default":["a",1.0,true,null,{"k":2}],"items":{}},` +
			`"seed":{"type":"integer"}},"required":["data"]}`},
		{"configuration", string(encoded(p.Configuration)), `{"host":"b","nothing":null,"table":{"a":{"b":[1]}},"timeout":10.0}`},
		{"description of the tool", p.ToolDescription, "Fit a line. It returns\nthe slope.\n\nReturns slope (float): its slope."},
		{"preload", strings.Join(p.Preload, " "), "sqlite3 sklearn.ensemble"},
		{"doc", p.Doc, `Fit a line. It returns
the slope.

Parameters
----------
data : any
    numbers
start : float, default 3.0
    where to begin,
    on the x axis
steps : int, default 16
method : {'ols', "l'1"}, default 'ols'
names : list, default ['a', 1.0, True, None, {'k': 2}]
seed : int, default None

Returns
-------
slope : float
    its slope

Examples
--------
>>> fit([1, 2])
>>> fit(
...   [1])
`},
	} {
		diff := cmp.Diff(test.want, test.got)
		expect(t, diff == "", "%s\n%s", test.what, diff)
	}
	a := p.Annotations
	expect(t, a.Title == "Fit" && a.ReadOnly != nil && *a.ReadOnly && a.Destructive == nil, "annotations %+v", a)
}

// TestInputSchemaIsOne: the schema that is made of a plugin is one, and takes
// what it says.
func TestInputSchemaIsOne(t *testing.T) {
	object, err := jsonschema.UnmarshalJSON(strings.NewReader(string(describe("fit", "fit.yaml", []byte(whole)).Schema)))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("s.json", object); err != nil {
		t.Fatal(err)
	}
	schema := c.MustCompile("s.json")
	for arguments, fits := range map[string]bool{
		`{"data": [1, {"a": null}]}`: true,
		`{"data": null, "start": 1, "steps": 2, "method": "l'1", "names": ["x"]}`: true,
		`{}`:                                 true,
		`{"data": 1, "more": 1}`:             true, // Check refuses it; see portable_test.go of tools
		`{"data": 1, "steps": 1.5}`:          false,
		`{"data": 1, "method": "quadratic"}`: false,
	} {
		value, err := jsonschema.UnmarshalJSON(strings.NewReader(arguments))
		if err != nil {
			t.Fatal(err)
		}
		if arguments == `{}` { // data is required
			fits = false
		}
		if err := schema.Validate(value); (err == nil) != fits {
			t.Errorf("%s: %v", arguments, err)
		}
	}
}

// TestPlainTags: they say what a value is anyway, or make it that.
func TestPlainTags(t *testing.T) {
	p := describe("p", "p.yaml", []byte(head+"configuration: !!map {a: {default: !!seq [!!str 9, !!int 9, !!float 9, !!bool true, !!null ~, !!timestamp 2027-01-31]}}\n"))
	want := map[string]any{"a": []any{"9", json.Number("9"), json.Number("9.0"), true, nil, "2027-01-31"}}
	if diff := cmp.Diff(want, p.Configuration); diff != "" || p.Reason() != "" {
		t.Errorf("%s %s", p.Reason(), diff)
	}
}

const head = "name: p\ndescription: d\n"

// TestFaults: every mistake is told with its file, line and what to do.
func TestFaults(t *testing.T) {
	for name, test := range map[string]struct{ text, want string }{
		"nothing":        {"", "p.yaml:1: it is empty; it must be a mapping with name and description"},
		"a comment":      {"# later\n", "p.yaml:1: it is empty; it must be a mapping with name and description"},
		"no mapping":     {"\n- a\n", "p.yaml:2: it must be a mapping with name and description, not a list"},
		"one word":       {"p", "p.yaml:1: it must be a mapping with name and description, not one value"},
		"two documents":  {head + "---\na: 1\n", "p.yaml:3: it must hold one YAML document"},
		"no YAML":        {head + "returns: [\n", "p.yaml:3: it is no YAML: did not find expected node content"},
		"a tab":          {head + "returns:\n\t- a\n", "p.yaml:4: it is no YAML: found character that cannot start any token"},
		"no description": {"name: p\n", "p.yaml:1: it has no description"},
		"neither":        {"{}", "p.yaml:1: it has no name and description"},
		"another name":   {"description: d\nname: q\n", `p.yaml:2: name is "q", and the file is p.yaml; they must be the same`},
		"a number":       {"name: p\ndescription: 7\n", "p.yaml:2: description is 7; it must be a text"},
		"empty":          {"name: p\ndescription: ''\n", "p.yaml:2: description is empty"},
		"null":           {"name: p\ndescription: d\nenabled:\n", "p.yaml:3: enabled is empty; it must be true or false"},
		"twice":          {head + "name: p\n", "p.yaml:3: name is there twice; the first is on line 1"},
		"twice inside":   {head + "annotations:\n  title: a\n  title: b\n", "p.yaml:5: annotations.title is there twice; the first is on line 4"},
		"unknown":        {head + "\nparametres: []\n", "p.yaml:4: parametres is not known; the keys here are name, description, enabled, parameters, returns, examples, configuration, preload and annotations"},
		"unknown inside": {head + "parameters:\n  - name: a\n    type: int\n    default: 1\n    min: 0\n",
			"p.yaml:7: parameters[0].min is not known; the keys here are name, type, description, required, default and enum"},
		"unknown of returns":       {head + "returns: [{name: a, type: int, unit: m}]\n", "p.yaml:3: returns[0].unit is not known; the keys here are name, type and description"},
		"unknown of configuration": {head + "configuration: {a: {default: 1, unit: s}}\n", "p.yaml:3: configuration.a.unit is not known; the keys here are type, description, default and value"},
		"unknown of annotations":   {head + "annotations: {readonly: true}\n", "p.yaml:3: annotations.readonly is not known; the keys here are title, read_only, destructive, idempotent and open_world"},
		"wrong type": {head + "parameters:\n  - {name: a, type: int}\n  -\n    name: b\n    type: string\n",
			`p.yaml:7: parameters[1].type is "string"; it must be one of str, int, float, bool, list, dict or any`},
		"no type":           {head + "parameters:\n  - {name: a}\n", "p.yaml:4: parameters[0] has no type"},
		"no list":           {head + "parameters: {a: int}\n", "p.yaml:3: parameters is a mapping; it must be a list"},
		"a long text":       {"name: p\ndescription: " + strings.Repeat("d", 4001), "p.yaml:2: description has 4001 characters; at most 4000 are taken"},
		"many":              {head + "examples: [" + strings.Repeat("a,", 21) + "]\n", "p.yaml:3: examples has 21 items; at most 20 are taken"},
		"an anchor":         {head + "returns: &r []\nparameters: *r\n", "p.yaml:3: anchors and aliases are not taken; write the value again; p.yaml:4: anchors and aliases are not taken; write the value again"},
		"a merge":           {head + "<<: {a: 1}\n", "p.yaml:3: a key must be a text; put it in quotes"},
		"a number as key":   {head + "configuration: {1: {default: 1}}\n", "p.yaml:3: configuration: a key must be a text; put it in quotes"},
		"a tag":             {head + "configuration: {a: {default: !!python/object:os.system x}}\n", "p.yaml:3: configuration.a.default: its tag is not taken; put a text that begins with ! in quotes"},
		"bytes":             {head + "configuration: {a: {default: !!binary aGk=}}\n", "p.yaml:3: configuration.a.default: its tag is not taken; put a text that begins with ! in quotes"},
		"a set":             {head + "configuration: {a: {default: !!set {x: }}}\n", "p.yaml:3: configuration.a.default: its tag is not taken; put a text that begins with ! in quotes"},
		"infinity":          {head + "configuration: {a: {default: .inf}}\n", "p.yaml:3: configuration.a.default: it is no number that JSON has"},
		"a tagged mapping":  {head + "configuration: {a: {default: !!str {x: 1}}}\n", "p.yaml:3: configuration.a.default: its tag is not taken; put a text that begins with ! in quotes"},
		"a huge number":     {head + "configuration: {a: {default: !!int 9.5}}\n", "p.yaml:3: configuration.a.default: it can't be read"},
		"a keyword":         {head + "parameters: [{name: lambda, type: int}]\n", `p.yaml:3: parameters[0].name: "lambda" is a word of Python's; choose another name`},
		"no identifier":     {head + "parameters: [{name: a-b, type: int}]\n", `p.yaml:3: parameters[0].name: "a-b" is no name for a parameter: it must be ` + identifierWords},
		"a private name":    {head + "parameters: [{name: _a, type: int}]\n", `p.yaml:3: parameters[0].name: "_a" is no name for a parameter: it must be ` + identifierWords},
		"self":              {head + "parameters: [{name: self, type: int}]\n", `p.yaml:3: parameters[0].name: self is how Python's methods call their object; choose another name`},
		"a name of tools'":  {head + "parameters: [{name: timeout, type: int}]\n", `p.yaml:3: parameters[0].name: "timeout" is a name that this server gives to every plugin; choose another one`},
		"a parameter twice": {head + "parameters: [{name: a, type: int}, {name: a, type: str}]\n", `p.yaml:3: parameters[1].name: there is a parameter a already`},
		"out of order": {head + "parameters:\n  - {name: a, type: int, default: null}\n  - {name: b, type: int}\n",
			"p.yaml:5: parameters[1].name: callers must give b, but it comes after a, which they may leave out; move it before that, or give it a default"},
		"required and default": {head + "parameters: [{name: a, type: int, default: 1, required: true}]\n", "p.yaml:3: parameters[0].required: it is true, and there is a default; take one of the two out"},
		"a text for a number":  {head + "parameters:\n- name: a\n  type: int\n  default: '1'\n", `p.yaml:6: parameters[0].default is "1"; it must be a whole number, as type says`},
		"a float for an int":   {head + "parameters: [{name: a, type: int, default: 1.0}]\n", `p.yaml:3: parameters[0].default is 1.0; it must be a whole number, as type says`},
		"a number for a text":  {head + "parameters: [{name: a, type: str, default: 1}]\n", `p.yaml:3: parameters[0].default is 1; it must be a text (put it in quotes), as type says`},
		"yes for a boolean":    {head + "parameters: [{name: a, type: bool, default: yes}]\n", `p.yaml:3: parameters[0].default is "yes"; it must be true or false, as type says`},
		"true for an int":      {head + "parameters: [{name: a, type: int, default: true}]\n", `p.yaml:3: parameters[0].default is true; it must be a whole number, as type says`},
		"a list for a dict":    {head + "parameters: [{name: a, type: dict, default: []}]\n", `p.yaml:3: parameters[0].default is a list; it must be a mapping, as type says`},
		"enum of another type": {head + "parameters: [{name: a, type: int, enum: [1, x]}]\n", `p.yaml:3: parameters[0].enum[1] is "x"; it must be a whole number, as type says`},
		"enum twice":           {head + "parameters: [{name: a, type: float, enum: [1, 1.0]}]\n", `p.yaml:3: parameters[0].enum[1]: 1.0 is there already`},
		"default not in enum":  {head + "parameters: [{name: a, type: str, enum: [x], default: y}]\n", `p.yaml:3: parameters[0].default is 'y', which is not in enum`},
		"an empty enum":        {head + "parameters: [{name: a, type: str, enum: []}]\n", `p.yaml:3: parameters[0].enum is empty`},
		"returns no name":      {head + "returns: [{name: the rows, type: any}]\n", `p.yaml:3: returns[0].name is "the rows"; it must be ` + identifierWords},
		"no value":             {head + "configuration:\n  key: {type: str}\n", "p.yaml:4: configuration.key has no value; set it with value: …"},
		"a wrong value":        {head + "configuration:\n  key:\n    type: str\n    default: a\n    value: 1\n", "p.yaml:7: configuration.key.value is a number; it must be a text (put it in quotes), as type says"},
		"a null value":         {head + "configuration: {a: {type: str, default: x, value: }}\n", "p.yaml:3: configuration.a.value is empty; it must be a text (put it in quotes), as type says; leave it out for the default"},
		"a blank description":  {"name: p\ndescription: '  '\n", "p.yaml:2: description is empty"},
		"no module":            {head + "preload: [numpy, 'import os']\n", `p.yaml:3: preload[1] is "import os"; it must be the name of a module, as sklearn.ensemble`},
		"two at once": {"name: q\ndescription: d\nparameters: [{name: in, type: int}]\n",
			`p.yaml:1: name is "q", and the file is p.yaml; they must be the same; p.yaml:3: parameters[0].name: "in" is a word of Python's; choose another name`},
	} {
		t.Run(name, func(t *testing.T) {
			p := describe("p", "/some/where/p.yaml", []byte(test.text))
			insist(t, p.State == Broken, "it is %s", p.State)
			diff := cmp.Diff(test.want, p.Reason())
			expect(t, diff == "", "%v", diff)
		})
	}
}

// TestSecretsStayInTheFile: a reason is told to agents, and configuration may hold
// what they must not see.
func TestSecretsStayInTheFile(t *testing.T) {
	for _, configuration := range []string{
		"{a: {type: int, value: T0PSECRET}}", "{a: {type: int, default: T0PSECRET}}", "{a: {type: int, value: T0PSECRET}, b: 3}",
		"{a: T0PSECRET}", "T0PSECRET", "[T0PSECRET]", "{a: [T0PSECRET]}", "{a: {type: bool, value: [T0PSECRET]}}",
		"{a: {value: !T0PSECRET x}}", "{a: {value: *T0PSECRET}}", "{a: {value: &T0PSECRET x}}", "{a: {value: !!int T0PSECRET}}",
	} {
		p := describe("p", "p.yaml", []byte(head+"configuration: "+configuration+"\n"))
		if p.State != Broken || strings.Contains(p.Reason(), "T0PSECRET") {
			t.Errorf("%s: %s, %s", configuration, p.State, p.Reason())
		}
	}
}

func TestDeepYAML(t *testing.T) {
	deep := head + "configuration: {a: {default: " + strings.Repeat("[", 200) + strings.Repeat("]", 200) + "}}\n"
	if p := describe("p", "p.yaml", []byte(deep)); p.Reason() != "p.yaml:3: it is nested more than 50 deep" {
		t.Error(p.Reason())
	}
}

func TestNamesOfPlugins(t *testing.T) {
	for name, want := range map[string]string{
		"sql_query": "", "match": "", "Fit2": "", strings.Repeat("a", 60): "",
		"class": "word of Python's", "None": "word of Python's", "open": "Python's own", "print": "Python's own", "ValueError": "Python's own",
		"run_python_code": "this server's", "manage_interpreters": "this server's", "artifact": "this server's", "understudy_plugin": "this server's",
		"my-plugin": "no name", "2d": "no name", "_hidden": "no name", "__import__": "no name", "naïve": "no name", "a b": "no name", "": "no name", strings.Repeat("a", 61): "no name",
	} {
		err := checkName(name)
		expect(t, (err == nil) == (want == "") && (err == nil || strings.Contains(err.Error(), want)), "%q: %v", name, err)
		p := describe(name, name+".yaml", []byte("description: d\nname: "+string(encoded(name))))
		expect(t, p.Callable == (want == ""), "%q is callable: %t", name, p.Callable)
	}
}

// FuzzDescribe: no bytes make it panic, and what it takes is JSON.
func FuzzDescribe(f *testing.F) {
	f.Add([]byte(whole))
	f.Add([]byte(head + "a: &a [*a, *a]"))
	f.Add([]byte("? [a]\n: b"))
	f.Add([]byte(head + "parameters: [{name: a, type: float, default: -.5e3, enum: [0b1, 0o7, 1_000]}]"))
	f.Add([]byte(head + "configuration: {a: {default: 2001-01-01}, b: {value: ~}}"))
	f.Fuzz(func(t *testing.T, text []byte) {
		p := describe("p", "p.yaml", text)
		expect(t, (p.State == Broken) == (len(p.Problems) > 0), "%s with problems %q", p.State, p.Problems)
		if p.State == Broken {
			if len(p.Reason()) > 100*len(text)+1000 {
				t.Errorf("a reason of %d bytes for %d", len(p.Reason()), len(text))
			}
			return
		}
		expect(t, json.Valid(p.Schema), "the schema is no JSON: %s", p.Schema)
		expect(t, !strings.Contains(p.Signature, "\n"), "the signature has lines: %s", p.Signature)
		digest(p)
	})
}
