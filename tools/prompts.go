package tools

import (
	"context"
	_ "embed"
	"fmt"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

var (
	//go:embed prompts/analyze.md
	analyzeText string
	//go:embed prompts/debug.md
	debugText string
	//go:embed prompts/compare.md
	compareText string
)

// promptArgument is what a user may fill in. An empty otherwise means that they
// must; else it stands in their place.
type promptArgument struct{ name, description, otherwise string }

// prompt is an entry of a client's menu: a text for the model, with {name}
// where an argument goes.
type prompt struct {
	name, title, description string
	text                     string
	arguments                []promptArgument
}

// prompts is the only list of the prompts.
var prompts = []prompt{
	{
		name: "analyze", title: "Analyze data", text: analyzeText,
		description: "Work out a data task step by step in Python, with plots.",
		arguments: []promptArgument{
			{"task", "What to find out.", ""},
			{"data", "Where the data is: a file, a URL, a variable.", "find out from the task and the working directory; ask if it is not there"},
		},
	},
	{
		name: "debug", title: "Debug Python code", text: debugText,
		description: "Reproduce a failure, find its cause, mend it and check.",
		arguments:   []promptArgument{{"problem", "The code that fails, or where it is, and what goes wrong.", ""}},
	},
	{
		name: "compare", title: "Compare approaches", text: compareText,
		description: "Try several approaches on copies of one interpreter and measure them.",
		arguments: []promptArgument{
			{"question", "What the approaches are to achieve, and how success is measured.", ""},
			{"approaches", "Which ones to try.", "choose three that differ in kind"},
		},
	},
}

// Prompts returns what clients' menus offer, for the documentation.
func Prompts() []mcp.Prompt {
	declared := make([]mcp.Prompt, len(prompts))
	for i, p := range prompts {
		declared[i] = p.declaration()
	}
	return declared
}

// addPrompts adds the prompts to the server.
func addPrompts(s *server.MCPServer) {
	for _, p := range prompts {
		s.AddPrompt(p.declaration(), p.get)
	}
}

func (p prompt) declaration() mcp.Prompt {
	declared := mcp.NewPrompt(p.name, mcp.WithPromptDescription(p.description))
	declared.Title = p.title
	for _, a := range p.arguments {
		declared.Arguments = append(declared.Arguments, mcp.PromptArgument{Name: a.name, Description: a.description, Required: a.otherwise == ""})
	}
	return declared
}

// get is the handler of prompts/get.
func (p prompt) get(_ context.Context, request mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
	text, err := p.fill(request.Params.Arguments)
	if err != nil {
		return nil, err
	}
	return &mcp.GetPromptResult{
		Description: p.description,
		Messages:    []mcp.PromptMessage{mcp.NewPromptMessage(mcp.RoleUser, mcp.NewTextContent(text))},
	}, nil
}

// fill puts the arguments into the text, all at once, so that braces in one of
// them stay what they are.
func (p prompt) fill(given map[string]string) (string, error) {
	var pairs []string
	for _, a := range p.arguments {
		value := strings.TrimSpace(given[a.name])
		switch {
		case value == "" && a.otherwise == "":
			return "", fmt.Errorf("argument %q of prompt %q is missing: %s", a.name, p.name, a.description)
		case value == "":
			value = a.otherwise
		}
		pairs = append(pairs, "{"+a.name+"}", cutBytes(value, usualText, mostBytes/4))
	}
	return strings.TrimSpace(strings.NewReplacer(pairs...).Replace(p.text)), nil
}
