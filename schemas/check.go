package schemas

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/invopop/jsonschema"
)

// check returns the value as its property's type, within bounds and choices.
func (a *object) check(m member, property *jsonschema.Schema) (json.RawMessage, error) {
	if isTexts(property) {
		return textsByName(m.name, m.value)
	}
	value, ok := convert(m.value, property.Type)
	if !ok {
		return nil, fault(m.name, "argument %q must be %s, not %s", m.name, expected(property, a.units[m.name]), describe(m.value))
	}
	switch {
	case property.Type == "number":
		if err := checkNumber(m.name, value, property, a.units[m.name]); err != nil {
			return nil, err
		}
	case property.Type == "integer":
		if value, ok = whole(value); !ok {
			return nil, fault(m.name, "argument %q must be a whole number, not %s", m.name, clip(string(m.value)))
		}
	case isStrings(property):
		var items []json.RawMessage
		_ = json.Unmarshal(value, &items) // which is valid
		for i, item := range items {
			if kind(item) != "string" { // null would be read as one
				return nil, fault(m.name, "argument %q must hold strings only; item %d is %s", m.name, i+1, describe(item))
			}
		}
	}
	return value, checkChoice(m.name, value, property)
}

// isStrings reports whether a property is declared as an array of strings; what other
// arrays hold is not looked into.
func isStrings(property *jsonschema.Schema) bool {
	return property.Type == "array" && property.Items != nil && property.Items.Type == "string"
}

// whole returns an integer as JSON has it without fraction and exponent: 3.0 is 3.
func whole(value json.RawMessage) (json.RawMessage, bool) {
	if !strings.ContainsAny(string(value), ".eE") {
		return value, true
	}
	const exact = 1 << 53 // of integers up to it a float64 holds each
	number, err := strconv.ParseFloat(string(value), 64)
	if err != nil || number != math.Trunc(number) || math.Abs(number) > exact {
		return nil, false
	}
	return strconv.AppendInt(nil, int64(number), 10), true
}

// convert returns the value if it is of the type, or a string that can be
// read as one in one way only.
func convert(value json.RawMessage, to string) (json.RawMessage, bool) {
	if to == "integer" {
		to = "number" // which check makes a whole one
	}
	if kind(value) == to || to == "" {
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

// checkNumber refuses a number that no float64 holds, or below the least.
func checkNumber(name string, value json.RawMessage, property *jsonschema.Schema, unit string) error {
	number, err := strconv.ParseFloat(string(value), 64)
	if err != nil {
		return fault(name, "argument %q is out of range: %s", name, clip(string(value)))
	}
	if least, err := property.Minimum.Float64(); err == nil && number < least {
		allowed := strings.TrimSpace(fmt.Sprintf("at least %s %s", property.Minimum, unit))
		return fault(name, "argument %q must be %s, not %s", name, allowed, clip(string(value)))
	}
	return nil
}

func checkChoice(name string, value json.RawMessage, property *jsonschema.Schema) error {
	if len(property.Enum) == 0 {
		return nil
	}
	var given any
	if err := json.Unmarshal(value, &given); err != nil {
		return fault(name, "argument %q can't be read: %v", name, err)
	}
	var words, choices []string
	for _, choice := range property.Enum {
		if reflect.DeepEqual(choice, given) {
			return nil
		}
		if text, ok := choice.(string); ok {
			words = append(words, text)
		}
		if encoded, err := json.Marshal(choice); err == nil {
			choices = append(choices, string(encoded))
		}
	}
	shown, advice := clip(string(value)), ""
	text, isText := given.(string)
	if isText {
		shown = strconv.Quote(clip(text))
		if near, ok := Nearest(text, words); ok {
			advice = fmt.Sprintf("; did you mean %q?", near)
		}
	}
	wrong := fault(name, "argument %q must be one of %s, not %s%s", name, join(choices, "or"), shown, advice)
	wrong.Choice = text
	return wrong
}

// expected says in words what an argument must be.
func expected(property *jsonschema.Schema, unit string) string {
	switch {
	case property.Type == "boolean":
		return "true or false"
	case property.Type == "number" && unit != "":
		return "a number of " + unit
	case property.Type == "integer":
		return "a whole number"
	case isStrings(property):
		return "an array of strings"
	case slices.Contains([]string{"array", "object"}, property.Type):
		return "an " + property.Type
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
