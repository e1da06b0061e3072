package tools

import (
	"context"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"understudy/sessions"
)

// TestWhoGivesUpEarlyIsAnsweredBefore: OpenAI's Agents SDK and AutoGen list the tools
// first, LangChain and LlamaIndex open a session for each call.
func TestWhoGivesUpEarlyIsAnsweredBefore(t *testing.T) {
	for name, test := range map[string]struct {
		client, arguments string
		lists, progress   bool
		o                 Options
		want              time.Duration
	}{
		"a framework":                {client: "mcp", lists: true, want: 4 * time.Second},
		"with a wait of its own":     {client: "mcp", lists: true, arguments: `,"wait":30`, want: 30 * time.Second},
		"with a zero that is filled": {client: "mcp", lists: true, arguments: `,"wait":0`, want: 4 * time.Second},
		"an operator who waits less": {client: "mcp", lists: true, o: Options{DefaultWait: time.Second}, want: time.Second},
		"a program that calls first": {client: "mcp", want: 0},
		"one that wants progress":    {client: "mcp", lists: true, progress: true, want: 0},
		"one of another name":        {client: "fastmcp", lists: true, want: 0},
	} {
		for _, tool := range []string{runPythonCodeName, manageInterpretersName} {
			t.Run(name+" "+tool, func(t *testing.T) {
				var waited time.Duration
				m := &fakeManager{
					run: func(_ context.Context, _ sessions.Client, r sessions.RunRequest) (*sessions.Result, error) {
						waited = r.Wait
						return example(func(*sessions.Result) {}), nil
					},
					wait: func(_ context.Context, _ sessions.Client, _ string, wait time.Duration, _ func(sessions.Progress)) (*sessions.Result, error) {
						waited = wait
						return example(func(*sessions.Result) {}), nil
					},
				}
				c := connect(t, test.client, m, test.o)
				if test.lists {
					if _, err := c.ListTools(t.Context(), mcp.ListToolsRequest{}); err != nil {
						t.Fatal(err)
					}
				}
				var request mcp.CallToolRequest
				request.Params.Name = tool
				request.Params.RawArguments = []byte(`{"code":"x"` + test.arguments + `}`)
				if tool == manageInterpretersName {
					request.Params.RawArguments = []byte(`{"operation":"wait"` + test.arguments + `}`)
				}
				if test.progress {
					request.Params.Meta = &mcp.Meta{ProgressToken: "p"}
				}
				for range 2 { // having called once, a program lists, and is known for what it was
					if _, err := c.CallTool(t.Context(), request); err != nil {
						t.Fatal(err)
					}
					if _, err := c.ListTools(t.Context(), mcp.ListToolsRequest{}); err != nil {
						t.Fatal(err)
					}
				}
				if waited != test.want {
					t.Errorf("it is kept waiting for %s, want %s", waited, test.want)
				}
			})
		}
	}
}

func TestBeginningsAreBounded(t *testing.T) {
	var b beginnings
	for i := range 2*mostKnown + 5 {
		b.note(sessions.Client("session:"+time.Duration(i).String()), true)
	}
	if len(b.listed) > mostKnown {
		t.Errorf("%d clients are remembered", len(b.listed))
	}
}
