package conformance

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

// link is how the Inspector reaches the server: its arguments before the method,
// and for stdio the server's command line after everything else.
type link struct{ before, after []string }

// links are the transports, each in the eras that it has.
func links(t *testing.T) map[string]link {
	t.Helper()
	line, env := commandLine(t, "--log-level", "warn")
	stdio := link{after: append([]string{"--"}, line...)}
	for _, variable := range env {
		stdio.before = append(stdio.before, "-e", variable)
	}
	address := serve(t, "--transport", "http,sse")
	http := link{before: []string{"--transport", "http", "--server-url", address + "/mcp"}}
	sse := link{before: []string{"--transport", "sse", "--server-url", address + "/sse"}}
	return map[string]link{
		"stdio": stdio.in("legacy"), "stdio modern": stdio.in("modern"),
		"http": http.in("legacy"), "http modern": http.in("modern"),
		"sse": sse.in("legacy"),
	}
}

func (l link) in(era string) link {
	l.before = append(slices.Clone(l.before), "--protocol-era", era)
	return l
}

// TestInspector has the Inspector read everything that the server lists, look
// for what is wrong with the tools' schemas, and call a tool.
func TestInspector(t *testing.T) {
	t.Parallel()
	program := installed(t, "node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js")
	for name, l := range links(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inspect := func(arguments ...string) string {
				t.Helper()
				return l.inspect(t, program, arguments...)
			}
			tools := inspect("--method", "tools/list", "--strict")
			expect(t, strings.Contains(tools, `"run_python_code"`), "the tools are %s", tools)
			inspect("--method", "resources/list")
			inspect("--method", "resources/templates/list")
			inspect("--method", "prompts/list")
			answer := inspect("--method", "tools/call", "--tool-name", "run_python_code",
				"--tool-args-json", `{"code": "import matplotlib.pyplot as plt\nplt.plot([1, 4, 9])\nprint('here', 'it', 'is')"}`)
			got := kinds(t, answer)
			expect(t, slices.Equal(got, []string{"text", "image"}) && strings.Contains(answer, "here it is"), "the answer has %v: %s", got, answer)
		})
	}
}

// inspect runs the Inspector, which must have nothing to complain of, and
// returns what it prints.
func (l link) inspect(t *testing.T, path string, arguments ...string) string {
	t.Helper()
	args := slices.Concat([]string{path, "--cli"}, l.before, []string{"--connect-timeout", "120000", "--format", "json"}, arguments, l.after)
	said := finish(t, program(t, node(t), args...))
	insist(t, said.status == 0 && said.stderr == "", "%v ended with %s", arguments, said)
	return said.stdout
}

// kinds returns the types of a tool's answer.
func kinds(t *testing.T, answer string) (kinds []string) {
	t.Helper()
	var printed struct {
		Result struct{ Content []struct{ Type string } }
	}
	err := json.Unmarshal([]byte(answer), &printed)
	insist(t, err == nil, "%v: %s", err, answer)
	for _, content := range printed.Result.Content {
		kinds = append(kinds, content.Type)
	}
	return kinds
}
