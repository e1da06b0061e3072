package answer

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/mark3labs/mcp-go/mcp"

	"understudy/sessions"
)

// TestProfiles: what clients call themselves leads to their entry in the table.
func TestProfiles(t *testing.T) {
	for name, want := range map[string]string{
		"":                              "all others",
		"some-agent":                    "all others",
		"claude-ai":                     "Claude Desktop, claude.ai",
		"claude-ai (via mcp-remote 1)":  "Claude Desktop, claude.ai",
		"claude-code":                   "Claude Code",
		"Claude-Code":                   "Claude Code",
		"Visual Studio Code":            "VS Code",
		"Visual Studio Code - Insiders": "VS Code",
		"cursor-vscode":                 "Cursor",
		"codex-mcp-client":              "Codex",
		"openai-mcp":                    "ChatGPT",
		"mcp":                           "OpenAI Agents SDK, AutoGen, others on the Python SDK",
		"mcp-inspector":                 "all others",
	} {
		got := profileOf(name).Client
		expect(t, got == want, "%q is %s, want %s", name, got, want)
	}
}

func TestChosen(t *testing.T) {
	for name, test := range map[string]struct {
		options Options
		client  string
		want    [3]int // text, side, bytes
		record  bool
	}{
		"nothing chosen":         {Options{}, "", [3]int{8_000, 1568, 900_000}, true},
		"small client":           {Options{}, "Visual Studio Code", [3]int{8_000, 1568, 900_000}, false},
		"flags win":              {Options{TextBudget: 9000, ImageMaxSide: 700, ImageBudget: 50_000, StructuredContent: StructuredAlways}, "codex", [3]int{9000, 700, 50_000}, true},
		"but not over the limit": {Options{ImageBudget: 1 << 40, StructuredContent: StructuredNever}, "", [3]int{8_000, 1568, MostBytes}, false},
	} {
		got := box(test.options).chosen(profileOf(test.client))
		sizes := [3]int{got.Text, got.Side, got.Bytes}
		expect(t, sizes == test.want && got.Record == test.record, "%s: %v, record %v", name, sizes, got.Record)
	}
	expect(t, SmallestText(0) == 8_000 && SmallestText(5000) == 5000 && LargestSide(0) == 1568 && LargestSide(99) == 99, "the extremes of the table are others")
}

// numbered are so many lines, none like another.
func numbered(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintln(&b, "line", i)
	}
	return b.String()
}

// floods are results that fill a message in every way there is: with many
// characters, which travel as six times as many bytes.
func floods(t *testing.T, many int) map[string]*sessions.Result {
	t.Helper()
	noise, small := photo(t, 60, 50), plot(t, 100, 80)
	return map[string]*sessions.Result{
		"output": example(func(r *sessions.Result) {
			r.Stdout, r.Stderr = strings.Repeat("\x1b<é😀\u2028", many/64), strings.Repeat("\x00", many)
			r.TermOut = []string{r.Stdout, r.Stderr}
		}),
		"value": example(func(r *sessions.Result) {
			r.Result, r.ResultEncoding = json.RawMessage(`"`+strings.Repeat(`\u0000`, many)+`"`), "json"
			r.ResultType = strings.Repeat("T", many)
		}),
		"error": example(func(r *sessions.Result) {
			r.Status, r.ExcType = sessions.StatusError, strings.Repeat("E", many/8)
			r.Traceback = strings.Repeat("\x00", many)
			r.ExcInfo = &sessions.ExceptionInfo{Name: strings.Repeat("n", many/8), Msg: strings.Repeat("m", many/8), Args: []json.RawMessage{json.RawMessage(`"` + strings.Repeat("x", many/8) + `"`)}}
			r.ExcStack = []sessions.StackFrame{{File: strings.Repeat("f", many/8), Text: strings.Repeat("g", many/8), Function: strings.Repeat("h", many/8)}}
		}),
		"crash": example(func(r *sessions.Result) {
			lost := false
			r.Status, r.InterpreterRestarted, r.StateRestored = sessions.StatusCrashed, true, &lost
			r.RestartReason, r.Heading = strings.Repeat("\x00", many), strings.Repeat("\x00", 1000)
			for range many / 1000 {
				r.Notes = append(r.Notes, strings.Repeat("note ", 100))
			}
		}),
		"figures": example(func(r *sessions.Result) {
			r.Figures = figuresOf(append(repeat(noise, max(2, many/200_000)), repeat(small, 6)...)...)
			for i := range r.Figures {
				r.Figures[i].Title = strings.Repeat("<", 100_000)
				r.FigStoragePath = append(r.FigStoragePath, r.Figures[i].Path)
			}
		}),
	}
}

// TestNoMessageIsTooLong: whatever a result holds and the operator chose, an
// answer travels within the limit, with its closing line and without base64.
func TestNoMessageIsTooLong(t *testing.T) {
	t.Parallel()
	for choice, test := range map[string]struct {
		options Options
		many    int
	}{
		"by client": {Options{}, 200_000},
		"unbounded": {Options{TextBudget: 1 << 30, ImageBudget: 1 << 40, ImageMaxSide: 1 << 20, Figures: FiguresInline}, 1_700_000},
		"least":     {Options{TextBudget: 1000, ImageBudget: 10_000}, 200_000},
	} {
		for name, result := range floods(t, test.many) {
			if test.many > 1<<20 && name != "output" {
				continue // seconds each, and bounded as the smaller ones are
			}
			t.Run(name+" "+choice, func(t *testing.T) {
				test.options.StructuredContent = StructuredAlways
				b := box(test.options)
				answer := b.Answer(t.Context(), mcp.CallToolRequest{}, result, Call{Variable: "x"})
				most := b.chosen(profileOf("")).Bytes
				size := Size(answer)
				expect(t, size <= max(most, 40_000) && size <= MessageLimit-1000, "%d bytes, at most %d wanted", size, most)
				words := text(t, answer)
				expect(t, words != "" && !strings.Contains(words, "base64,"), "the end of the text: %q", last(words, 200))
			})
		}
	}
}

func TestCutBytes(t *testing.T) {
	for _, text := range []string{"", "short", strings.Repeat("a", 5000), strings.Repeat("\x00", 5000), strings.Repeat("é\u2028", 3000)} {
		for _, size := range []int{-5, 0, 2, 100, 3000, 40_000} {
			short := CutBytes(text, 4000, size)
			expect(t, Size(short) <= max(size, 40) && utf8.RuneCountInString(short) <= 4000, "%.5q in %d bytes: %d bytes", text, size, Size(short))
		}
	}
	same(t, "whole", CutBytes("whole", 100, 100))
}
