"""What code imports as mcptools: the tools of other MCP servers, as functions."""
