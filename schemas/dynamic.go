package schemas

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/invopop/jsonschema"
	orderedmap "github.com/pb33f/ordered-map/v2"
)

// Extended describes the arguments of a tool whose schema is known at run time only, and
// those that T declares, but for those whose name is taken.
type Extended[T any] struct {
	object
	own []string // the names that are the schema's own
}

// dynamicTypes are those that check knows; "" takes any value, null too.
var dynamicTypes = []string{"string", "number", "integer", "boolean", "array", "object", ""}

// Extend reads the schema of the named tool's arguments: a closed object whose
// properties have a type, a description, a default and an enum. It fails on other
// types: what they hold would not be checked. What arrays and objects contain is
// not looked into.
func Extend[T any](tool string, schema json.RawMessage, by *Arguments[T]) (*Extended[T], error) {
	e := &Extended[T]{object: object{tool: tool, schema: &jsonschema.Schema{}, units: map[string]string{}}}
	if err := json.Unmarshal(schema, e.schema); err != nil {
		return nil, fmt.Errorf("reading the schema of %s: %w", tool, err)
	}
	if e.schema.Type != "object" {
		return nil, fmt.Errorf("the schema of %s describes no object", tool)
	}
	if e.schema.Properties == nil {
		e.schema.Properties = jsonschema.NewProperties()
	}
	for p := e.schema.Properties.Oldest(); p != nil; p = p.Next() {
		if !slices.Contains(dynamicTypes, p.Value.Type) {
			return nil, fmt.Errorf("argument %q of %s: no check for type %q", p.Key, tool, p.Value.Type)
		}
		e.own = append(e.own, p.Key)
	}
	for p := by.schema.Properties.Oldest(); p != nil; p = p.Next() {
		if !slices.Contains(e.own, p.Key) {
			e.schema.Properties.Set(p.Key, p.Value)
			e.units[p.Key] = by.units[p.Key]
		}
	}
	var err error
	e.raw, err = e.extended(schema)
	return e, err
}

// ExtendForeign extends a schema of somebody else's, who checks the values: here only names
// are, and that what must be given is.
func ExtendForeign[T any](tool string, schema json.RawMessage, by *Arguments[T]) (*Extended[T], error) {
	type names struct {
		Type       string                     `json:"type"`
		Properties map[string]json.RawMessage `json:"properties"`
		Required   []string                   `json:"required,omitempty"`
	}
	only := names{}
	if err := json.Unmarshal(schema, &only); err != nil {
		return nil, fmt.Errorf("reading the schema of %s: %w", tool, err)
	}
	for name := range only.Properties {
		only.Properties[name] = json.RawMessage("{}")
	}
	plain, err := json.Marshal(only)
	if err != nil {
		return nil, fmt.Errorf("encoding the schema of %s: %w", tool, err)
	}
	e, err := Extend(tool, plain, by)
	if err == nil {
		e.raw, err = e.extended(schema)
	}
	return e, err
}

// extended is the schema as it was written with the properties that were added: encoded
// anew, an empty schema would become true, which some clients do not take for one.
func (e *Extended[T]) extended(schema json.RawMessage) (json.RawMessage, error) {
	whole, properties := orderedmap.New[string, json.RawMessage](), orderedmap.New[string, json.RawMessage]()
	if err := json.Unmarshal(schema, whole); err != nil {
		return nil, fmt.Errorf("reading the schema of %s: %w", e.tool, err)
	}
	if written, ok := whole.Get("properties"); ok {
		if err := json.Unmarshal(written, properties); err != nil {
			return nil, fmt.Errorf("reading the schema of %s: %w", e.tool, err)
		}
	}
	for p := e.schema.Properties.Oldest(); p != nil; p = p.Next() {
		if slices.Contains(e.own, p.Key) {
			continue
		}
		added, err := json.Marshal(p.Value)
		if err != nil {
			return nil, fmt.Errorf("encoding argument %q of %s: %w", p.Key, e.tool, err)
		}
		properties.Set(p.Key, added)
	}
	all, err := json.Marshal(properties)
	if err != nil {
		return nil, fmt.Errorf("encoding the schema of %s: %w", e.tool, err)
	}
	whole.Set("properties", all)
	return json.Marshal(whole)
}

// Decode reads the arguments of a call as strictly as that of Arguments. It returns those of
// the schema as a JSON object, and those that were added; an error is an *ArgumentError.
func (e *Extended[T]) Decode(raw json.RawMessage) (own json.RawMessage, added T, err error) {
	checked, err := e.checked(raw)
	if err != nil {
		return nil, added, err
	}
	mine := map[string]json.RawMessage{}
	for _, name := range e.own {
		if value, given := checked[name]; given {
			mine[name] = value
			delete(checked, name)
		}
	}
	if own, err = json.Marshal(mine); err != nil {
		return nil, added, fault("", "the arguments of %s can't be read: %v", e.tool, err)
	}
	added, err = fill[T](checked)
	return own, added, err
}
