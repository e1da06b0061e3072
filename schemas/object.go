package schemas

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
)

// member is one name and value of a JSON object, in the order given.
type member struct {
	name  string
	value json.RawMessage
}

// readObject returns the members of a JSON object, repeated names included.
// No bytes at all and null count as an empty object: clients leave out the
// arguments of a call that needs none. The problem is "" when there is none.
func readObject(raw json.RawMessage) (members []member, problem string) {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || string(raw) == "null" {
		return nil, ""
	}
	members, err := readMembers(raw)
	switch {
	case err == nil:
		return members, ""
	case json.Valid(raw):
		return nil, "this is " + describe(raw)
	}
	return nil, "this is not valid JSON"
}

// readMembers reads an object once, from its first brace to its last.
func readMembers(raw json.RawMessage) (members []member, err error) {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	if token, err := decoder.Token(); err != nil || token != json.Delim('{') {
		return nil, errors.New("no object")
	}
	for decoder.More() {
		var m member
		token, err := decoder.Token()
		if err != nil {
			return nil, err
		}
		m.name, _ = token.(string) // the decoder takes nothing else for a name
		if err := decoder.Decode(&m.value); err != nil {
			return nil, err
		}
		members = append(members, m)
	}
	if _, err := decoder.Token(); err != nil { // the closing brace
		return nil, err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("something comes after it")
	}
	return members, nil
}

// kind returns JSON Schema's name for the type of a valid JSON value.
func kind(value json.RawMessage) string {
	if len(value) == 0 {
		return ""
	}
	switch value[0] {
	case '{':
		return "object"
	case '[':
		return "array"
	case '"':
		return "string"
	case 't', 'f':
		return "boolean"
	case 'n':
		return "null"
	default:
		return "number"
	}
}
