package tools

import (
	"testing"

	"github.com/mark3labs/mcp-go/client"
)

// TestStructuredContent: each kind of client, in both eras, gets the record or
// not, and always the text.
func TestStructuredContent(t *testing.T) {
	for era, options := range eras {
		for _, test := range []struct {
			client, choice string
			want           bool
		}{
			{"some-agent", StructuredAuto, true},
			{"", StructuredAuto, true},
			{"claude-code", StructuredAuto, false},
			{"Visual Studio Code", StructuredAuto, false},
			{"Visual Studio Code - Insiders", StructuredAuto, false},
			{"codex-mcp-client", StructuredAuto, false},
			{"claude-code", StructuredAlways, true},
			{"some-agent", StructuredNever, false},
		} {
			t.Run(era+" "+test.client+" "+test.choice, func(t *testing.T) {
				checkStructured(t, test.client, test.choice, test.want, options)
			})
		}
	}
}

func checkStructured(t *testing.T, name, choice string, want bool, options []client.ClientOption) {
	t.Helper()
	result := ok()
	result.Stdout = "hello\n"
	c := connect(t, name, answering(&result), Options{StructuredContent: choice}, options...)
	answer := call(t, c, "run_python_code", `{"code":"print('hello')"}`)
	record, got := answer.StructuredContent.(map[string]any)
	if got != want {
		t.Errorf("structuredContent present: %v, want %v", got, want)
	}
	if got && record["stdout"] != "hello\n" {
		t.Errorf("record %v", record)
	}
	if text := text(t, answer); text != "hello\n[ok] execution 3 in interpreter 7f3a9c, 3 milliseconds (time limit 1 hour)" {
		t.Errorf("text %q", text)
	}
}
