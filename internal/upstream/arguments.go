package upstream

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"understudy/schemas"
	"understudy/sessions"
)

const (
	argumentsLimit = 4 << 20
	// checkLimit is how large a schema may be with all that it refers to: what is larger,
	// or refers to itself, might take for ever to check. Its server checks it.
	checkLimit = 10_000
	// exponentLimit is that of numbers: the check works with all their digits.
	exponentLimit = 400
)

// checkArguments holds arguments against the schema of their tool, and returns them.
func (t *tool) checkArguments(server string, raw json.RawMessage) (json.RawMessage, error) {
	if isNull(raw) {
		raw = json.RawMessage("{}")
	}
	invalid := func(format string, args ...any) (json.RawMessage, error) {
		return nil, refuse(sessions.RefusedInvalid, "%s.%s: %s", server, t.name, fmt.Sprintf(format, args...))
	}
	if len(raw) > argumentsLimit {
		return nil, refuse(sessions.RefusedLimit, "%s.%s: the arguments are longer than 4 MiB; pass less", server, t.name)
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	given, isObject := value.(map[string]any)
	if err != nil || !isObject {
		return invalid("the arguments must be a JSON object")
	}
	t.compile.Do(t.prepare)
	if t.refusesOtherMembers {
		for _, name := range sortedKeys(given) {
			if slices.Contains(t.properties, name) {
				continue
			}
			if near, ok := schemas.Nearest(name, t.properties); ok {
				return invalid("there is no argument %q; did you mean %q?", clip(name, 60), near)
			}
			return invalid("there is no argument %q; it takes %s", clip(name, 60), listed(t.properties))
		}
	}
	if t.schema == nil || !saneNumbers(value) {
		return raw, nil
	}
	var wrong *jsonschema.ValidationError
	if err := t.schema.Validate(value); errors.As(err, &wrong) {
		return invalid("%s", explain(wrong))
	}
	return raw, nil
}

func listed(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	const shown = 20
	if len(names) > shown {
		return strings.Join(names[:shown], ", ") + " and more"
	}
	return strings.Join(names, ", ")
}

// prepare compiles the schema of a tool if it can be checked in bounded time.
func (t *tool) prepare() {
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(t.input))
	root, ok := document.(map[string]any)
	if err != nil || !ok {
		return
	}
	properties, _ := root["properties"].(map[string]any)
	t.properties = sortedKeys(properties)
	t.refusesOtherMembers = isClosed(root)
	left := checkLimit
	if !saneNumbers(document) || !isBounded(root, document, &left, 0) {
		return
	}
	compiler := jsonschema.NewCompiler()
	compiler.UseLoader(noLoader{})
	compiler.UseRegexpEngine(anyRegexp)
	const here = "mem:///tool.json"
	if compiler.AddResource(here, document) != nil {
		return
	}
	t.schema, _ = compiler.Compile(here) // nil with an error
}

// isClosed reports whether a schema means no arguments but its properties: it says so,
// or says nothing of others, as many servers' do that have no use for them.
func isClosed(root map[string]any) bool {
	if others, said := root["additionalProperties"]; said {
		return others == false && root["patternProperties"] == nil
	}
	for _, key := range []string{"patternProperties", "unevaluatedProperties", "allOf", "anyOf", "oneOf", "$ref", "$dynamicRef", "if", "dependentSchemas"} {
		if root[key] != nil {
			return false
		}
	}
	properties, _ := root["properties"].(map[string]any)
	return len(properties) > 0
}

// isBounded counts a schema with all that it refers to, again for each reference.
func isBounded(root map[string]any, part any, left *int, depth int) bool {
	if *left--; *left < 0 || depth > 2*schemaDepth {
		return false
	}
	switch part := part.(type) {
	case []any:
		return !slices.ContainsFunc(part, func(one any) bool { return !isBounded(root, one, left, depth+1) })
	case map[string]any:
		for key, one := range part {
			reference, isText := one.(string)
			if key == "$dynamicRef" || key == "$recursiveRef" {
				return false
			}
			if key == "$ref" && isText {
				target, ok := resolve(root, reference)
				if !ok || !isBounded(root, target, left, depth+1) {
					return false
				}
				continue
			}
			if !isBounded(root, one, left, depth+1) {
				return false
			}
		}
	}
	return true
}

// resolve follows a reference within the schema; others are not followed.
func resolve(root map[string]any, reference string) (any, bool) {
	path, ok := strings.CutPrefix(reference, "#")
	if !ok || path != "" && path[0] != '/' {
		return nil, false
	}
	var at any = root
	for _, step := range strings.Split(path, "/")[1:] {
		object, isObject := at.(map[string]any)
		if at, ok = object[strings.NewReplacer("~1", "/", "~0", "~").Replace(step)]; !isObject || !ok {
			return nil, false
		}
	}
	return at, true
}

// saneNumbers reports whether all numbers of a value have few digits when written out.
func saneNumbers(value any) bool {
	switch value := value.(type) {
	case json.Number:
		_, exponent, found := strings.Cut(strings.ToLower(value.String()), "e")
		size, err := strconv.Atoi(exponent)
		return len(value) <= 1000 && (!found || err == nil && size >= -exponentLimit && size <= exponentLimit)
	case []any:
		return !slices.ContainsFunc(value, func(one any) bool { return !saneNumbers(one) })
	case map[string]any:
		for _, one := range value {
			if !saneNumbers(one) {
				return false
			}
		}
	}
	return true
}

// noLoader loads nothing: a schema may not have this server fetch files or addresses.
type noLoader struct{}

func (noLoader) Load(string) (any, error) { return nil, errors.New("schemas elsewhere are not loaded") }

// anyRegexp takes the patterns that only JavaScript knows for such as match all.
func anyRegexp(pattern string) (jsonschema.Regexp, error) {
	if compiled, err := regexp.Compile(pattern); err == nil {
		return compiled, nil
	}
	return everything(pattern), nil
}

type everything string

func (e everything) MatchString(string) bool { return true }
func (e everything) String() string          { return string(e) }

// explain says the first fault that is not only that some other is there.
func explain(wrong *jsonschema.ValidationError) string {
	for len(wrong.Causes) > 0 {
		wrong = wrong.Causes[0]
	}
	what := wrong.ErrorKind.LocalizedString(message.NewPrinter(language.English))
	if len(wrong.InstanceLocation) == 0 {
		return clip(what, 500)
	}
	return fmt.Sprintf("argument %q: %s", clip(strings.Join(wrong.InstanceLocation, "."), 200), clip(what, 500))
}
