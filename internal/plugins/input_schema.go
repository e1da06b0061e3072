package plugins

import (
	"bytes"
	"encoding/json"
	"strings"
)

// jsonTypes are JSON's words for the types; any has none.
var jsonTypes = map[string]string{
	"str": "string", "int": "integer", "float": "number", "bool": "boolean", "list": "array", "dict": "object",
}

// property is the schema of one parameter. Its fields are in the order in which
// a model reads them best.
type property struct {
	Type        string          `json:"type,omitempty"`
	Description string          `json:"description,omitempty"`
	Enum        []any           `json:"enum,omitempty"`
	Default     json.RawMessage `json:"default,omitempty"`
	Items       *struct{}       `json:"items,omitempty"`
}

// inputSchema is the schema of the arguments as a tool's: an object whose
// properties are in the order of the parameters.
func inputSchema(d document) json.RawMessage {
	required := []string{}
	var properties bytes.Buffer
	for i, p := range d.Parameters {
		if p.required() {
			required = append(required, p.Name)
		}
		one := property{Type: jsonTypes[p.Type], Description: oneLine(p.Description), Enum: p.Enum}
		if p.Default != nil {
			one.Default = encoded(p.Default)
		}
		if p.Type == "list" { // some clients refuse an array without items
			one.Items = &struct{}{}
		}
		if i > 0 {
			properties.WriteByte(',')
		}
		properties.Write(encoded(p.Name))
		properties.WriteByte(':')
		properties.Write(encoded(one))
	}
	return json.RawMessage(`{"type":"object","properties":{` + properties.String() + `},"required":` +
		string(encoded(required)) + `}`)
}

// toolDescription is the description with what is returned: the schema tells of the
// parameters, and examples are calls as code makes them.
func toolDescription(d document) string {
	text := strings.TrimSpace(d.Description)
	for i, r := range d.Returns {
		if i == 0 {
			text += "\n\nReturns"
		} else {
			text += " and"
		}
		text += " " + r.Name + " (" + r.Type + ")"
		if described := strings.TrimRight(oneLine(r.Description), "."); described != "" {
			text += ": " + described + ";"
		}
	}
	if len(d.Returns) > 0 {
		text = strings.TrimRight(text, ";") + "."
	}
	return text
}

// encoded is v as JSON. What a plugin's file holds was JSON before.
func encoded(v any) json.RawMessage {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err) // no value of a tree is anything else
	}
	return raw
}
