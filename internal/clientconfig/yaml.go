package clientconfig

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// errByHand is the answer to YAML that lines can't be put into.
var errByHand = errors.New("it is written in a way that is not changed here; put in by hand what --print prints")

// mergeYAML is merge for YAML. It puts lines into the text, since no library writes a file
// back as its user wrote it, and then looks whether the text means what it should.
func (c Client) mergeYAML(file []byte, server Server) ([]byte, error) {
	before, err := readYAML(file)
	if err != nil {
		return nil, err
	}
	key := strings.ToLower(server.Name) // as Goose names an entry by itself
	servers, _ := before[c.key].(map[string]any)
	entry, exists := servers[key].(map[string]any)
	if entry["uri"] != nil {
		return nil, fmt.Errorf("%q is a server at a URL there; choose another name with --name, or remove that one first", server.Name)
	}
	if server.Args == nil && entry["args"] == nil {
		server.Args = []string{}
	}
	fields := []field{{"type", "stdio"}, {"cmd", server.Command}}
	if server.Args != nil {
		fields = append(fields, field{"args", server.Args})
	}
	if !exists {
		fields = append([]field{
			{"enabled", true}, {"name", server.Name},
			{"description", "Python sessions that remember, show plots and survive"},
		}, fields...)
	}
	if holds(before, []string{c.key, key}, fields) {
		return file, nil
	}
	text := strings.ReplaceAll(string(file), "\r\n", "\n")
	for _, f := range slices.Backward(fields) { // each is put before the last
		if text, err = setYAML(text, []string{c.key, key, f.key}, f.value); err != nil {
			return nil, err
		}
	}
	after, err := readYAML([]byte(text))
	if err != nil || !holds(after, []string{c.key, key}, fields) || !sameBut(before, after, c.key, key) {
		return nil, errByHand
	}
	if bytes.Contains(file, []byte("\r\n")) {
		text = strings.ReplaceAll(text, "\n", "\r\n")
	}
	return []byte(text), nil
}

func readYAML(file []byte) (map[string]any, error) {
	var content map[string]any
	if err := yaml.Unmarshal(file, &content); err != nil {
		return nil, fmt.Errorf("it is not valid YAML; repair it first: %w", err)
	}
	return content, nil
}

// holds reports whether the entry at a path has the fields.
func holds(content map[string]any, path []string, fields []field) bool {
	for _, key := range path {
		content, _ = content[key].(map[string]any)
	}
	return !slices.ContainsFunc(fields, func(f field) bool {
		return !bytes.Equal(encode(content[f.key]), encode(f.value))
	})
}

// sameBut reports whether two files differ in nothing but one server. It takes that out of both.
func sameBut(before, after map[string]any, servers, server string) bool {
	for _, content := range []map[string]any{before, after} {
		entries, _ := content[servers].(map[string]any)
		delete(entries, server)
		if len(entries) == 0 {
			delete(content, servers)
		}
	}
	return len(before) == 0 && len(after) == 0 || reflect.DeepEqual(before, after)
}

// setYAML gives the member at a path its value, and makes what is absent above it.
func setYAML(text string, path []string, value any) (string, error) {
	var document yaml.Node
	if err := yaml.Unmarshal([]byte(text), &document); err != nil {
		return "", err
	}
	lines := strings.SplitAfter(text, "\n")
	if last := len(lines) - 1; lines[last] == "" {
		lines = lines[:last]
	} else {
		lines[last] += "\n"
	}
	parent, at, indent := &yaml.Node{Kind: yaml.MappingNode}, len(lines), 0
	if len(document.Content) > 0 {
		parent = document.Content[0]
	}
	for i, key := range path {
		if parent.Style&yaml.FlowStyle != 0 || parent.Kind != yaml.MappingNode {
			return "", errByHand
		}
		if len(parent.Content) > 0 {
			indent = parent.Content[0].Column - 1
		}
		name, child := member(parent, key)
		if name == nil {
			return strings.Join(slices.Insert(lines, at, nested(path[i:], indent, value)), ""), nil
		}
		if i == len(path)-1 {
			return replaceMember(lines, name, child, value), nil
		}
		parent, at, indent = opened(lines, child), name.Line, indent+2
	}
	return "", errByHand
}

// member returns the nodes of a mapping's member, nil if it is absent.
func member(mapping *yaml.Node, key string) (name, value *yaml.Node) {
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value == key {
			return mapping.Content[i], mapping.Content[i+1]
		}
	}
	return nil, nil
}

// opened is a member's mapping; "{}" or null for an empty one is taken out of its line.
func opened(lines []string, value *yaml.Node) *yaml.Node {
	if value.Tag != "!!null" && (value.Kind != yaml.MappingNode || len(value.Content) > 0) {
		return value
	}
	for _, empty := range []string{"{}", value.Value} {
		line := lines[value.Line-1]
		if rest, found := strings.CutPrefix(line[min(value.Column-1, len(line)):], empty); found && empty != "" {
			lines[value.Line-1] = strings.TrimRight(line[:value.Column-1], " ") + rest
			break
		}
	}
	return &yaml.Node{Kind: yaml.MappingNode}
}

// nested writes a value below the names of a path.
func nested(path []string, indent int, value any) string {
	var text strings.Builder
	for i, name := range path {
		fmt.Fprintf(&text, "%s%s:", strings.Repeat(" ", indent+2*i), name)
		if i < len(path)-1 {
			text.WriteByte('\n')
		}
	}
	fmt.Fprintf(&text, " %s\n", encode(value)) // YAML includes JSON
	return text.String()
}

// replaceMember writes a member anew on one line, in place of the lines that it had: those
// that stand deeper than its name, or at its side as an item of its list.
func replaceMember(lines []string, name, value *yaml.Node, to any) string {
	var had any
	if value.Decode(&had) == nil && bytes.Equal(encode(had), encode(to)) {
		return strings.Join(lines, "")
	}
	end := name.Line
	for i, line := range lines[name.Line:] {
		rest := strings.TrimLeft(line, " ")
		column := len(line) - len(rest) + 1
		if strings.TrimSpace(rest) == "" || rest[0] == '#' {
			continue
		}
		if column < name.Column || column == name.Column && !strings.HasPrefix(rest, "- ") {
			break
		}
		end = name.Line + i + 1
	}
	line := strings.Repeat(" ", name.Column-1) + name.Value + ": " + string(encode(to))
	if value.LineComment != "" {
		line += " " + value.LineComment
	}
	return strings.Join(slices.Replace(lines, name.Line-1, end, line+"\n"), "")
}
