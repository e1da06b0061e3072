package tools

import (
	"context"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"

	"understudy/sessions"
)

func TestCommandsThatAreRefused(t *testing.T) {
	c := connect(t, "tester", &fakeManager{}, Options{Mode: ModeCLIOnly})
	for arguments, want := range map[string]string{
		`{}`:                               `"command"`,
		`{"command": ""}`:                  `argument "command" is empty`,
		`{"command": " \n"}`:               `argument "command" is empty`,
		`{"command": "a\u0000b"}`:          "null character",
		`{"command": "ls", "reset": true}`: `"reset"`,
		`{"command": "` + strings.Repeat("x", longestCommand+1) + `"}`: "upload",
	} {
		answer := call(t, c, "run_shell_command", arguments)
		expect(t, answer.IsError && strings.Contains(text(t, answer), want), "%.40s: %s", arguments, text(t, answer))
	}
}

// TestWhatAModeDoesNotHave: what an agent may have learnt of elsewhere is refused
// with what to do here, and sentences name the tools that there are.
func TestWhatAModeDoesNotHave(t *testing.T) {
	for era, options := range eras {
		t.Run(era, func(t *testing.T) {
			m := &fakeManager{
				restart: func(context.Context, sessions.Client, string) (sessions.Listing, error) {
					return sessions.Listing{}, sessions.Errorf(sessions.CodeNotFound, "there is no interpreter yet; run_python_code makes one")
				},
				list: func(context.Context, sessions.Client) ([]sessions.Listing, error) { return nil, nil },
			}
			c := connect(t, "tester", m, Options{Mode: ModeCLIOnly}, options...)
			answer := call(t, c, "run_python_code", `{"code": "1"}`)
			expect(t, answer.IsError && strings.Contains(text(t, answer), "Call run_shell_command"), "%+v", text(t, answer))
			for _, operation := range []string{"restart", "list"} {
				got := text(t, call(t, c, "manage_interpreters", `{"operation": "`+operation+`"}`))
				expect(t, strings.Contains(got, "run_shell_command") && !strings.Contains(got, "run_python_code"), "%s: %s", operation, got)
			}
			prompts, err := c.ListPrompts(t.Context(), mcp.ListPromptsRequest{})
			expect(t, err != nil || len(prompts.Prompts) == 0, "prompts about Python: %v", prompts.Prompts)
		})
	}
}
