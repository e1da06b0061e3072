package transport

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"slices"
)

// mcp-go decodes an id and encodes it again, which changes numbers above 2^53, those
// with a fraction or an exponent, and odd strings. A request with such an id is given
// another one on its way to mcp-go, and its own in everything that comes back.

// alias is an id in the place of another one.
type alias struct{ own, other []byte }

// aliased returns the message with an id that mcp-go gives back as it is; nil when it
// has one.
func aliased(m message, body []byte) (with []byte, a *alias) {
	var decoded any
	if json.Unmarshal(m.ID, &decoded) == nil {
		if again, err := json.Marshal(decoded); err == nil && bytes.Equal(again, m.ID) {
			return body, nil
		}
	}
	a = &alias{own: m.ID, other: []byte(`"` + rand.Text() + `"`)}
	var parts [][]byte
	for key, value := range fields(body) {
		if key == "id" {
			value = a.other
		}
		name, err := json.Marshal(key)
		if err != nil { // a string always marshals
			panic(err)
		}
		parts = append(parts, slices.Concat(name, []byte(":"), value))
	}
	return slices.Concat([]byte("{"), bytes.Join(parts, []byte(",")), []byte("}")), a
}

// restore puts the id back. The other one is random, so nothing else is it.
func (a *alias) restore(text []byte) []byte {
	if a == nil {
		return text
	}
	return bytes.ReplaceAll(text, a.other, a.own)
}
