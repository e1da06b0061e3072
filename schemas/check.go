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
func (a *object) check(m member) (json.RawMessage, error) {
	if slices.Contains(a.named, m.name) {
		return a.textsByName(m.name, m.value)
	}
	property, _ := a.schema.Properties.Get(m.name)
	value, ok := convert(m.value, property.Type)
	if !ok {
		return nil, a.fault(m.name, "argument %q must be %s, not %s", m.name, a.expected(m.name, property), describe(m.value))
	}
	switch property.Type {
	case "number":
		if err := a.checkNumber(m.name, value, property); err != nil {
			return nil, err
		}
	case "integer":
		if value, ok = whole(value); !ok {
			return nil, a.fault(m.name, "argument %q must be a whole number, not %s", m.name, clip(string(m.value)))
		}
	case "array":
		if err := a.checkTexts(m.name, value); err != nil {
			return nil, err
		}
	}
	return value, a.checkChoice(m.name, value, property)
}

// checkTexts refuses anything but strings in an array that is declared to hold those.
func (a *object) checkTexts(name string, value json.RawMessage) error {
	if !slices.Contains(a.texts, name) {
		return nil
	}
	var items []json.RawMessage
	if err := json.Unmarshal(value, &items); err != nil {
		return a.fault(name, "argument %q can't be read: %v", name, err)
	}
	for i, item := range items {
		if kind(item) != "string" {
			return a.fault(name, "argument %q must hold strings only; item %d is %s", name, i+1, describe(item))
		}
	}
	return nil
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

func (a *object) checkNumber(name string, value json.RawMessage, property *jsonschema.Schema) error {
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

func (a *object) checkChoice(name string, value json.RawMessage, property *jsonschema.Schema) error {
	if len(property.Enum) == 0 {
		return nil
	}
	var given any
	if err := json.Unmarshal(value, &given); err != nil {
		return a.fault(name, "argument %q can't be read: %v", name, err)
	}
	if slices.ContainsFunc(property.Enum, func(choice any) bool { return reflect.DeepEqual(choice, given) }) {
		return nil
	}
	text, isText := given.(string)
	if !isText {
		text = string(value)
	}
	words, choices := choicesOf(property)
	if isText {
		value = []byte(strconv.Quote(clip(text)))
	}
	fault := a.fault(name, "argument %q must be one of %s, not %s", name, join(choices, "or"), clip(string(value)))
	if near, ok := nearest(text, words); ok && isText {
		fault.Message += fmt.Sprintf("; did you mean %q?", near)
	}
	fault.Choice = text
	return fault
}

// choicesOf returns the texts among the values that an argument may have, and all
// of them as a reader is told.
func choicesOf(property *jsonschema.Schema) (words, all []string) {
	for _, choice := range property.Enum {
		if text, ok := choice.(string); ok {
			words, all = append(words, text), append(all, strconv.Quote(text))
		} else if encoded, err := json.Marshal(choice); err == nil {
			all = append(all, string(encoded))
		}
	}
	return words, all
}

// expected says in words what an argument must be.
func (a *object) expected(name string, property *jsonschema.Schema) string {
	switch unit := a.units[name]; {
	case property.Type == "boolean":
		return "true or false"
	case property.Type == "object":
		return "an object"
	case property.Type == "number" && unit != "":
		return "a number of " + unit
	case property.Type == "integer":
		return "a whole number"
	case slices.Contains(a.texts, name):
		return "an array of strings"
	case property.Type == "array" || property.Type == "object":
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
