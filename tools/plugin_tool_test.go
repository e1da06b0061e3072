package tools

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
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
	if err != nil {
		t.Fatal(err)
	}
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
			if diff := cmp.Diff([]string{"manage_interpreters", "sql_query", "waiter"}, toolNames(t, c)); diff != "" {
				t.Error(diff)
			}
			listed, err := c.ListTools(t.Context(), mcp.ListToolsRequest{})
			if err != nil {
				t.Fatal(err)
			}
			query := listed.Tools[1]
			a := query.Annotations
			if a.Title != "SQL" || !*a.ReadOnlyHint || *a.DestructiveHint || *a.IdempotentHint || !*a.OpenWorldHint {
				t.Errorf("annotations %+v", a)
			}
			if strings.Contains(listed.Tools[0].Description, "run_python_code") {
				t.Error(listed.Tools[0].Description)
			}
			var names []string
			for name := range query.InputSchema.Properties {
				names = append(names, name)
			}
			less := cmpopts.SortSlices(func(a, b string) bool { return a < b })
			if diff := cmp.Diff([]string{"any", "interpreter_id", "limit", "options", "path", "timeout", "wait"}, names, less); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestPluginCallPassesOn: what the agent asks for is what the Manager hears.
func TestPluginCallPassesOn(t *testing.T) {
	for name, test := range map[string]struct {
		tool, arguments string
		want            sessions.RunRequest
	}{
		"least":   {"sql_query", `{"path":"a"}`, sessions.RunRequest{Code: "sql_query", Arguments: json.RawMessage(`{"path":"a"}`)}},
		"all":     {"sql_query", `{"path":"a","limit":3.0,"options":{"x":[true,null]},"any":null,"interpreter_id":"7f","timeout":1.5,"wait":0.01}`, sessions.RunRequest{Code: "sql_query", Arguments: json.RawMessage(`{"any":null,"limit":3,"options":{"x":[true,null]},"path":"a"}`), InterpreterID: "7f", Timeout: 1500 * time.Millisecond, Wait: 10 * time.Millisecond}},
		"its own": {"waiter", `{"wait":"long"}`, sessions.RunRequest{Code: "waiter", Arguments: json.RawMessage(`{"wait":"long"}`)}},
		"none":    {"waiter", `null`, sessions.RunRequest{Code: "waiter", Arguments: json.RawMessage(`{}`)}},
	} {
		t.Run(name, func(t *testing.T) {
			var got sessions.RunRequest
			m := &fakeManager{run: func(_ context.Context, _ sessions.Client, r sessions.RunRequest) (*sessions.Result, error) {
				got = r
				return example(func(r *sessions.Result) { r.Result, r.ResultType = json.RawMessage("[1, null]"), "list" }), nil
			}}
			s := &shop{}
			s.stock(sqlQuery(), waiter())
			answer := call(t, connect(t, "tester", m, pluginsOnly(s)), test.tool, test.arguments)
			if answer.IsError || !strings.Contains(text(t, answer), "[result] list\n[1,null]") {
				t.Error(text(t, answer))
			}
			test.want.Kind = sessions.RunsPlugin
			if diff := cmp.Diff(test.want, got, cmpopts.IgnoreFields(sessions.RunRequest{}, "Progress")); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestPluginRefusals: nothing reaches the Manager (its fields are nil).
func TestPluginRefusals(t *testing.T) {
	s := &shop{}
	s.stock(sqlQuery(), PluginTool{Name: "bad", Broken: "bad.yaml:3: no type"}, PluginTool{Name: "odd", Schema: json.RawMessage(`{"type":"array"}`)})
	c := connect(t, "tester", &fakeManager{}, pluginsOnly(s))
	for name, test := range map[string]struct{ tool, arguments, want string }{
		"code":     {"run_python_code", `{"code":"1+1"}`, "this server runs plugins only, no code; nothing was run. Call one of sql_query, odd"},
		"broken":   {"bad", `{}`, "plugin bad is broken: bad.yaml:3: no type; nothing was run. Tell the user to ask the operator"},
		"schema":   {"odd", `{}`, "plugin odd is broken: the schema of odd describes no object; nothing was run. Tell the user to ask the operator"},
		"missing":  {"sql_query", `{}`, `argument "path" is required for sql_query`},
		"misspelt": {"sql_query", `{"path":"a","limt":1}`, `unknown argument "limt" for sql_query; did you mean "limit"?`},
		"type":     {"sql_query", `{"path":"a","limit":"many"}`, `argument "limit" must be a whole number, not the string "many"`},
		"timeout":  {"sql_query", `{"path":"a","timeout":-1}`, `argument "timeout" must be at least 0 seconds, not -1`},
	} {
		if answer := call(t, c, test.tool, test.arguments); !answer.IsError || text(t, answer) != test.want {
			t.Errorf("%s: %s", name, text(t, answer))
		}
	}
}

// TestPluginsChange: the tools follow, and clients are told once.
func TestPluginsChange(t *testing.T) {
	s := &shop{}
	s.stock(sqlQuery())
	h := server.NewMCPServer("understudy", "test", server.WithToolCapabilities(true))
	m := answering(example(func(*sessions.Result) {}))
	refresh := Register(h, m, pluginsOnly(s))
	c, notifications := connectTo(t, h, "tester", client.WithLegacyProtocolOnly())
	if diff := cmp.Diff([]string{"manage_interpreters", "sql_query"}, toolNames(t, c)); diff != "" {
		t.Error(diff)
	}
	refresh() // nothing has changed
	s.stock(waiter(), PluginTool{Name: "sql_query", Broken: "half"}, PluginTool{Name: "manage_interpreters"})
	refresh()
	if n := <-notifications; n.Method != mcp.MethodNotificationToolsListChanged {
		t.Error(n.Method)
	}
	if answer := call(t, c, "waiter", `{}`); answer.IsError {
		t.Error(text(t, answer))
	}
	s.stock(waiter())
	refresh()
	if answer := call(t, c, "sql_query", `{"path":"a"}`); text(t, answer) != "there is no plugin sql_query any more; nothing was run. Call one of waiter" {
		t.Error(text(t, answer))
	}
	<-notifications
	s.stock(waiter(), PluginTool{Name: "sql_query", Broken: "half written"})
	refresh()
	if answer := call(t, c, "sql_query", `{"path":"a"}`); !strings.Contains(text(t, answer), "half written") {
		t.Error(text(t, answer))
	}
	if diff := cmp.Diff([]string{"manage_interpreters", "waiter"}, toolNames(t, c)); diff != "" {
		t.Error(diff)
	}
	if n := <-notifications; n.Method != mcp.MethodNotificationToolsListChanged || len(notifications) > 0 {
		t.Error(n.Method, "and more")
	}
}

// TestNoPlugins: the server serves, and says so to model and operator.
func TestNoPlugins(t *testing.T) {
	var log bytes.Buffer
	o := Options{Mode: ModePluginOnly, Logger: slog.New(slog.NewTextHandler(&log, nil))}
	c := connect(t, "tester", &fakeManager{}, o)
	if diff := cmp.Diff([]string{"manage_interpreters"}, toolNames(t, c)); diff != "" {
		t.Error(diff)
	}
	if answer := call(t, c, "run_python_code", `{"code":"1"}`); !strings.Contains(text(t, answer), "there is none that can be called") {
		t.Error(text(t, answer))
	}
	if !strings.Contains(o.Instructions(), "no plugin that can be called") || !strings.Contains(log.String(), "there is no plugin") {
		t.Errorf("%s\n%s", o.Instructions(), log.String())
	}
}

func TestInstructionsOfModes(t *testing.T) {
	s := &shop{}
	s.stock(sqlQuery())
	// Some clients pass on the first 512 characters only.
	if text := pluginsOnly(s).Instructions(); len(text) < 100 || len(text) > 512 {
		t.Errorf("instructions of %d characters", len(text))
	}
	if (Options{}).Instructions() == pluginsOnly(s).Instructions() {
		t.Error("the full mode has the same")
	}
}

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
