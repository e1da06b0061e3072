package workertest

import (
	"context"
	"encoding/json"
	"testing"

	"understudy/sessions"
)

const counter = `
from understudy_plugin import plugin

@plugin
class Counter:
    def __init__(self, context):
        self.context, self.n = context, context.config["first"]

    def __call__(self, by=1, deep=None):
        self.n += by
        return [self.n, deep, dict(self.context.session_variables)]
`

// testPlugins calls a plugin as a tool does and as code does, before and after it
// was said that it has changed.
func testPlugins(t *testing.T, s sessions.Starter) {
	w := Start(t, s)
	equip := func(first int, variable string) {
		t.Helper()
		plugin := sessions.Plugin{Name: "count", File: "count.py", Source: counter, Configuration: map[string]any{"first": first}}
		if err := w.Equip(context.Background(), sessions.Equipment{Plugins: []sessions.Plugin{plugin}, Variables: map[string]string{"user": variable}}); err != nil {
			t.Fatal(err)
		}
	}
	call := func(arguments, want string) {
		t.Helper()
		outcome, _ := RunFor(t, w, sessions.Request{Execution: 1, Kind: sessions.RunsPlugin, Code: "count", Arguments: json.RawMessage(arguments)})
		if string(outcome.Result) != want || outcome.ResultType != "list" || !outcome.Variables.Empty() {
			t.Errorf("%s: %s, a %s, %+v; want %s", arguments, outcome.Result, outcome.ResultType, outcome.Variables, want)
		}
	}
	equip(10, "ann")
	call(`{}`, `[11,null,{"user":"ann"}]`)
	call(`{"by":2,"deep":{"a":[true,null]}}`, `[13,{"a":[true,null]},{"user":"ann"}]`)
	_, sink := Run(t, w, "print(count()[0], 'user' in globals())")
	expect(t, sink, "14 False\n", "")

	equip(10, "bob") // the same plugin
	call(`{}`, `[15,null,{"user":"bob"}]`)
	equip(20, "bob") // another
	call(`{}`, `[21,null,{"user":"bob"}]`)
}
