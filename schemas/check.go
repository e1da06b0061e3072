package schemas

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/invopop/jsonschema"
)

// check returns the value as its property's type, within bounds and choices.
func (a *Arguments[T]) check(m member) (json.RawMessage, error) {
	property, _ := a.schema.Properties.Get(m.name)
	value, ok := convert(m.value, property.Type)
	if !ok {
		return nil, a.fault(m.name, "argument %q must be %s, not %s", m.name, a.expected(m.name, property), describe(m.value))
	}
	switch property.Type {
	case "number":
		return value, a.checkNumber(m.name, value, property)
	case "string":
		return value, a.checkChoice(m.name, value, property)
	}
	return value, nil
}

// convert returns the value if it is of the type, or a string that can be
// read as one in one way only.
func convert(value json.RawMessage, to string) (json.RawMessage, bool) {
	if kind(value) == to {
		return value, true
	}
	var text string
	if to == "string" || json.Unmarshal(value, &text) != nil {
		return nil, false
	}
	text = strings.TrimSpace(text)
	if to == "boolean" {
		text = strings.ToLower(text)
	}
	inner := json.RawMessage(text)
	return inner, json.Valid(inner) && kind(inner) == to
}

func (a *Arguments[T]) checkNumber(name string, value json.RawMessage, property *jsonschema.Schema) error {
	number, err := strconv.ParseFloat(string(value), 64)
	if err != nil {
		return a.fault(name, "argument %q is out of range: %s", name, clip(string(value)))
	}
	bounds := []struct {
		bound  json.Number
		broken func(bound float64) bool
		words  string
	}{
		{property.Minimum, func(b float64) bool { return number < b }, "at least"},
		{property.ExclusiveMinimum, func(b float64) bool { return number <= b }, "more than"},
		{property.Maximum, func(b float64) bool { return number > b }, "at most"},
		{property.ExclusiveMaximum, func(b float64) bool { return number >= b }, "less than"},
	}
	for _, b := range bounds {
		if limit, err := b.bound.Float64(); err == nil && b.broken(limit) {
			allowed := strings.TrimSpace(fmt.Sprintf("%s %s %s", b.words, b.bound, a.units[name]))
			return a.fault(name, "argument %q must be %s, not %s", name, allowed, clip(string(value)))
		}
	}
	return nil
}

func (a *Arguments[T]) checkChoice(name string, value json.RawMessage, property *jsonschema.Schema) error {
	var text string
	if err := json.Unmarshal(value, &text); err != nil {
		return a.fault(name, "argument %q can't be read: %v", name, err)
	}
	if len(property.Enum) == 0 || slices.Contains(property.Enum, any(text)) {
		return nil
	}
	var choices []string
	for _, choice := range property.Enum {
		choices = append(choices, fmt.Sprint(choice))
	}
	fault := a.fault(name, "argument %q must be %s, not %q", name, oneOf(choices), clip(text))
	if near, ok := nearest(text, choices); ok {
		fault.Message += fmt.Sprintf("; did you mean %q?", near)
	}
	fault.Choice = text
	return fault
}

// expected says in words what an argument must be.
func (a *Arguments[T]) expected(name string, property *jsonschema.Schema) string {
	switch unit := a.units[name]; {
	case property.Type == "boolean":
		return "true or false"
	case property.Type == "object":
		return "an object"
	case property.Type == "number" && unit != "":
		return "a number of " + unit
	default:
		return "a " + property.Type
	}
}

// describe says in words what a value is, so that a reader recognizes it.
func describe(value json.RawMessage) string {
	switch k := kind(value); k {
	case "object", "array":
		return "an " + k
	case "string":
		var text string
		if json.Unmarshal(value, &text) == nil && len(text) <= clipLength {
			return fmt.Sprintf("the string %q", text)
		}
		return "a string"
	default:
		return fmt.Sprintf("the %s %s", k, clip(string(value)))
	}
}
