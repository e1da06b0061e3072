// Command understudy is an MCP server that gives LLM agents persistent Python
// sessions.
package main

import (
	"os"

	"understudy/internal/command"
)

func main() { os.Exit(command.Run(os.Args)) }
