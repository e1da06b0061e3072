package plugins

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// Deeper YAML is refused: what it is turned into is read by Python too.
const mostDeep = 50

// tree is a YAML mapping as JSON would have it, which knows its lines.
type tree struct {
	value map[string]any // nil, bool, json.Number, string, []any, map[string]any
	lines map[string]int // by path, as pathOf writes it; those of keys with a key's path
}

// fault is what is wrong in a file, and on which line; 0 is of no line.
type fault struct {
	line int
	text string
}

func faultf(line int, format string, args ...any) fault {
	return fault{line, fmt.Sprintf(format, args...)}
}

// parseTree reads a YAML file with one mapping. What JSON has no word for is a
// fault: anchors, tags, keys that are no text, numbers that are none.
func parseTree(text []byte) (tree, []fault) {
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	var document, second yaml.Node
	switch err := decoder.Decode(&document); {
	case errors.Is(err, io.EOF):
		return tree{}, []fault{{1, "it is empty; it must be a mapping with name and description"}}
	case err != nil:
		return tree{}, []fault{syntaxFault(err)}
	}
	switch err := decoder.Decode(&second); {
	case err == nil:
		return tree{}, []fault{{second.Line, "it must hold one YAML document"}}
	case !errors.Is(err, io.EOF):
		return tree{}, []fault{syntaxFault(err)}
	}
	root := document.Content[0]
	if root.Kind != yaml.MappingNode {
		return tree{}, []fault{{root.Line, "it must be a mapping with name and description, not " + nodeKind(root)}}
	}
	r := treeReader{lines: map[string]int{}}
	value, _ := r.read(root, "", 0).(map[string]any)
	return tree{value, r.lines}, r.faults
}

// syntaxFault takes the line out of an error of the YAML library.
func syntaxFault(err error) fault {
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	if strings.Contains(text, "unknown anchor") { // it names what may be a password
		return fault{1, "it is no YAML: there is an alias of nothing; put texts that begin with * in quotes"}
	}
	if rest, found := strings.CutPrefix(text, "line "); found {
		if number, message, found := strings.Cut(rest, ": "); found {
			if line, err := strconv.Atoi(number); err == nil {
				return fault{line, "it is no YAML: " + message}
			}
		}
	}
	return fault{1, "it is no YAML: " + text}
}

type treeReader struct {
	lines  map[string]int
	faults []fault
}

func (r *treeReader) fault(node *yaml.Node, format string, args ...any) {
	r.faults = append(r.faults, faultf(node.Line, format, args...))
}

// scalarTags are those of what plugins may hold. Values without a tag have them too.
var scalarTags = []string{"!!str", "!!int", "!!float", "!!bool", "!!null", "!!timestamp"}

func (r *treeReader) read(node *yaml.Node, path string, depth int) any {
	r.lines[path] = node.Line
	switch {
	case depth > mostDeep:
		r.fault(node, "it is nested more than %d deep", mostDeep)
	case node.Anchor != "" || node.Kind == yaml.AliasNode:
		r.fault(node, "anchors and aliases are not taken; write the value again")
	case node.Kind == yaml.MappingNode && node.ShortTag() == "!!map":
		return r.mapping(node, path, depth)
	case node.Kind == yaml.SequenceNode && node.ShortTag() == "!!seq":
		list := make([]any, len(node.Content))
		for i, item := range node.Content {
			list[i] = r.read(item, at(path, i), depth+1)
		}
		return list
	case node.Kind == yaml.ScalarNode && slices.Contains(scalarTags, node.ShortTag()):
		return r.scalar(node, path)
	default: // it may be a secret that begins with !
		r.fault(node, "%sits tag is not taken; put a text that begins with ! in quotes", of(path))
	}
	return nil
}

func (r *treeReader) mapping(node *yaml.Node, path string, depth int) any {
	object := make(map[string]any, len(node.Content)/2)
	for i := 0; i+1 < len(node.Content); i += 2 {
		key, value := node.Content[i], node.Content[i+1]
		if key.Kind != yaml.ScalarNode || key.ShortTag() != "!!str" || key.Anchor != "" {
			r.fault(key, "%sa key must be a text; put it in quotes", of(path))
			continue
		}
		inner := under(path, key.Value)
		if _, twice := object[key.Value]; twice {
			r.fault(key, "%s is there twice; the first is on line %d", clip(inner), r.lines[inner])
			continue
		}
		object[key.Value] = r.read(value, inner, depth+1)
		r.lines[inner] = key.Line
	}
	return object
}

func (r *treeReader) scalar(node *yaml.Node, path string) any {
	var value any
	if err := node.Decode(&value); err != nil { // whose text may be a secret
		r.fault(node, "%sit can't be read", of(path))
		return nil
	}
	switch v := value.(type) {
	case int, int64, uint64:
		return json.Number(fmt.Sprint(v))
	case float64:
		if math.IsInf(v, 0) || math.IsNaN(v) {
			r.fault(node, "%sit is no number that JSON has", of(path))
			return nil
		}
		return decimal(v)
	case time.Time: // a date is for Python to read
		return node.Value
	}
	return value
}

// decimal writes a number so that it stays a float in Python: 3.0, not 3.
func decimal(f float64) json.Number {
	text := strconv.FormatFloat(f, 'g', -1, 64)
	if !strings.ContainsAny(text, ".e") {
		text += ".0"
	}
	return json.Number(text)
}

// under and at write paths as an author would say them: parameters[1].type.
func under(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

func at(path string, index int) string { return fmt.Sprintf("%s[%d]", path, index) }

// of begins a message about what is at path.
func of(path string) string {
	if path == "" {
		return ""
	}
	return clip(path) + ": "
}

func nodeKind(node *yaml.Node) string {
	switch node.Kind {
	case yaml.SequenceNode:
		return "a list"
	case yaml.ScalarNode:
		return "one value"
	default:
		return "an alias"
	}
}

// clip shortens a text of a stranger's that an error repeats.
func clip(text string) string { return clipTo(text, 80) }
