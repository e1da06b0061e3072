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
	if !json.Valid(raw) {
		return nil, "this is not valid JSON"
	}
	if k := kind(raw); k != "object" {
		return nil, "this is " + describe(raw)
	}
	members, err := readMembers(raw)
	if err != nil {
		return nil, err.Error()
	}
	return members, ""
}

func readMembers(raw json.RawMessage) (members []member, err error) {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	if _, err := decoder.Token(); err != nil { // the opening brace
		return nil, err
	}
	for decoder.More() {
		token, err := decoder.Token()
		if err != nil {
			return nil, err
		}
		name, ok := token.(string)
		if !ok {
			return nil, errors.New("a name is missing")
		}
		var value json.RawMessage
		if err := decoder.Decode(&value); err != nil {
			return nil, err
		}
		members = append(members, member{name, value})
	}
	if _, err := decoder.Token(); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return members, nil
}

// writeObject is the JSON object with these members, in that order.
func writeObject(members []member) json.RawMessage {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, m := range members {
		if i > 0 {
			b.WriteByte(',')
		}
		name, _ := json.Marshal(m.name) // a string always can be
		b.Write(name)
		b.WriteByte(':')
		b.Write(m.value)
	}
	b.WriteByte('}')
	return b.Bytes()
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
