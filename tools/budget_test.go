package tools

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/mark3labs/mcp-go/mcp"

	"understudy/schemas"
	"understudy/sessions"
	"understudy/tools/answer"
)

// TestResultSize: Claude Code is told what the budget needs, within its bounds.
func TestResultSize(t *testing.T) {
	for chosen, want := range map[int]float64{0: 18_000, 200_000: 210_000, 3_000_000: 500_000} {
		c := connect(t, "claude-code", &fakeManager{}, Options{Answers: answer.Options{TextBudget: chosen}})
		listed, err := c.ListTools(t.Context(), mcp.ListToolsRequest{})
		must(t, err)
		for _, tool := range listed.Tools {
			got := tool.Meta.AdditionalFields["anthropic/maxResultSizeChars"]
			expect(t, got == want, "%s with a budget of %d: %v, want %v", tool.Name, chosen, got, want)
		}
	}
}

// TestNoReplyIsTooLong: the other operations' answers, and errors.
func TestNoReplyIsTooLong(t *testing.T) {
	t.Parallel()
	listings := make([]sessions.Listing, 600)
	variables := make([]sessions.Variable, 600)
	for i := range listings {
		listings[i] = sessions.Listing{ID: fmt.Sprint(i), Workdir: strings.Repeat("\x01", 300), Obstacle: strings.Repeat("o", 500)}
	}
	for i := range variables {
		variables[i] = sessions.Variable{Name: fmt.Sprint("v", i), Type: strings.Repeat("t", 500), Repr: strings.Repeat("\x01", 500)}
	}
	long := strings.Repeat("\x01long ", 30_000)
	m := &fakeManager{
		list: func(context.Context, sessions.Client) ([]sessions.Listing, error) { return listings, nil },
		variables: func(context.Context, sessions.Client, string) (sessions.Namespace, []string, error) {
			return sessions.Namespace{Variables: variables, Functions: []string{long}, Imports: []string{long, long}}, []string{long}, nil
		},
		undo: func(context.Context, sessions.Client, string) (*sessions.Undone, error) {
			return &sessions.Undone{InterpreterID: "x", Message: long, Notes: []string{long}}, nil
		},
		delete: func(context.Context, sessions.Client, string) error {
			return sessions.Errorf(sessions.CodeNotFound, "%s", long)
		},
		restart: func(context.Context, sessions.Client, string) (sessions.Listing, error) {
			return sessions.Listing{}, errors.New(long)
		},
	}
	for _, o := range []Options{{}, {Answers: answer.Options{TextBudget: 1 << 30, ImageBudget: 1 << 40}}} {
		c := connect(t, "", m, o)
		for _, operation := range []string{"list", "variables", "undo", "delete", "restart", long} {
			arguments, err := json.Marshal(map[string]string{"operation": operation, "interpreter_id": "x"})
			must(t, err)
			got := call(t, c, "manage_interpreters", string(arguments))
			size := answer.Size(got)
			expect(t, size <= min(cmp.Or(o.Answers.ImageBudget, 900_000), answer.MostBytes), "%.20s: %d bytes", operation, size)
		}
	}
	got := newToolbox(nil, nil, Options{}).failure("x", &schemas.ArgumentError{Message: long})
	n := utf8.RuneCountInString(text(t, got))
	expect(t, n <= answer.MostError, "an error of %d characters", n)
}
