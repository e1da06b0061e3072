package live

import (
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"understudy/internal/journal"
	"understudy/sessions"
)

// TestToolCalls are counted where code runs and where it has ended, and listed where it is opened.
func TestToolCalls(t *testing.T) {
	u := aPicture()
	u.executions[3].ToolCalls = map[string]int{"github": 10, "ti\x07me": 2}
	u.heartbeats[0].ToolCalls = map[string]int{"github": 1}
	var out strings.Builder
	_, err := newFollower(Options{}, &out).take(u)
	expect(t, err == nil && strings.Contains(out.String(), "@1 trial #4 (improve) ok in 3.2 s, 12 tool calls (github 10, time 2), accuracy 0.9"), "%v\n%s", err, &out)
	s := shows(u, 120, 44)
	view := ansi.Strip(strings.Join(s.now(400, 40), "\n"))
	expect(t, strings.Contains(view, "212 MB  1 tool call (github 1)  1 call waiting"), "what runs:\n%s", view)

	opened := u.executions[3]
	opened.Detail = &journal.Detail{ToolUses: []sessions.ToolUse{
		{Server: "github", Tool: "search", Arguments: []byte(`{"query":"` + strings.Repeat("x", 5000) + `"}`), Seconds: 0.25, Status: sessions.ToolOK, Bytes: 2000},
		{Server: "time", Tool: "now", Seconds: 0.5, Status: "denied", Message: "nobody\x1b[31m could be\x07 asked\nmore"},
	}}
	press(s, "b")
	press(s, "enter")
	u.opened = &opened
	s.take(u)
	page := strings.Join(s.detail(400), "\n")
	for _, want := range []string{"\n12 tool calls (github 10, time 2)\n", "\nTool calls\ngithub.search {\"query\":\"xxx", "x… → 2 KB in 0.2 s\n", "\ntime.now → denied in 0.5 s: nobody could be asked"} {
		expect(t, strings.Contains(ansi.Strip(page), want), "no %q in\n%s", want, page)
	}
}
