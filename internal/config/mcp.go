package config

import (
	"errors"
	"fmt"
	"strings"
)

// MCP are the settings of other MCP servers, whose tools code can call.
type MCP struct {
	MCP         string   `name:"mcp" type:"path" placeholder:"FILE" group:"Tools of other servers" help:"JSON file with an mcpServers block, as clients have it: code calls the tools of these servers as functions of the package mcptools."`
	MCPAllow    []string `name:"mcp-allow" type:"servertools" placeholder:"SERVER.TOOL,…" group:"Tools of other servers" help:"Tools that code may call without asking beside those that say they only read, separated by commas, as github.create_issue; github.* are all of a server, and * all of all."`
	MCPMaxCalls int      `name:"mcp-max-calls" least:"1" default:"1000" group:"Tools of other servers" help:"How many calls of such tools one run may make."`
}

func (m MCP) check() error {
	if m.MCP == "" && len(m.MCPAllow) > 0 {
		return errors.New("mcp-allow names tools of servers, and there are none: say with --mcp which file describes them")
	}
	return nil
}

// parseServerTool takes the name of a server and of a tool of its, all of a server's, or all.
func parseServerTool(text string) (string, error) {
	server, tool, named := strings.Cut(text, ".")
	if text != "*" && (!named || server == "" || tool == "") {
		return "", fmt.Errorf("%q is not the name of a server's tool; write github.create_issue, github.* or *", text)
	}
	return text, nil
}
