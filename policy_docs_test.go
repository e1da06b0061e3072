package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"understudy/internal/policy"
)

// TestPolicyIsTrue: what docs/policy.md tells people to type and to write is
// understood by this version.
func TestPolicyIsTrue(t *testing.T) {
	const file = "docs/policy.md"
	found := blocks(t, file)
	commands := 0
	for line := range strings.Lines(strings.Join(found["sh"], "")) {
		commands++
		if _, err := parseCommand(strings.TrimPrefix(line, "understudy "), nil); err != nil {
			t.Errorf("%s: %v", strings.TrimSpace(line), err)
		}
	}
	if commands < 5 || len(found["yaml"]) < 4 {
		t.Fatalf("%d commands and %d YAML files were found", commands, len(found["yaml"]))
	}
	for _, text := range found["yaml"] {
		path := filepath.Join(t.TempDir(), "policy.yaml")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		source, err := policy.Open(path, policy.Additions{}, nil)
		if err != nil {
			t.Errorf("%v:\n%s", err, text)
			continue
		}
		if source.Book().None() {
			t.Errorf("these are no rules:\n%s", text)
		}
	}
	checkFlags(t, file)
	checkKeys(t, file)
}

// policyDefaults are the rules that come with the program, their lists in lines.
func policyDefaults(t *testing.T) string {
	t.Helper()
	var root yaml.Node
	if err := yaml.Unmarshal([]byte(policy.Defaults()), &root); err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for i, pairs := 0, root.Content[0].Content; i < len(pairs); i += 2 {
		key, value := pairs[i].Value, pairs[i+1]
		var items []string
		for n := range value.Content {
			switch {
			case value.Kind == yaml.SequenceNode:
				items = append(items, value.Content[n].Value)
			case n%2 == 1:
				items = append(items, value.Content[n-1].Value+": "+value.Content[n].Value)
			}
		}
		if value.Kind == yaml.SequenceNode {
			fmt.Fprintf(&b, "%s:\n  [%s]\n", key, inLines(items))
		} else {
			fmt.Fprintf(&b, "%s: {%s}\n", key, inLines(items))
		}
	}
	var short, whole map[string]any
	err := errors.Join(yaml.Unmarshal([]byte(b.String()), &short), yaml.Unmarshal([]byte(policy.Defaults()), &whole))
	if err != nil || !reflect.DeepEqual(short, whole) {
		t.Fatalf("%v in\n%s", err, b.String())
	}
	return "```yaml\n" + b.String() + "```\n"
}

// inLines joins items by commas, in lines of at most 90 characters.
func inLines(items []string) string {
	lines := []string{"  "}
	for i, item := range items {
		if i < len(items)-1 {
			item += ","
		}
		if last := len(lines) - 1; len(lines[last])+len(item) < 90 {
			lines[last] += " " + item
		} else {
			lines = append(lines, "   "+item)
		}
	}
	return strings.TrimSpace(strings.Join(lines, "\n"))
}

// checkKeys finds every key of a policy in the table of the document.
func checkKeys(t *testing.T, file string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range policy.Keys() {
		if !strings.Contains(string(text), "`"+key+"`") && !strings.Contains(string(text), "**"+key+"**") {
			t.Errorf("%s lacks %s", file, key)
		}
	}
}
