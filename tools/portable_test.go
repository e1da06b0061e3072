package tools

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"
)

// keywords that every reader of schemas is known to take. What is not among them makes a
// whole request fail, or is dropped without a word: google-genai 3.6.1
// (_mcp_utils.mcp_to_gemini_tool) raises on additionalProperties: false at any depth, the
// Gemini API refuses exclusiveMinimum and null in an enum; langchain-google-genai 4.4.3
// and the Gemini API have no anyOf and the like that needs no null.
var portable = []string{"type", "description", "properties", "required", "items", "enum", "minimum"}

// rules are what a schema must keep at any depth, with who wants it.
var portableRules = []struct {
	source string
	broken func(schema map[string]any) string
}{
	{"Gemini API: an object must have properties; OpenAI strict mode (agents 0.24, ensure_strict_json_schema) refuses an object whose names are free", func(s map[string]any) string {
		if properties, _ := s["properties"].(map[string]any); s["type"] == "object" && len(properties) == 0 {
			return "an object without properties"
		}
		return ""
	}},
	{"Gemini API: an array must have items with a type", func(s map[string]any) string {
		if items, _ := s["items"].(map[string]any); s["type"] == "array" && items["type"] == nil {
			return "an array without the type of its items"
		}
		return ""
	}},
	{"Gemini API and OpenAI strict mode: each schema has one type", func(s map[string]any) string {
		if _, one := s["type"].(string); !one {
			return fmt.Sprintf("type %v", s["type"])
		}
		return ""
	}},
	{"Gemini API: an enum is of strings", func(s map[string]any) string {
		for _, choice := range orNone(s["enum"]) {
			if _, text := choice.(string); !text || choice == "" {
				return fmt.Sprintf("choice %v", choice)
			}
		}
		return ""
	}},
	{"all: required names are among the properties", func(s map[string]any) string {
		properties, _ := s["properties"].(map[string]any)
		for _, name := range orNone(s["required"]) {
			if properties[name.(string)] == nil {
				return fmt.Sprintf("required %v", name)
			}
		}
		return ""
	}},
	{"google-genai, Gemini API", func(s map[string]any) string {
		for keyword := range s {
			if !slices.Contains(portable, keyword) {
				return "keyword " + keyword
			}
		}
		return ""
	}},
}

func orNone(list any) []any {
	items, _ := list.([]any)
	return items
}

// TestSchemasArePortable walks all that any mode advertises.
func TestSchemasArePortable(t *testing.T) {
	plugins := func() []PluginTool {
		return []PluginTool{{Name: "sql", Schema: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}`)}}
	}
	for name, o := range map[string]Options{
		"full":    {},
		"all":     {Trials: true, Install: &InstallOptions{}, Pythons: []string{"project", "own"}, PluginSummary: func() string { return "" }},
		"cli":     {Mode: ModeCLIOnly},
		"plugins": {Mode: ModePluginOnly, PluginTools: plugins},
	} {
		c := connect(t, "tester", &fakeManager{}, o)
		listed, err := c.ListTools(t.Context(), mcp.ListToolsRequest{})
		must(t, err)
		expect(t, len(listed.Tools) >= 2, "%s: %d tools", name, len(listed.Tools))
		for _, tool := range listed.Tools {
			encoded, err := json.Marshal(tool)
			must(t, err)
			var seen struct{ InputSchema map[string]any }
			must(t, json.Unmarshal(encoded, &seen))
			walkSchema(t, name+" "+tool.Name, seen.InputSchema)
		}
	}
}

func walkSchema(t *testing.T, at string, schema map[string]any) {
	t.Helper()
	for _, rule := range portableRules {
		problem := rule.broken(schema)
		expect(t, problem == "", "%s: %s (%s)", at, problem, rule.source)
	}
	properties, _ := schema["properties"].(map[string]any)
	for name, property := range properties {
		walkSchema(t, at+"."+name, property.(map[string]any))
	}
	if items, ok := schema["items"].(map[string]any); ok {
		walkSchema(t, at+"[]", items)
	}
}
