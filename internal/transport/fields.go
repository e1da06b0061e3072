package transport

import (
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
	errNoJSON    = errors.New("the body is no JSON")
	errNoMessage = errors.New("the body is no message of JSON-RPC")
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
// Nothing is copied but the names: a value may have many megabytes.
func fields(object json.RawMessage) iter.Seq2[string, json.RawMessage] {
	return func(yield func(string, json.RawMessage) bool) {
		at := skip(object, 0, space)
		if at == len(object) || object[at] != '{' {
			return
		}
		for at = skip(object, at+1, space); object[at] != '}'; at = skip(object, at, space+",") {
			end := valueEnd(object, at)
			var key string
			if json.Unmarshal(object[at:end], &key) != nil {
				return // not reached: it is valid
			}
			at = skip(object, end, space+":")
			end = valueEnd(object, at)
			if !yield(key, object[at:end]) {
				return
			}
			at = end
		}
	}
}

const space = " \t\r\n"

// skip returns where the first byte is that is none of these.
func skip(text []byte, at int, these string) int {
	for at < len(text) && strings.IndexByte(these, text[at]) >= 0 {
		at++
	}
	return at
}

// valueEnd returns where the value that begins at a place ends.
func valueEnd(text []byte, at int) int {
	for depth := 0; at < len(text); {
		switch text[at] {
		case '"':
			at = stringEnd(text, at)
		case '{', '[':
			depth++
			at++
		case '}', ']':
			depth--
			at++
		case ',', ':':
			at++
		default:
			for at < len(text) && strings.IndexByte(space+`,:]}"`, text[at]) < 0 {
				at++
			}
		}
		if depth == 0 {
			return at
		}
		at = skip(text, at, space)
	}
	return at
}

func stringEnd(text []byte, at int) int {
	for at++; at < len(text) && text[at] != '"'; at++ {
		if text[at] == '\\' {
			at++
		}
	}
	return at + 1
}
