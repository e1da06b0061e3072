package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

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
