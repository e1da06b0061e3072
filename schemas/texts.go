package schemas

import (
	"encoding/json"

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

// isTexts reports whether a property is one of Texts.
func isTexts(property *jsonschema.Schema) bool {
	return property.Type == "array" && property.Items != nil && property.Items.Type == "object"
}

// textsByName returns the value of such an argument as an object of texts by name.
func textsByName(argument string, value json.RawMessage) (json.RawMessage, error) {
	var members []member
	if inner, ok := convert(value, "object"); ok {
		members, _ = readMembers(inner) // which is valid
	} else if inner, ok = convert(value, "array"); ok {
		var items []json.RawMessage
		_ = json.Unmarshal(inner, &items) // which is valid too
		for i, item := range items {
			m, wrong := nameAndValue(item)
			if wrong != "" {
				return nil, fault(argument, "argument %q must hold objects with name and value; item %d %s", argument, i+1, wrong)
			}
			members = append(members, m)
		}
	} else {
		return nil, fault(argument, "argument %q must be a list of objects with name and value, not %s", argument, describe(value))
	}
	texts := Texts{}
	for _, m := range members {
		var text *string
		if json.Unmarshal(m.value, &text) != nil {
			return nil, fault(argument, "%s[%q] must be a string, or null to remove it, not %s; put other values into a string, as JSON say", argument, clip(m.name), clip(string(m.value)))
		}
		if _, twice := texts[m.name]; twice {
			return nil, fault(argument, "%s[%q] is given twice; give it once", argument, clip(m.name))
		}
		texts[m.name] = text
	}
	return json.Marshal(texts)
}

// nameAndValue reads an object that has a name and perhaps a value, or says what is wrong
// with it.
func nameAndValue(item json.RawMessage) (m member, wrong string) {
	fields, err := readMembers(item)
	if err != nil {
		return m, "is " + describe(item)
	}
	m.value = json.RawMessage("null")
	for _, field := range fields {
		switch {
		case field.name == "name" && json.Unmarshal(field.value, &m.name) == nil:
		case field.name == "value":
			m.value = field.value
		default:
			return m, "has " + clip(field.name) + " " + describe(field.value)
		}
	}
	if m.name == "" {
		return m, "has no name"
	}
	return m, ""
}
