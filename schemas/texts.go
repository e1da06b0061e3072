package schemas

import (
	"encoding/json"
	"reflect"

	"github.com/invopop/jsonschema"
)

// Texts are texts by name, nil for one that is to go. They are advertised as a list of
// objects with name and value, because neither Gemini's schemas nor OpenAI's strict mode
// have an object whose names are free; an object of texts by name is taken as well.
type Texts map[string]*string

// JSONSchema describes the list.
func (Texts) JSONSchema() *jsonschema.Schema {
	properties := jsonschema.NewProperties()
	properties.Set("name", &jsonschema.Schema{Type: "string"})
	properties.Set("value", &jsonschema.Schema{Type: "string"})
	return &jsonschema.Schema{Type: "array", Items: &jsonschema.Schema{
		Type: "object", Properties: properties, Required: []string{"name"},
	}}
}

var textsType = reflect.TypeFor[Texts]()

// textsByName returns the value of such an argument as an object of texts by name.
func (a *object) textsByName(name string, value json.RawMessage) (json.RawMessage, error) {
	if inner, ok := convert(value, "object"); ok {
		members, err := readMembers(inner)
		if err != nil {
			return nil, a.fault(name, "argument %q can't be read: %v", name, err)
		}
		return a.checkMembers(name, members)
	}
	inner, ok := convert(value, "array")
	if !ok {
		return nil, a.fault(name, "argument %q must be a list of objects with name and value, not %s", name, describe(value))
	}
	var items []json.RawMessage
	if err := json.Unmarshal(inner, &items); err != nil {
		return nil, a.fault(name, "argument %q can't be read: %v", name, err)
	}
	members := make([]member, 0, len(items))
	for i, item := range items {
		one, err := a.nameAndValue(name, i, item)
		if err != nil {
			return nil, err
		}
		members = append(members, one)
	}
	return a.checkMembers(name, members)
}

// nameAndValue reads the i-th item of a list of names and values.
func (a *object) nameAndValue(argument string, i int, item json.RawMessage) (one member, err error) {
	wrong := a.fault(argument, "argument %q must hold objects with name and value; item %d is %s", argument, i+1, describe(item))
	if kind(item) != "object" {
		return one, wrong
	}
	fields, err := readMembers(item)
	if err != nil {
		return one, wrong
	}
	one.value = json.RawMessage("null")
	for _, field := range fields {
		switch {
		case field.name == "name" && json.Unmarshal(field.value, &one.name) == nil:
		case field.name == "value":
			one.value = field.value
		default:
			return one, a.fault(argument, "argument %q must hold objects with name and value; item %d has %s %s", argument, i+1, clip(field.name), describe(field.value))
		}
	}
	if one.name == "" {
		return one, a.fault(argument, "argument %q must hold objects with name and value; item %d has no name", argument, i+1)
	}
	return one, nil
}

// checkMembers refuses what is no text, and names that are given twice.
func (a *object) checkMembers(argument string, members []member) (json.RawMessage, error) {
	seen := map[string]bool{}
	for _, m := range members {
		if k := kind(m.value); k != "string" && k != "null" {
			return nil, a.fault(argument, "%s[%q] must be a string, or null to remove it, not %s; put other values into a string, as JSON say", argument, clip(m.name), clip(string(m.value)))
		}
		if seen[m.name] {
			return nil, a.fault(argument, "%s[%q] is given twice; give it once", argument, clip(m.name))
		}
		seen[m.name] = true
	}
	return writeObject(members), nil
}
