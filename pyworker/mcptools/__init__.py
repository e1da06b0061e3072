"""What the user's code imports as mcptools: the tools of other MCP servers.

The server (internal/upstream in Go) knows them and calls them; this package makes
functions of them and passes calls on.
"""
