package config

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestServersOfOthers(t *testing.T) {
	c := must(t, configFile(t, "mcp: servers.json\nmcp-allow: [github.create_issue, brave-search.*]\n"))
	m := c.Serve.MCP
	expect(t, filepath.IsAbs(m.MCP) && filepath.Base(m.MCP) == "servers.json" && m.MCPMaxCalls == 1000 &&
		slices.Equal(m.MCPAllow, []string{"github.create_issue", "brave-search.*"}), "%+v", m)
	m = must(t, nil, "--mcp", "a.json", "--mcp-allow", "*", "--mcp-max-calls", "5").Serve.MCP
	expect(t, slices.Equal(m.MCPAllow, []string{"*"}) && m.MCPMaxCalls == 5, "%+v", m)
	expect(t, slices.Contains(must(t, nil, "--mcp", "a.json").Secrets(), m.MCP), "code may read %s", m.MCP)
}

func TestMistakesAboutServersOfOthers(t *testing.T) {
	for want, args := range map[string][]string{
		"say with --mcp which file":                         {"--mcp-allow", "github.*"},
		`"create_issue" is not the name of a server's tool`: {"--mcp", "a.json", "--mcp-allow", "create_issue"},
		`"github." is not the name`:                         {"--mcp", "a.json", "--mcp-allow", "github."},
		"mcp-max-calls is 0; it must be at least 1":         {"--mcp", "a.json", "--mcp-max-calls", "0"},
	} {
		_, err := try(t, nil, args...)
		expect(t, err != nil && strings.Contains(err.Error(), want), "%q: %v", args, err)
	}
}
