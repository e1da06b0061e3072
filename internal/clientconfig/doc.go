// Package clientconfig tells MCP clients of a server: by the command that a client has
// for it, else in the client's file. The files are other people's: everything in them
// that is not the server's own entry stays as it was, to the comment and the line ending.
//
// The words:
//
//   - client: a program that runs MCP servers, as Claude Desktop.
//   - scope: whether a file holds for the user everywhere or for one project.
//   - server: what is to be written: a name, a command and its arguments.
//   - entry: the server in a file, with what the user may have added to it.
package clientconfig
