// Package schemas turns Go structs into JSON Schema and decodes a tool's
// arguments by the very same schema: a struct's tags are the only list of
// arguments, of their types, bounds and choices.
//
// The files *.json beside it are the contract with clients, committed; they are
// rewritten by "go test ./tools -update".
package schemas

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"github.com/invopop/jsonschema"
)

// Reflect returns the JSON Schema of v's type, a struct: one tree without
// references, closed to properties that it does not name. A struct whose type
// is among asArrays is written as the array of its fields in order.
func Reflect(v any, asArrays ...any) (json.RawMessage, error) {
	raw, err := json.Marshal(reflectType(reflect.TypeOf(v), asArrays...))
	if err != nil {
		return nil, fmt.Errorf("encoding the schema of %T: %w", v, err)
	}
	return raw, nil
}

func reflectType(t reflect.Type, asArrays ...any) *jsonschema.Schema {
	reflector := jsonschema.Reflector{Anonymous: true, DoNotReference: true, ExpandedStruct: true}
	reflector.Mapper = func(t reflect.Type) *jsonschema.Schema {
		for _, v := range asArrays {
			if reflect.TypeOf(v) == t {
				return fieldsAsArray(&reflector, t)
			}
		}
		return nil
	}
	schema := reflector.ReflectFromType(t)
	schema.Version = "" // clients know the dialect; some refuse a $schema in a tool
	return schema
}

// fieldsAsArray describes a struct that is encoded as [field, field, …].
func fieldsAsArray(reflector *jsonschema.Reflector, t reflect.Type) *jsonschema.Schema {
	length := uint64(t.NumField())
	array := &jsonschema.Schema{Type: "array", MinItems: &length, MaxItems: &length}
	for i := range t.NumField() {
		item := reflector.ReflectFromType(t.Field(i).Type)
		item.Version = ""
		item.Title = strings.ToLower(t.Field(i).Name)
		array.PrefixItems = append(array.PrefixItems, item)
	}
	return array
}
