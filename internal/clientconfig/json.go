package clientconfig

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/tailscale/hujson"
)

// jsonFormat is a JSON file with an object of servers.
type jsonFormat struct {
	key   string // of that object
	typed bool   // an entry says "type": "stdio"
	// projects is the key of an object in which each project's directory has servers of
	// its own, "" if there is none. It is only read.
	projects string
	// strict clients take no comments; the others do, and the comments stay.
	strict bool
}

// field is one member of an entry, in the order of writing.
type field struct {
	key   string
	value any
}

func (f jsonFormat) fields(server Server) []field {
	var fields []field
	if f.typed {
		fields = append(fields, field{"type", "stdio"})
	}
	fields = append(fields, field{"command", server.Command})
	if server.Args != nil {
		fields = append(fields, field{"args", server.Args})
	}
	return fields
}

func (f jsonFormat) snippet(server Server) ([]byte, error) {
	return f.merge([]byte("{}\n"), server)
}

func (f jsonFormat) merge(file []byte, server Server) ([]byte, error) {
	document, err := f.parse(file)
	if err != nil {
		return nil, err
	}
	editor := newEditor(&document, file)
	servers, err := editor.object(document.Value, f.key, "")
	if err != nil {
		return nil, err
	}
	entry, err := editor.object(servers.value, server.Name, servers.indent)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.key, err)
	}
	if member := find(entry.value.(*hujson.Object), "url"); member != nil {
		return nil, fmt.Errorf("%q is a server at a URL there; choose another name with --name, or remove that one first", server.Name)
	}
	for _, field := range f.fields(server) {
		if err := editor.set(entry, field); err != nil {
			return nil, err
		}
	}
	after := document.Pack()
	return after, checkRest(file, after, decodeJSON, f.key, server.Name)
}

func (f jsonFormat) parse(file []byte) (hujson.Value, error) {
	document, err := hujson.Parse(file)
	if err != nil {
		return document, fmt.Errorf("it is not valid JSON; repair it first: %w", err)
	}
	if f.strict && !document.IsStandard() {
		return document, errors.New("it has comments or trailing commas, which its client can't read; remove them first")
	}
	if document.Value.Kind() != '{' {
		return document, errors.New("it does not hold a JSON object; repair it first")
	}
	return document, nil
}

func (f jsonFormat) servers(file []byte, directory string) ([]map[string]any, error) {
	document, err := decodeJSON(file)
	if err != nil {
		return nil, err
	}
	all := []map[string]any{objectAt(document, f.key)}
	if f.projects != "" {
		all = append(all, objectAt(document, f.projects, directory, f.key))
	}
	return all, nil
}

func decodeJSON(text []byte) (map[string]any, error) {
	standard, err := hujson.Standardize(bytes.Clone(text)) // it writes into its argument
	if err != nil {
		return nil, err
	}
	decoder := json.NewDecoder(bytes.NewReader(standard))
	decoder.UseNumber()
	var value map[string]any
	return value, decoder.Decode(&value)
}

// editor changes a document and writes as the document is written.
type editor struct {
	newline string // "\n" or "\r\n"
	unit    string // one level of indentation
}

// place is an object in the document, and the indentation of its line.
type place struct {
	value  hujson.ValueTrimmed
	indent string
}

func newEditor(document *hujson.Value, file []byte) *editor {
	e := &editor{newline: "\n", unit: "  "}
	if bytes.Contains(file, []byte("\r\n")) {
		e.newline = "\r\n"
	}
	root := document.Value.(*hujson.Object)
	if len(root.Members) > 0 {
		if indent, ok := lastIndent(root.Members[0].Name.BeforeExtra); ok && indent != "" {
			e.unit = indent
		}
	}
	return e
}

// lastIndent returns the white space between the last line break and the end.
func lastIndent(extra hujson.Extra) (string, bool) {
	i := bytes.LastIndexByte(extra, '\n')
	if i < 0 {
		return "", false
	}
	tail := string(extra[i+1:])
	return tail[:len(tail)-len(strings.TrimLeft(tail, " \t"))], true
}

// find returns the last member of a name, which is the one that counts when a
// name stands there twice.
func find(object *hujson.Object, key string) *hujson.ObjectMember {
	for i := len(object.Members) - 1; i >= 0; i-- {
		if name, ok := object.Members[i].Name.Value.(hujson.Literal); ok && name.String() == key {
			return &object.Members[i]
		}
	}
	return nil
}

// object returns the object under a key of parent, and makes it if it is absent.
func (e *editor) object(parent hujson.ValueTrimmed, key, indent string) (place, error) {
	object := parent.(*hujson.Object)
	member := find(object, key)
	if member == nil {
		member = e.add(object, key, hujson.Value{Value: &hujson.Object{}}, indent)
	}
	if member.Value.Value.Kind() != '{' {
		return place{}, fmt.Errorf("%q is not an object there; repair it first", key)
	}
	own, ok := lastIndent(member.Name.BeforeExtra)
	if !ok {
		own = indent
	}
	return place{member.Value.Value, own}, nil
}

// set gives a member of an object its value, if it has another.
func (e *editor) set(p place, f field) error {
	object := p.value.(*hujson.Object)
	text, err := marshal(f.value)
	if err != nil {
		return err
	}
	value, err := hujson.Parse(text)
	if err != nil {
		return err
	}
	space(value)
	member := find(object, f.key)
	if member == nil {
		e.add(object, f.key, value, p.indent)
		return nil
	}
	if !sameJSON(member.Value, value) {
		member.Value.Value = value.Value
	}
	return nil
}

func marshal(value any) ([]byte, error) {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false) // paths with & stay readable
	err := encoder.Encode(value)
	return bytes.TrimSpace(text.Bytes()), err
}

// space separates the elements of a list as people write them.
func space(value hujson.Value) {
	if list, ok := value.Value.(*hujson.Array); ok {
		for i := range list.Elements[min(1, len(list.Elements)):] {
			list.Elements[i+1].BeforeExtra = hujson.Extra(" ")
		}
	}
}

func sameJSON(a, b hujson.Value) bool {
	a, b = a.Clone(), b.Clone()
	a.Standardize()
	b.Standardize()
	var left, right any
	return json.Unmarshal(a.Pack(), &left) == nil && json.Unmarshal(b.Pack(), &right) == nil && reflect.DeepEqual(left, right)
}

// add appends a member to an object whose line is indented by indent. A
// comment behind the last member stays behind it.
func (e *editor) add(object *hujson.Object, key string, value hujson.Value, indent string) *hujson.ObjectMember {
	member := hujson.ObjectMember{Name: hujson.Value{Value: hujson.String(key)}, Value: value}
	if e.oneLine(object) {
		member.Name.BeforeExtra = hujson.Extra(" ")
	} else {
		before := strings.TrimRight(string(object.AfterExtra), " \t\r\n")
		member.Name.BeforeExtra = hujson.Extra(before + e.newline + e.memberIndent(object, indent))
		object.AfterExtra = hujson.Extra(e.newline + indent)
	}
	member.Value.BeforeExtra = hujson.Extra(" ")
	if last := len(object.Members) - 1; last >= 0 && object.Members[last].Value.AfterExtra != nil {
		member.Value.AfterExtra = hujson.Extra{} // a trailing comma, as before
	}
	object.Members = append(object.Members, member)
	return &object.Members[len(object.Members)-1]
}

// oneLine reports whether an object has members, all on one line.
func (e *editor) oneLine(object *hujson.Object) bool {
	for _, member := range object.Members {
		if bytes.ContainsRune(member.Name.BeforeExtra, '\n') {
			return false
		}
	}
	return len(object.Members) > 0 && !bytes.ContainsRune(object.AfterExtra, '\n')
}

func (e *editor) memberIndent(object *hujson.Object, indent string) string {
	if last := len(object.Members) - 1; last >= 0 {
		if own, ok := lastIndent(object.Members[last].Name.BeforeExtra); ok {
			return own
		}
	}
	return indent + e.unit
}
