package schemas

import (
	"encoding/json"
	"fmt"
	"iter"
	"reflect"
	"slices"
	"strings"

	"github.com/invopop/jsonschema"
)

// Arguments describes the arguments of one tool, as struct T declares them:
// names and optional ones by `json`, bounds, choices and descriptions by
// `jsonschema` tags, and the unit of a number, which JSON Schema has no word
// for, by `unit`.
type Arguments[T any] struct{ object }

// object checks the arguments of one tool by a schema.
type object struct {
	tool   string
	schema *jsonschema.Schema
	raw    json.RawMessage
	units  map[string]string // of numbers, by argument
}

// ArgumentError says which argument is wrong and what to do about it.
type ArgumentError struct {
	// Argument is its name, "" when the arguments are no object at all.
	Argument string
	// Choice is the value given where one of a fixed list was expected.
	Choice  string
	Message string
}

func (e *ArgumentError) Error() string { return e.Message }

// For describes the arguments of the named tool. It fails on a struct that
// Decode could not check: fields are strings, numbers (float64) or booleans,
// or pointers to them, or lists of strings, or Texts.
func For[T any](tool string, options ...Option) (*Arguments[T], error) {
	t := reflect.TypeFor[T]()
	a := &Arguments[T]{object{tool: tool, schema: reflectType(t), units: make(map[string]string)}}
	a.schema.AdditionalProperties = nil // Google's client fails on a boolean there, and Decode refuses unknown ones
	for name, field := range arguments(t) {
		a.units[name] = field.Tag.Get("unit")
	}
	for _, option := range options {
		option(&a.object)
	}
	for p := a.schema.Properties.Oldest(); p != nil; p = p.Next() {
		scalar := slices.Contains([]string{"string", "number", "boolean"}, p.Value.Type)
		if !scalar && !isTexts(p.Value) && !isStrings(p.Value) {
			return nil, fmt.Errorf("argument %q of %s: no check for type %q", p.Key, tool, p.Value.Type)
		}
	}
	var err error
	if a.raw, err = json.Marshal(a.schema); err != nil {
		return nil, fmt.Errorf("encoding the schema of %s: %w", tool, err)
	}
	return a, nil
}

// arguments are the fields of a struct, those of embedded ones too, by the argument that
// each takes.
func arguments(t reflect.Type) iter.Seq2[string, reflect.StructField] {
	return func(yield func(string, reflect.StructField) bool) {
		for _, field := range reflect.VisibleFields(t) {
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			if !field.Anonymous && !yield(name, field) {
				return
			}
		}
	}
}

// Schema returns the input schema as tools/list gives it.
func (a *object) Schema() json.RawMessage { return a.raw }

// Decode reads the arguments of a call; an error is an *ArgumentError.
//
// It is strict about names: an unknown argument is refused, with the near one
// suggested, and so is one given twice. It is lenient where a value can be
// read in one way only: null counts as absent, and so does "" where it could be no
// value, because models in a strict mode must fill in every argument; a number, a
// boolean or a list may come as a string that holds it ("30", "True"), which models
// often write. Refusing that would cost a turn and teach nothing.
func (a *Arguments[T]) Decode(raw json.RawMessage) (T, error) {
	checked, err := a.checked(raw)
	if err != nil {
		var none T
		return none, err
	}
	return fill[T](checked)
}

// fill puts values into the fields of a T that take them.
func fill[T any](values map[string]json.RawMessage) (T, error) {
	var none, filled T
	into := reflect.ValueOf(&filled).Elem()
	for name, field := range arguments(into.Type()) {
		value, given := values[name]
		if !given {
			continue
		}
		if err := json.Unmarshal(value, into.FieldByIndex(field.Index).Addr().Interface()); err != nil {
			return none, fault(name, "argument %q can't be read: %v", name, err)
		}
	}
	return filled, nil
}

// checked returns the arguments that are present, by name, each as its type.
func (a *object) checked(raw json.RawMessage) (map[string]json.RawMessage, error) {
	members, problem := readObject(raw)
	if problem != "" {
		return nil, fault("", "the arguments of %s must be one JSON object: %s", a.tool, problem)
	}
	checked := make(map[string]json.RawMessage, len(members))
	seen := make(map[string]bool, len(members))
	for _, m := range members {
		property, known := a.schema.Properties.Get(m.name)
		switch {
		case !known:
			return nil, a.unknown(m.name)
		case seen[m.name]:
			return nil, fault(m.name, "argument %q is given twice; give it once", m.name)
		}
		seen[m.name] = true
		if isAbsent(m.value, property) {
			continue
		}
		value, err := a.check(m, property)
		if err != nil {
			return nil, err
		}
		checked[m.name] = value
	}
	for _, name := range a.schema.Required {
		if _, ok := checked[name]; !ok {
			return nil, fault(name, "argument %q is required for %s", name, a.tool)
		}
	}
	return checked, nil
}

func fault(name, format string, args ...any) *ArgumentError {
	return &ArgumentError{Argument: name, Message: fmt.Sprintf(format, args...)}
}

// isAbsent reports whether a value says that there is none: null but where anything is a
// value, and an empty text where that could be none.
func isAbsent(value json.RawMessage, property *jsonschema.Schema) bool {
	switch string(value) {
	case "null":
		return property.Type != ""
	case `""`:
		return property.Type != "" && property.Type != "string" || property.Enum != nil && !slices.Contains(property.Enum, any(""))
	}
	return false
}

func (a *object) unknown(name string) error {
	var known []string
	for p := a.schema.Properties.Oldest(); p != nil; p = p.Next() {
		known = append(known, p.Key)
	}
	advice := "it takes " + join(known, "and")
	if len(known) == 0 {
		advice = "it takes none"
	}
	if near, ok := Nearest(name, known); ok {
		advice = fmt.Sprintf("did you mean %q?", near)
	}
	return fault(name, "unknown argument %q for %s; %s", clip(name), a.tool, advice)
}
