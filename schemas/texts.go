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
	} else if members, ok = namesAndValues(value); !ok {
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

// namesAndValues reads a list of objects that have a name and perhaps a value.
func namesAndValues(value json.RawMessage) (members []member, ok bool) {
	inner, ok := convert(value, "array")
	var items []map[string]json.RawMessage
	if !ok || json.Unmarshal(inner, &items) != nil {
		return nil, false
	}
	for _, item := range items {
		m := member{value: json.RawMessage("null")}
		for field, value := range item {
			switch field {
			case "name":
				ok = ok && json.Unmarshal(value, &m.name) == nil
			case "value":
				m.value = value
			default:
				ok = false
			}
		}
		members, ok = append(members, m), ok && m.name != ""
	}
	return members, ok
}
