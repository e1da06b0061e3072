package plugins

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// signature is what Python would show after the function's name. It has no
// annotations: Python reads such a text back only without them.
func signature(d document) string {
	parts := make([]string, len(d.Parameters))
	for i, p := range d.Parameters {
		parts[i] = p.Name
		if !p.required() {
			parts[i] += "=" + literal(p.Default)
		}
	}
	return "(" + strings.Join(parts, ", ") + ")"
}

// doc is what help() shows, laid out as the scientific libraries do.
func doc(d document) string {
	var b strings.Builder
	b.WriteString(strings.TrimSpace(d.Description) + "\n")
	section := func(title string, entries int) {
		if entries > 0 {
			fmt.Fprintf(&b, "\n%s\n%s\n", title, strings.Repeat("-", len(title)))
		}
	}
	section("Parameters", len(d.Parameters))
	for _, p := range d.Parameters {
		kind := p.Type
		if len(p.Enum) > 0 {
			kind = literals("{", p.Enum, "}")
		}
		if !p.required() {
			kind += ", default " + literal(p.Default)
		}
		entry(&b, p.Name+" : "+kind, p.Description)
	}
	section("Returns", len(d.Returns))
	for _, r := range d.Returns {
		entry(&b, r.Name+" : "+r.Type, r.Description)
	}
	section("Examples", len(d.Examples))
	for _, example := range d.Examples {
		b.WriteString(">>> " + strings.ReplaceAll(strings.TrimSpace(example), "\n", "\n... ") + "\n")
	}
	return b.String()
}

func entry(b *strings.Builder, head, description string) {
	b.WriteString(head + "\n")
	for line := range strings.Lines(strings.TrimSpace(description)) {
		b.WriteString("    " + strings.TrimSpace(line) + "\n")
	}
}

// literals writes values as Python would, between brackets.
func literals(open string, values []any, end string) string {
	all := make([]string, len(values))
	for i, v := range values {
		all[i] = literal(v)
	}
	return open + strings.Join(all, ", ") + end
}

// literal writes a value as Python would.
func literal(value any) string {
	switch v := value.(type) {
	case nil:
		return "None"
	case bool:
		if v {
			return "True"
		}
		return "False"
	case json.Number:
		return v.String()
	case string:
		return quoted(v)
	case []any:
		return literals("[", v, "]")
	case map[string]any:
		var all []string
		for _, key := range slices.Sorted(maps.Keys(v)) {
			all = append(all, quoted(key)+": "+literal(v[key]))
		}
		return "{" + strings.Join(all, ", ") + "}"
	default: // the tree has no other
		return fmt.Sprintf("%v", v)
	}
}

// quoted is a Python string: Go escapes as Python does, but for the quotes.
func quoted(text string) string {
	inGo := strconv.Quote(text)
	if strings.Contains(text, "'") {
		return inGo
	}
	return "'" + strings.ReplaceAll(inGo[1:len(inGo)-1], `\"`, `"`) + "'"
}
