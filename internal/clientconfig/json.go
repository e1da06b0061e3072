package clientconfig

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/tailscale/hujson"
)

// field is one member of an entry, in the order of writing.
type field struct {
	key   string
	value any
}

func (c Client) fields(server Server) []field {
	var fields []field
	if c.typed {
		fields = append(fields, field{"type", "stdio"})
	}
	fields = append(fields, field{"command", server.Command})
	if server.Args != nil {
		fields = append(fields, field{"args", server.Args})
	}
	return fields
}

// Snippet returns a configuration that holds the server alone.
func (c Client) Snippet(server Server) ([]byte, error) {
	if c.key != "mcp_servers" {
		return c.merge(nil, server)
	}
	// Codex reads TOML, whose texts and lists of them may be written as JSON's.
	text := fmt.Sprintf("[%s.%s]\ncommand = %s\n", c.key, server.Name, encode(server.Command))
	if server.Args != nil {
		text += fmt.Sprintf("args = %s\n", encode(server.Args))
	}
	return []byte(text), nil
}

// oneLine is the server as VS Code's command line takes it.
func oneLine(server Server) []byte {
	return encode(struct {
		Name    string   `json:"name"`
		Command string   `json:"command"`
		Args    []string `json:"args,omitempty"`
	}{server.Name, server.Command, server.Args})
}

// remoteKeys are what clients call the address of a server that they don't start.
var remoteKeys = []string{"url", "serverUrl", "httpUrl"}

// merge returns the file with the server in it. All else stays as it was written, also
// what the user has added to the server's own entry.
func (c Client) merge(file []byte, server Server) ([]byte, error) {
	if c.yaml {
		return c.mergeYAML(file, server)
	}
	if len(bytes.TrimSpace(file)) == 0 {
		file = []byte("{\n}\n")
	}
	document, err := hujson.Parse(file)
	switch {
	case err != nil:
		return nil, fmt.Errorf("it is not valid JSON; repair it first: %w", err)
	case document.Value.Kind() != '{':
		return nil, errors.New("it does not hold a JSON object; repair it first")
	case c.Title == "Claude Desktop" && !document.IsStandard():
		return nil, errors.New("it has comments or trailing commas, which its client can't read; remove them first")
	}
	e := newEditor(document.Value.(*hujson.Object), file)
	servers, err := e.object(document.Value.(*hujson.Object), c.key, 1)
	if err != nil {
		return nil, err
	}
	entry, err := e.object(servers, server.Name, 2)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", c.key, err)
	}
	if slices.ContainsFunc(remoteKeys, func(key string) bool { return find(entry, key) != nil }) {
		return nil, fmt.Errorf("%q is a server at a URL there; choose another name with --name, or remove that one first", server.Name)
	}
	if c.argued && server.Args == nil && find(entry, "args") == nil {
		server.Args = []string{}
	}
	for _, f := range c.fields(server) {
		if err := e.set(entry, f); err != nil {
			return nil, err
		}
	}
	return document.Pack(), nil
}

// editor adds to a document as the document is written.
type editor struct{ newline, unit string }

func newEditor(root *hujson.Object, file []byte) editor {
	e := editor{"\n", "  "}
	if bytes.Contains(file, []byte("\r\n")) {
		e.newline = "\r\n"
	}
	if len(root.Members) > 0 {
		before := string(root.Members[0].Name.BeforeExtra)
		line := before[strings.LastIndexByte(before, '\n')+1:]
		if len(line) < len(before) && line != "" && strings.Trim(line, " \t") == "" {
			e.unit = line
		}
	}
	return e
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

// object returns the object under a key of parent, which is that deep in the document,
// and makes it if it is absent.
func (e editor) object(parent *hujson.Object, key string, depth int) (*hujson.Object, error) {
	member := find(parent, key)
	if member == nil {
		member = e.add(parent, key, hujson.Value{Value: &hujson.Object{}}, depth)
	}
	object, ok := member.Value.Value.(*hujson.Object)
	if !ok {
		return nil, fmt.Errorf("%q is not an object there; repair it first", key)
	}
	return object, nil
}

// set gives a member of an entry its value.
func (e editor) set(entry *hujson.Object, f field) error {
	text := encode(f.value)
	value, err := hujson.Parse(text)
	if err != nil {
		return err
	}
	if list, ok := value.Value.(*hujson.Array); ok { // spaced as people write it
		for i := range list.Elements[min(1, len(list.Elements)):] {
			list.Elements[i+1].BeforeExtra = hujson.Extra(" ")
		}
	}
	member := find(entry, f.key)
	if member == nil {
		e.add(entry, f.key, value, 3)
		return nil
	}
	if had, err := hujson.Minimize(member.Value.Pack()); err != nil || !bytes.Equal(had, text) {
		member.Value.Value = value.Value
	}
	return nil
}

// encode leaves paths with & readable.
func encode(value any) []byte {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(value) // texts and lists of them always can be
	return bytes.TrimSpace(text.Bytes())
}

// add appends a member on a line of its own. A comment behind the last member stays
// behind it.
func (e editor) add(object *hujson.Object, key string, value hujson.Value, depth int) *hujson.ObjectMember {
	before := strings.TrimRight(string(object.AfterExtra), " \t\r\n")
	member := hujson.ObjectMember{Name: hujson.Value{Value: hujson.String(key)}, Value: value}
	member.Name.BeforeExtra = hujson.Extra(before + e.newline + strings.Repeat(e.unit, depth))
	member.Value.BeforeExtra = hujson.Extra(" ")
	if last := len(object.Members) - 1; last >= 0 && object.Members[last].Value.AfterExtra != nil {
		member.Value.AfterExtra = hujson.Extra{} // a trailing comma, as before
	}
	object.AfterExtra = hujson.Extra(e.newline + strings.Repeat(e.unit, depth-1))
	object.Members = append(object.Members, member)
	return &object.Members[len(object.Members)-1]
}
