package transport

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"
)

// encoding/json takes "Method" for "method" and the last of two fields of one
// name, so what one decoder sees of a message another may not. What we check
// must be what mcp-go then acts on: messages that can be read in two ways are
// refused.

var (
	errNoJSON    = errors.New("the message is not valid JSON")
	errNoMessage = errors.New("the message is not one of JSON-RPC: it needs a method, or the id of a request that it answers")
	errBadID     = errors.New("the id of a message must be a string or a number")
)

// pick returns those fields of a JSON object that have one of the names. One
// that is there twice, or in another case, is refused. The object must be valid
// JSON; what is none has no fields.
func pick(object json.RawMessage, names ...string) (map[string]json.RawMessage, error) {
	found := map[string]json.RawMessage{}
	for key, value := range fields(object) {
		for _, name := range names {
			if !strings.EqualFold(key, name) {
				continue
			}
			if _, twice := found[name]; twice || key != name {
				return nil, fmt.Errorf("the field %q of the message is there twice, or written otherwise", name)
			}
			found[name] = value
		}
	}
	return found, nil
}

// fields are the names and values of an object of valid JSON, in their order.
func fields(object json.RawMessage) iter.Seq2[string, json.RawMessage] {
	return func(yield func(string, json.RawMessage) bool) {
		d := json.NewDecoder(bytes.NewReader(object))
		if start, err := d.Token(); err != nil || start != json.Delim('{') {
			return
		}
		for d.More() {
			key, err := d.Token()
			name, isName := key.(string)
			var value json.RawMessage
			if err != nil || !isName || d.Decode(&value) != nil || !yield(name, value) {
				return // but for the last not reached: it is valid
			}
		}
	}
}
