package schemas

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/invopop/jsonschema"
)

// Object describes the arguments of a tool whose schema is known at run time only.
type Object struct {
	object
	own []string // the names that are the schema's own, not added by Extend
}

// dynamicTypes are those that check knows; "" takes any value, null too.
var dynamicTypes = []string{"string", "number", "integer", "boolean", "array", "object", ""}

// Parse reads the schema of the named tool's arguments: a closed object whose
// properties have a type, a description, a default and an enum. It fails on other
// types: what they hold would not be checked. What arrays and objects contain is
// not looked into.
func Parse(tool string, schema json.RawMessage) (*Object, error) {
	o := &Object{object: object{tool: tool, schema: &jsonschema.Schema{}, units: make(map[string]string)}}
	if err := json.Unmarshal(schema, o.schema); err != nil {
		return nil, fmt.Errorf("reading the schema of %s: %w", tool, err)
	}
	if o.schema.Type != "object" {
		return nil, fmt.Errorf("the schema of %s describes no object", tool)
	}
	if o.schema.Properties == nil {
		o.schema.Properties = jsonschema.NewProperties()
	}
	for p := o.schema.Properties.Oldest(); p != nil; p = p.Next() {
		if !slices.Contains(dynamicTypes, p.Value.Type) {
			return nil, fmt.Errorf("argument %q of %s: no check for type %q", p.Key, tool, p.Value.Type)
		}
		o.own = append(o.own, p.Key)
	}
	o.raw = schema
	return o, nil
}

// Extend adds the arguments that T declares, but for those whose name is taken.
func Extend[T any](o *Object, by *Arguments[T]) error {
	more := make(map[string]json.RawMessage)
	var names []string
	for p := by.schema.Properties.Oldest(); p != nil; p = p.Next() {
		if _, taken := o.schema.Properties.Get(p.Key); taken {
			continue
		}
		encoded, err := json.Marshal(p.Value)
		if err != nil {
			return fmt.Errorf("encoding argument %q of %s: %w", p.Key, o.tool, err)
		}
		o.schema.Properties.Set(p.Key, p.Value)
		o.units[p.Key] = by.units[p.Key]
		more[p.Key], names = encoded, append(names, p.Key)
	}
	return o.write(names, more)
}

// write adds properties to the schema as it was written: encoded anew, an empty
// schema would become true, which some clients do not take for one.
func (o *Object) write(names []string, more map[string]json.RawMessage) error {
	members, err := readMembers(o.raw)
	if err != nil {
		return fmt.Errorf("reading the schema of %s: %w", o.tool, err)
	}
	at := slices.IndexFunc(members, func(m member) bool { return m.name == "properties" })
	if at < 0 {
		at, members = len(members), append(members, member{"properties", json.RawMessage("{}")})
	}
	properties, err := readMembers(members[at].value)
	if err != nil {
		return fmt.Errorf("reading the schema of %s: %w", o.tool, err)
	}
	for _, name := range names {
		properties = append(properties, member{name, more[name]})
	}
	members[at].value = writeObject(properties)
	o.raw = writeObject(members)
	return nil
}

// Check reads the arguments of a call as strictly as Decode. It returns those of
// the schema, and those that Extend added, each as a JSON object; an error is an
// *ArgumentError.
func (o *Object) Check(raw json.RawMessage) (own, added json.RawMessage, err error) {
	checked, err := o.checked(raw)
	if err != nil {
		return nil, nil, err
	}
	others := maps.Clone(checked)
	maps.DeleteFunc(checked, func(name string, _ json.RawMessage) bool { return !slices.Contains(o.own, name) })
	maps.DeleteFunc(others, func(name string, _ json.RawMessage) bool { return slices.Contains(o.own, name) })
	if own, err = json.Marshal(checked); err == nil {
		added, err = json.Marshal(others)
	}
	if err != nil {
		return nil, nil, o.fault("", "the arguments of %s can't be read: %v", o.tool, err)
	}
	return own, added, nil
}
