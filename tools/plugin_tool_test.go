package tools

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"understudy/sessions"
)

// shop is the plugins of a test, which may change.
type shop struct{ plugins []PluginTool }

func (s *shop) open() []PluginTool { return s.plugins }

func (s *shop) stock(plugins ...PluginTool) { s.plugins = plugins }

func sqlQuery() PluginTool {
	yes := true
	return PluginTool{
		Name: "sql_query", Title: "SQL", Description: "Run a query.", ReadOnly: &yes,
		Schema: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string","description":"A file."},"limit":{"type":"integer","default":10},"options":{"type":"object"},"any":{}},"required":["path"],"additionalProperties":false}`),
	}
}

func waiter() PluginTool {
	return PluginTool{Name: "waiter", Description: "Has a wait of its own.", Schema: json.RawMessage(`{"type":"object","properties":{"wait":{"type":"string"}},"required":[],"additionalProperties":false}`)}
}

func pluginsOnly(s *shop) Options { return Options{Mode: ModePluginOnly, PluginTools: s.open} }

func toolNames(t *testing.T, c *client.Client) []string {
	t.Helper()
	listed, err := c.ListTools(t.Context(), mcp.ListToolsRequest{})
	must(t, err)
	names := []string{}
	for _, tool := range listed.Tools {
		names = append(names, tool.Name)
	}
	return names
}

// TestPluginTools looks at them as a client of either era gets them.
func TestPluginTools(t *testing.T) {
	for era, options := range eras {
		t.Run(era, func(t *testing.T) {
			s := &shop{}
			s.stock(sqlQuery(), waiter(), PluginTool{Name: "bad", Broken: "bad.yaml:3: no type"})
			c := connect(t, "tester", &fakeManager{}, pluginsOnly(s), options...)
			same(t, []string{"manage_interpreters", "sql_query", "waiter"}, toolNames(t, c))
			listed, err := c.ListTools(t.Context(), mcp.ListToolsRequest{})
			must(t, err)
			query := listed.Tools[1]
			a := query.Annotations
			expect(t, a.Title == "SQL" && *a.ReadOnlyHint && !(*a.DestructiveHint) && !(*a.IdempotentHint) && *a.OpenWorldHint, "annotations %+v", a)
			expect(t, !strings.Contains(listed.Tools[0].Description, "run_python_code"), "%+v", listed.Tools[0].Description)
			var names []string
			for name := range query.InputSchema.Properties {
				names = append(names, name)
			}
			less := cmpopts.SortSlices(func(a, b string) bool { return a < b })
			same(t, []string{"any", "interpreter_id", "limit", "options", "path", "timeout", "wait"}, names, less)
		})
	}
}

// TestServersTools: they have the schema that their server gives, whatever it says, and
// are called by their place in mcptools.
func TestServersTools(t *testing.T) {
	s, asked := &shop{}, sessions.RunRequest{}
	s.stock(PluginTool{
		Name: "github_search", Description: "Search issues.", Runs: "mcptools.github.search",
		Schema: json.RawMessage(`{"type":"object","properties":{"query":{"type":["string","null"]}},"required":["query"]}`),
	})
	m := &fakeManager{run: func(_ context.Context, _ sessions.Client, r sessions.RunRequest) (*sessions.Result, error) {
		asked = r
		return example(func(*sessions.Result) {}), nil
	}}
	c := connect(t, "tester", m, pluginsOnly(s))
	same(t, []string{"github_search", "manage_interpreters"}, toolNames(t, c))
	got := call(t, c, "github_search", `{"query":null,"interpreter_id":"7f"}`)
	expect(t, !got.IsError && asked.Kind == sessions.RunsPlugin && asked.Code == "mcptools.github.search" &&
		string(asked.Arguments) == `{"query":null}` && asked.InterpreterID == "7f", "%s: %+v", text(t, got), asked)
	got = call(t, c, "github_search", `{"qery":"x"}`)
	expect(t, got.IsError && strings.Contains(text(t, got), `did you mean "query"`), "%s", text(t, got))
}

// TestPluginsChange: the tools follow, and clients are told once.
func TestPluginsChange(t *testing.T) {
	s := &shop{}
	s.stock(sqlQuery())
	h := server.NewMCPServer("understudy", "test", server.WithToolCapabilities(true))
	m := answering(example(func(*sessions.Result) {}))
	refresh := Register(h, m, pluginsOnly(s))
	c, notifications := connectTo(t, h, "tester", client.WithLegacyProtocolOnly())
	same(t, []string{"manage_interpreters", "sql_query"}, toolNames(t, c))
	refresh() // nothing has changed
	s.stock(waiter(), PluginTool{Name: "sql_query", Broken: "half"}, PluginTool{Name: "manage_interpreters"})
	refresh()
	n := <-notifications
	expect(t, n.Method == mcp.MethodNotificationToolsListChanged, "%+v", n.Method)
	answer := call(t, c, "waiter", `{}`)
	expect(t, !answer.IsError, "%+v", text(t, answer))
	s.stock(waiter())
	refresh()
	answer = call(t, c, "sql_query", `{"path":"a"}`)
	expect(t, text(t, answer) == "there is no plugin sql_query any more; nothing was run. Call one of waiter", "%+v", text(t, answer))
	<-notifications
	s.stock(waiter(), PluginTool{Name: "sql_query", Broken: "half written"})
	refresh()
	answer = call(t, c, "sql_query", `{"path":"a"}`)
	expect(t, strings.Contains(text(t, answer), "half written"), "%+v", text(t, answer))
	same(t, []string{"manage_interpreters", "waiter"}, toolNames(t, c))
	n = <-notifications
	expect(t, n.Method == mcp.MethodNotificationToolsListChanged && len(notifications) == 0, "%+v %+v", n.Method, "and more")
}

// TestNoPlugins: the server serves, and says so to model and operator.
func TestNoPlugins(t *testing.T) {
	var log bytes.Buffer
	o := Options{Mode: ModePluginOnly, Logger: slog.New(slog.NewTextHandler(&log, nil))}
	c := connect(t, "tester", &fakeManager{}, o)
	same(t, []string{"manage_interpreters"}, toolNames(t, c))
	answer := call(t, c, "run_python_code", `{"code":"1"}`)
	expect(t, strings.Contains(text(t, answer), "there is no plugin that can be called"), "%+v", text(t, answer))
	expect(t, strings.Contains(o.Instructions(), "no plugin that can be called") && strings.Contains(log.String(), "there is no plugin"),
		"%s\n%s", o.Instructions(), log.String())
	o.ServerProblems = func() []string { return nil }
	expect(t, !strings.Contains(o.Instructions(), "no plugin"), "of servers that start nothing is known yet: %s", o.Instructions())
}

// TestAnonymousCallersHearWhereVariablesAre: their next call has another interpreter
// unless it names this one.
func TestAnonymousCallersHearWhereVariablesAre(t *testing.T) {
	c := connect(t, "tester", working(), Options{Client: func(context.Context) sessions.Client { return sessions.Anonymous }})
	const told = " Pass 7f as interpreter_id to run_python_code."
	got := text(t, call(t, c, "manage_interpreters", `{"operation":"set_variables","variables":{"key":"v","old":null}}`))
	expect(t, strings.HasSuffix(got, told), "%+v", got)
	got = text(t, call(t, c, "manage_interpreters", `{"operation":"set_variables","variables":{"key":"v","old":null},"interpreter_id":"7f"}`))
	expect(t, !strings.Contains(got, told), "%+v", got)
}

func TestNoSessionVariables(t *testing.T) {
	same(t, "Session variables of interpreter 7f: there was nothing to remove. None is set now.", settled(&sessions.Setting{InterpreterID: "7f"}))
}
