package clientconfig

import (
	"bytes"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// tomlServers is the table of servers in a TOML file.
const tomlServers = "mcp_servers"

// tomlFormat is a TOML file with a table for each server. Only the lines of
// the server's own table are touched; the rest is copied byte by byte.
type tomlFormat struct{}

func (tomlFormat) snippet(server Server) ([]byte, error) {
	return tomlTable(server, "\n")
}

func (tomlFormat) merge(file []byte, server Server) ([]byte, error) {
	document, err := decodeTOML(file)
	if err != nil {
		return nil, fmt.Errorf("it is not valid TOML; repair it first: %w", err)
	}
	var after []byte
	if !hasEntry(document, tomlServers, server.Name) {
		after, err = appendTable(file, server)
	} else {
		entry := document[tomlServers].(map[string]any)[server.Name].(map[string]any)
		after, err = updateTable(file, entry, server)
	}
	if err != nil {
		return nil, err
	}
	return after, checkRest(file, after, decodeTOML, tomlServers, server.Name)
}

func (tomlFormat) servers(file []byte, _ string) ([]map[string]any, error) {
	document, err := decodeTOML(file)
	return []map[string]any{objectAt(document, tomlServers)}, err
}

func decodeTOML(text []byte) (map[string]any, error) {
	var value map[string]any
	return value, toml.Unmarshal(text, &value)
}

func tomlTable(server Server, newline string) ([]byte, error) {
	text := fmt.Sprintf("[%s.%s]%s", tomlServers, server.Name, newline)
	for _, field := range (jsonFormat{}).fields(server) {
		line, err := tomlLine(field)
		if err != nil {
			return nil, err
		}
		text += line + newline
	}
	return []byte(text), nil
}

func tomlLine(f field) (string, error) {
	text, err := toml.Marshal(map[string]any{f.key: f.value})
	return strings.TrimSpace(string(text)), err
}

func newlineOf(file []byte) string {
	if bytes.Contains(file, []byte("\r\n")) {
		return "\r\n"
	}
	return "\n"
}

func appendTable(file []byte, server Server) ([]byte, error) {
	newline := newlineOf(file)
	table, err := tomlTable(server, newline)
	if err != nil {
		return nil, err
	}
	after := bytes.Clone(file)
	if !bytes.HasSuffix(after, []byte("\n")) {
		after = append(after, newline...)
	}
	after = append(after, newline...)
	return append(after, table...), nil
}

// updateTable gives the entry's table the wanted lines, where they differ.
func updateTable(file []byte, entry map[string]any, server Server) ([]byte, error) {
	if _, remote := entry["url"]; remote {
		return nil, fmt.Errorf("%q is a server at a URL there; choose another name with --name, or remove that one first", server.Name)
	}
	for _, field := range (jsonFormat{}).fields(server) {
		if sameTOML(entry[field.key], field.value) {
			continue
		}
		table, err := locate(file, tomlServers, server.Name)
		if err != nil {
			return nil, err
		}
		if file, err = table.set(file, field); err != nil {
			return nil, err
		}
	}
	return file, nil
}

func sameTOML(have, want any) bool {
	if list, ok := want.([]string); ok {
		values, ok := have.([]any)
		return ok && slices.EqualFunc(values, list, func(a any, b string) bool { return a == b })
	}
	return reflect.DeepEqual(have, want)
}

// table is where a table's lines stand in a file.
type table struct {
	header int // offset of the end of the header's line, its line break included
	// pairs are the offsets of the table's own key-value pairs, by key.
	pairs map[string][2]int
}

// locate finds the table [path…]. A table that is written inline or by dotted
// keys has no header, and none is found.
func locate(file []byte, path ...string) (*table, error) {
	parser := &unstable.Parser{}
	parser.Reset(file)
	var found *table
	inside := false
	for parser.NextExpression() {
		node := parser.Expression()
		switch node.Kind {
		case unstable.Table, unstable.ArrayTable:
			keys, end := keysOf(node)
			inside = node.Kind == unstable.Table && slices.Equal(keys, path)
			if inside {
				found = &table{header: lineEnd(file, end), pairs: map[string][2]int{}}
			}
		case unstable.KeyValue:
			if keys, _ := keysOf(node); inside && len(keys) == 1 {
				start := int(node.Raw.Offset)
				raw := bytes.TrimRight(file[start:start+int(node.Raw.Length)], " \t\r\n")
				found.pairs[keys[0]] = [2]int{start, start + len(raw)}
			}
		}
	}
	if found == nil {
		return nil, errByHand
	}
	return found, parser.Error()
}

// keysOf returns the parts of a key and the offset at which it ends.
func keysOf(node *unstable.Node) (keys []string, end int) {
	for iterator := node.Key(); iterator.Next(); {
		key := iterator.Node()
		keys = append(keys, string(key.Data))
		end = int(key.Raw.Offset + key.Raw.Length)
	}
	return keys, end
}

func lineEnd(file []byte, from int) int {
	if i := bytes.IndexByte(file[from:], '\n'); i >= 0 {
		return from + i + 1
	}
	return len(file)
}

// set replaces the pair of a key, or adds it below the header.
func (t *table) set(file []byte, f field) ([]byte, error) {
	line, err := tomlLine(f)
	if err != nil {
		return nil, err
	}
	if at, ok := t.pairs[f.key]; ok {
		return slices.Concat(file[:at[0]], []byte(line), file[at[1]:]), nil
	}
	newline := newlineOf(file)
	if t.header > 0 && file[t.header-1] != '\n' { // the header ends the file
		line = newline + line
	}
	return slices.Concat(file[:t.header], []byte(line+newline), file[t.header:]), nil
}
