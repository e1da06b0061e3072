// Package upstream is the client of other MCP servers, whose tools code calls as
// functions of the Python package mcptools. It reads the mcpServers block of a client's
// configuration (file.go), keeps a connection to each server (server.go, stdio.go,
// connect.go), and answers what code asks (sessions.Toolbox).
//
// What comes from a server is a stranger's: lists, schemas and messages are bounded, names
// are made fit for Python, a server that dies is started again with growing pauses. It is
// offered nothing itself: no sampling, no elicitation, no roots. Its credentials stay in
// this process, and are masked in what is logged or told.
package upstream
