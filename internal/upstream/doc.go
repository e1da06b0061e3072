// Package upstream is the client of other MCP servers, whose tools code calls as
// functions of the Python package mcptools. It satisfies sessions.Toolbox.
//
// The words:
//
//   - file: what --mcp names, in the form that MCP clients have for it.
//   - entry: what the file says of one server.
//   - server: one upstream server, connected to, watched and restarted.
//   - link: one connection to it, over stdio, HTTP or SSE; it ends once.
//   - secrets: the values of the file's env and headers, and of variables it names.
//   - consent: what a user has agreed to: a tool, in the form that it then had.
//
// Nothing that an upstream server may ask its client for is offered: it declares neither
// sampling nor elicitation nor roots, and a request for one is answered with an error.
// What a server says is not trusted: lists, answers, lines and schemas are bounded, and what
// it says of itself is quoted where a user decides.
//
// A stdio server has a process group of its own and the few variables of ours that programs
// need. It ends with all it started when its link does; when this server is killed its
// group is killed too on Linux, and finds its input closed elsewhere.
package upstream
