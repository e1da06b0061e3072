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

// fields are the names and values of an object of valid JSON, in their order; parts of
// it, not copies. (json.Decoder, which has no such view, takes longer for it than
// mcp-go for the whole call.)
func fields(object json.RawMessage) iter.Seq2[string, json.RawMessage] {
	return func(yield func(string, json.RawMessage) bool) {
		at := skip(object, 0, space)
		if at == len(object) || object[at] != '{' {
			return
		}
		for at = skip(object, at+1, space); at < len(object) && object[at] == '"'; at = skip(object, at, space+",") {
			end := endOfValue(object, at)
			name, ok := text(object[at:end])
			at = skip(object, end, space+":")
			end = endOfValue(object, at)
			if !ok || !yield(name, object[at:end]) {
				return
			}
			at = end
		}
	}
}

const space = " \t\r\n"

// skip returns where the bytes end that are some of those.
func skip(b []byte, at int, some string) int {
	for at < len(b) && strings.IndexByte(some, b[at]) >= 0 {
		at++
	}
	return at
}

// endOfValue returns where the value of JSON ends that begins there.
func endOfValue(b []byte, at int) int {
	for depth := 0; at < len(b); at++ {
		switch b[at] {
		case '"':
			for at++; at < len(b) && b[at] != '"'; at++ {
				if b[at] == '\\' {
					at++
				}
			}
		case '{', '[':
			depth++
			continue
		case '}', ']':
			depth--
		default:
			if depth == 0 {
				if end := bytes.IndexAny(b[at:], space+",:}]"); end >= 0 {
					return at + end
				}
				return len(b)
			}
			continue
		}
		if depth == 0 {
			return min(at+1, len(b))
		}
	}
	return len(b)
}

// text is what a string of JSON says.
func text(quoted []byte) (string, bool) {
	if bytes.IndexByte(quoted, '\\') < 0 {
		return string(quoted[1 : len(quoted)-1]), true
	}
	var said string
	err := json.Unmarshal(quoted, &said)
	return said, err == nil
}
