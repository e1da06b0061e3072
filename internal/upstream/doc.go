// Package upstream is the client of other MCP servers, whose tools code calls as
// functions of the Python package mcptools.
package upstream
