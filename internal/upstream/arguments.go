package upstream

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"understudy/sessions"
)

// noLoader keeps a stranger's schema from having files and addresses read.
type noLoader struct{}

func (noLoader) Load(url string) (any, error) {
	return nil, fmt.Errorf("%s is not within the schema", url)
}

// compile makes a tool's schema one that arguments can be held against; nil where it is no
// schema, and the server alone judges.
func compile(text json.RawMessage) (schema *jsonschema.Schema) {
	defer func() {
		if recover() != nil { // what it makes of a stranger's document is not ours
			schema = nil
		}
	}()
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return nil
	}
	compiler := jsonschema.NewCompiler()
	compiler.UseLoader(noLoader{})
	if compiler.AddResource("tool.json", document) != nil {
		return nil
	}
	schema, _ = compiler.Compile("tool.json")
	return schema
}

// check holds arguments against the tool's schema, and returns them decoded.
func (t *Tool) check(text json.RawMessage) (arguments map[string]any, err error) {
	if len(text) == 0 {
		text = json.RawMessage("{}")
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text)) // numbers stay as they are written
	arguments, ok := value.(map[string]any)
	if err != nil || !ok {
		return nil, refuse(sessions.RefusedInvalid, "the arguments of %s are no JSON object", t.Name)
	}
	schema := t.schema()
	if schema == nil {
		return arguments, nil
	}
	var invalid *jsonschema.ValidationError
	if err := validate(schema, value); errors.As(err, &invalid) && !hasCycle(invalid) {
		return nil, refuse(sessions.RefusedInvalid, "%s takes other arguments: %s; help() shows them", t.Name, clip(sentence(invalid), 500))
	}
	return arguments, nil
}

func validate(schema *jsonschema.Schema, value any) (err error) {
	defer func() {
		if recover() != nil {
			err = nil
		}
	}()
	return schema.Validate(value)
}

// hasCycle reports whether it is the schema that makes no sense.
func hasCycle(e *jsonschema.ValidationError) bool {
	if _, ok := e.ErrorKind.(*kind.RefCycle); ok {
		return true
	}
	return slices.ContainsFunc(e.Causes, hasCycle)
}

// sentence says what the first thing is that does not fit.
func sentence(e *jsonschema.ValidationError) string {
	for len(e.Causes) > 0 {
		e = e.Causes[0]
	}
	what := e.ErrorKind.LocalizedString(message.NewPrinter(language.English))
	if len(e.InstanceLocation) == 0 {
		return what
	}
	return strings.Join(e.InstanceLocation, ".") + ": " + what
}
