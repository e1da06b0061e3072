package deploy

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"understudy/internal/check"
	"understudy/tools"
)

var must, expect, insist = check.Must, check.Expect, check.Insist

// schema is what the test needs of a tool's.
type schema struct {
	Properties map[string]struct {
		Type string
		Enum []string
	}
	Required []string
}

func schemaOf(t *testing.T, name string) (s schema) {
	t.Helper()
	all, err := tools.Schemas()
	must(t, err)
	must(t, json.Unmarshal(all[name], &s))
	return s
}

var (
	callInSkill = regexp.MustCompile(`(?m)^(\w+) (\{.*\})$`)
	wordInSkill = regexp.MustCompile("`([a-z_]+)`")
)

// TestSkillIsTrue: the skill is short, as the format wants it, and names nothing that the tools
// do not have.
func TestSkillIsTrue(t *testing.T) {
	expect(t, bytes.Count(Skill, []byte("\n")) <= 90, "the skill is longer than two screens")
	parts := strings.SplitN(string(Skill), "---\n", 3)
	insist(t, len(parts) == 3 && parts[0] == "", "the skill does not begin with its frontmatter")
	var about struct{ Name, Description string }
	must(t, yaml.Unmarshal([]byte(parts[1]), &about))
	expect(t, about.Name == SkillName && about.Description != "" && len(about.Description) <= 1024, "the frontmatter is %+v", about)

	operations := schemaOf(t, "manage_interpreters").Properties["operation"].Enum
	known := slices.Concat(operations, schemaOf(t, "execution_record").Properties["status"].Enum, []string{"await"})
	var shown []string
	for _, call := range callInSkill.FindAllStringSubmatch(parts[2], -1) {
		var arguments map[string]any
		must(t, json.Unmarshal([]byte(call[2]), &arguments))
		s := schemaOf(t, call[1])
		known = append(known, call[1])
		for name, value := range arguments {
			property, exists := s.Properties[name]
			text, isText := value.(string)
			expect(t, exists && isText == (property.Type == "string"), "%s does not take %s %v", call[1], name, value)
			expect(t, property.Enum == nil || slices.Contains(property.Enum, text), "%s has no %s %q", call[1], name, text)
			known = append(known, name)
		}
		for _, name := range s.Required {
			expect(t, arguments[name] != nil, "%s lacks %s", call[0], name)
		}
		if operation, ok := arguments["operation"].(string); ok {
			shown = append(shown, operation)
		}
	}
	for _, operation := range operations {
		expect(t, slices.Contains(shown, operation) || operation == "set_variables", "the skill does not show %s", operation)
	}
	for _, word := range wordInSkill.FindAllStringSubmatch(parts[2], -1) {
		expect(t, slices.Contains(known, word[1]), "the skill speaks of %s, which no call in it has", word[0])
	}
}

type manifest struct {
	Name, Version, Description, License, Skills, MCPServers string
	Plugins                                                 []struct{ Name, Source string }
}

func readManifest(t *testing.T, path ...string) (m manifest) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(path...))
	must(t, err)
	must(t, json.Unmarshal(text, &m))
	return m
}

// TestPluginIsWhole: both clients' manifests are of one plugin, whose parts are where they are
// looked for.
func TestPluginIsWhole(t *testing.T) {
	claude := readManifest(t, "plugin", ".claude-plugin", "plugin.json")
	codex := readManifest(t, "plugin", ".codex-plugin", "plugin.json")
	// Claude Code looks there by itself.
	for _, path := range []string{filepath.Join(codex.Skills, SkillName, "SKILL.md"), codex.MCPServers} {
		_, err := os.Stat(filepath.Join("plugin", path))
		must(t, err)
	}
	expect(t, codex.Name == claude.Name && codex.Version == claude.Version && codex.Description == claude.Description && codex.License == claude.License,
		"the manifests are %+v and %+v", claude, codex)

	market := readManifest(t, "..", ".claude-plugin", "marketplace.json")
	insist(t, len(market.Plugins) == 1, "the marketplace has %+v", market.Plugins)
	found := readManifest(t, "..", market.Plugins[0].Source, ".claude-plugin", "plugin.json")
	expect(t, found.Name == market.Plugins[0].Name, "the marketplace has %+v", found)

	text, err := os.ReadFile(filepath.Join("plugin", ".mcp.json"))
	must(t, err)
	var servers struct {
		MCPServers map[string]struct {
			Command string
			Args    []string
		}
	}
	must(t, json.Unmarshal(text, &servers))
	server := servers.MCPServers["understudy"]
	expect(t, server.Command == "understudy" && len(server.Args) == 0, "the server is %+v", server)
}
