package plugins

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// validate holds the tree against document, by its tags, and says in plain words, with
// lines, what does not fit.
func (t tree) validate() []fault {
	return t.fit("", t.value, reflect.TypeFor[document](), nil)
}

// fit holds a value against a type of document's and the rules in its field's tag.
func (t tree) fit(path string, value any, want reflect.Type, rules url.Values) []fault {
	say := func(format string, args ...any) []fault {
		return []fault{{t.lines[path], clip(cmp.Or(path, "it")) + " " + fmt.Sprintf(format, args...)}}
	}
	if want.Kind() == reflect.Pointer {
		want = want.Elem()
	}
	var faults []fault
	var fits bool
	switch v := value.(type) {
	case map[string]any:
		switch fits = want.Kind() == reflect.Struct || want.Kind() == reflect.Map; want.Kind() {
		case reflect.Struct:
			return t.fitStruct(path, v, want)
		case reflect.Map:
			for _, key := range slices.Sorted(maps.Keys(v)) {
				faults = append(faults, t.fit(under(path, key), v[key], want.Elem(), nil)...)
			}
		}
	case []any:
		if fits = want.Kind() == reflect.Slice; fits {
			faults = bounds(len(v), "items", rules, "minItems", "maxItems", say)
			for i, item := range v {
				faults = append(faults, t.fit(at(path, i), item, want.Elem(), nil)...)
			}
		}
	case string:
		if fits = want.Kind() == reflect.String; fits {
			faults = bounds(utf8.RuneCountInString(v), "characters", rules, "minLength", "maxLength", say)
			if words := rules["enum"]; len(words) > 0 && !slices.Contains(words, v) {
				faults = say("is %s; it must be one of %s", shown(path, value), listed(words, "or"))
			}
		}
	case bool:
		fits = want.Kind() == reflect.Bool
	}
	if !fits && want.Kind() != reflect.Interface {
		return say("is %s; it must be %s", shown(path, value), words[want.Kind()])
	}
	return faults
}

// fitStruct holds a mapping against a struct. A key that nothing is known of would be a
// setting that is silently off.
func (t tree) fitStruct(path string, value map[string]any, want reflect.Type) []fault {
	var faults []fault
	var known, missing []string
	for i := range want.NumField() {
		field := want.Field(i)
		key, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		if key == "" {
			continue
		}
		known = append(known, key)
		rules, err := url.ParseQuery(strings.ReplaceAll(field.Tag.Get("jsonschema"), ",", "&"))
		if err != nil {
			panic(err) // a mistake in a tag, which TestFaults would find
		}
		if one, there := value[key]; there {
			faults = append(faults, t.fit(under(path, key), one, field.Type, rules)...)
		} else if options == "" {
			missing = append(missing, key)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(value)) {
		if inner := under(path, key); !slices.Contains(known, key) {
			faults = append(faults, faultf(t.lines[inner], "%s is not known; the keys here are %s", clip(inner), listed(known, "and")))
		}
	}
	switch {
	case len(missing) > 0 && path == "":
		faults = append(faults, fault{1, "it has no " + listed(missing, "and")})
	case len(missing) > 0:
		faults = append(faults, faultf(t.lines[path], "%s has no %s", clip(path), listed(missing, "and")))
	}
	return faults
}

// bounds holds a number of items or characters against the rules of these names.
func bounds(n int, things string, rules url.Values, least, most string, say func(string, ...any) []fault) []fault {
	if least := rules.Get(least); least != "" && n == 0 {
		return say("is empty")
	}
	if most, err := strconv.Atoi(rules.Get(most)); err == nil && n > most {
		return say("has %d %s; at most %d are taken", n, things, most)
	}
	return nil
}

// words names types as an author of YAML would.
var words = map[reflect.Kind]string{
	reflect.Struct: "a mapping", reflect.Map: "a mapping", reflect.Slice: "a list", reflect.String: "a text", reflect.Bool: "true or false",
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

// listed writes "a, b and c".
func listed(words []string, last string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	n := len(words) - 1
	return strings.Join(words[:n], ", ") + " " + last + " " + words[n]
}
