package tools

import (
	"context"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"understudy/sessions"
)

// descriptionOf is what a client reads of run_python_code.
func descriptionOf(t *testing.T, c *client.Client) string {
	t.Helper()
	listed, err := c.ListTools(t.Context(), mcp.ListToolsRequest{})
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range listed.Tools {
		if tool.Name == runPythonCodeName {
			return tool.Description
		}
	}
	t.Fatalf("%s is not among %d tools", runPythonCodeName, len(listed.Tools))
	return ""
}

// TestDescriptionFollowsThePlugins: what is told of plugins is what there is, and
// clients hear of a change, once.
func TestDescriptionFollowsThePlugins(t *testing.T) {
	summary := "Plugins: {wait} of them"
	s := server.NewMCPServer("understudy", "test", server.WithToolCapabilities(true))
	refresh := Register(s, &fakeManager{}, Options{PluginSummary: func() string { return summary }})
	c, heard := connectTo(t, s, "tester", eras["legacy"]...)
	if d := descriptionOf(t, c); !strings.HasSuffix(d, "\nPlugins: {wait} of them") || !strings.Contains(d, "45 seconds") {
		t.Error(d)
	}
	refresh() // nothing is new
	summary = "Plugins: other ones"
	refresh()
	if method := (<-heard).Method; method != mcp.MethodNotificationToolsListChanged {
		t.Errorf("heard %s", method)
	}
	if len(heard) > 0 {
		t.Errorf("heard %v too", <-heard)
	}
	if d := descriptionOf(t, c); !strings.HasSuffix(d, "\nPlugins: other ones") {
		t.Error(d)
	}
	summary = ""
	refresh()
	if d := descriptionOf(t, c); strings.Contains(d, "Plugins") {
		t.Error(d)
	}
}

// TestAnonymousCallersHearWhereVariablesAre: their next call has another interpreter
// unless it names this one.
func TestAnonymousCallersHearWhereVariablesAre(t *testing.T) {
	c := connect(t, "tester", working(), Options{Client: func(context.Context) sessions.Client { return sessions.Anonymous }})
	const told = " Pass 7f as interpreter_id to run_python_code."
	if got := text(t, call(t, c, "manage_interpreters", `{"operation":"set_variables","variables":{"key":"v","old":null}}`)); !strings.HasSuffix(got, told) {
		t.Error(got)
	}
	if got := text(t, call(t, c, "manage_interpreters", `{"operation":"set_variables","variables":{"key":"v","old":null},"interpreter_id":"7f"}`)); strings.Contains(got, told) {
		t.Error(got)
	}
}

func TestNoSessionVariables(t *testing.T) {
	if got := settled(&sessions.Setting{InterpreterID: "7f"}); got != "Session variables of interpreter 7f: there was nothing to remove. None is set now." {
		t.Error(got)
	}
}
