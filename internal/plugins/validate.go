package plugins

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// compiled is the schema as the validator wants it. It fails on a mistake in the
// tags of document only, which TestSchema would find.
var compiled = sync.OnceValue(func() *jsonschema.Schema {
	raw, err := Schema()
	if err != nil {
		panic(err)
	}
	object, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		panic(err)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("plugin.json", object); err != nil {
		panic(err)
	}
	return compiler.MustCompile("plugin.json")
})

// validate holds the tree against the schema and says in plain words, with
// lines, what does not fit.
func (t tree) validate() []fault {
	err := compiled().Validate(t.value)
	var wrong *jsonschema.ValidationError
	if err == nil || !errors.As(err, &wrong) {
		return nil
	}
	faults := t.explain(wrong)
	slices.SortStableFunc(faults, func(a, b fault) int { return cmp.Or(a.line-b.line, strings.Compare(a.text, b.text)) })
	return faults
}

func (t tree) explain(wrong *jsonschema.ValidationError) []fault {
	if len(wrong.Causes) > 0 {
		var all []fault
		for _, cause := range wrong.Causes {
			all = append(all, t.explain(cause)...)
		}
		return all
	}
	path, value := t.locate(wrong.InstanceLocation)
	say := func(format string, args ...any) []fault {
		return []fault{{t.lines[path], clip(cmp.Or(path, "it")) + " " + fmt.Sprintf(format, args...)}}
	}
	switch k := wrong.ErrorKind.(type) {
	case *kind.AdditionalProperties:
		return t.unknown(path, k.Properties)
	case *kind.Required:
		if path == "" {
			return []fault{{1, "it has no " + listed(k.Missing, "and")}}
		}
		return say("has no %s", listed(k.Missing, "and"))
	case *kind.Enum:
		return say("is %s; it must be one of %s", shown(path, value), listed(literals(k.Want), "or"))
	case *kind.Type:
		return say("is %s; it must be %s", shown(path, value), words(k.Want))
	case *kind.MinLength, *kind.MinItems:
		return say("is empty")
	case *kind.MaxLength:
		return say("has %d characters; at most %d are taken", k.Got, k.Want)
	case *kind.MaxItems:
		return say("has %d items; at most %d are taken", k.Got, k.Want)
	default:
		return say("does not fit schemas/plugin.json: %s", strings.Join(k.KeywordPath(), "/"))
	}
}

// locate returns the path of a place in the tree, and what is there.
func (t tree) locate(location []string) (path string, value any) {
	value = t.value
	for _, token := range location {
		switch v := value.(type) {
		case map[string]any:
			path, value = under(path, token), v[token]
		case []any:
			i, err := strconv.Atoi(token)
			if err != nil || i >= len(v) {
				return path, nil
			}
			path, value = at(path, i), v[i]
		}
	}
	return path, value
}

// unknown is about keys that nothing is known of: one that is silently ignored
// would be a setting that is silently off.
func (t tree) unknown(path string, keys []string) []fault {
	known := knownKeys(path)
	faults := make([]fault, 0, len(keys))
	for _, key := range keys {
		inner := under(path, key)
		faults = append(faults, faultf(t.lines[inner], "%s is not known; the keys here are %s", clip(inner), listed(known, "and")))
	}
	return faults
}

// knownKeys lists the keys of the mapping at path, in the order of the struct.
func knownKeys(path string) []string {
	switch {
	case path == "":
		return jsonNames(document{})
	case strings.HasPrefix(path, "parameters["):
		return jsonNames(parameter{})
	case strings.HasPrefix(path, "returns["):
		return jsonNames(returned{})
	case strings.HasPrefix(path, "configuration."):
		return jsonNames(setting{})
	default:
		return jsonNames(annotations{})
	}
}

// words names JSON's types as an author of YAML would.
func words(types []string) string {
	names := map[string]string{"object": "a mapping", "array": "a list", "string": "a text", "boolean": "true or false", "number": "a number", "integer": "a whole number", "null": "null"}
	var all []string
	for _, t := range types {
		all = append(all, cmp.Or(names[t], t))
	}
	return listed(all, "or")
}

// private reports whether what is at path may be a secret of the operator's: what
// is said of it is told to agents.
func private(path string) bool {
	return (path == "configuration" || strings.HasPrefix(path, "configuration.")) && !strings.HasSuffix(path, ".type")
}

// shown describes the value at path, by its kind alone where it is private.
func shown(path string, value any) string {
	if !private(path) {
		return pythonOr(value)
	}
	switch value.(type) {
	case string:
		return "a text"
	case json.Number:
		return "a number"
	case bool:
		return "true or false"
	}
	return pythonOr(value)
}

// pythonOr describes a value: short ones as they are.
func pythonOr(value any) string {
	switch v := value.(type) {
	case map[string]any:
		return "a mapping"
	case []any:
		return "a list"
	case nil:
		return "empty"
	case string:
		return strconv.Quote(clip(v))
	default:
		return clip(fmt.Sprint(v))
	}
}

func literals(values []any) []string {
	all := make([]string, len(values))
	for i, v := range values {
		all[i] = fmt.Sprint(v)
	}
	return all
}

// listed writes "a, b and c".
func listed(words []string, last string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	n := len(words) - 1
	return strings.Join(words[:n], ", ") + " " + last + " " + words[n]
}
