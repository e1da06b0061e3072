package tools

import (
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
)

// TestFits: what clients call themselves leads to their entry in the table.
func TestFits(t *testing.T) {
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
		if got := fitOf(name).Client; got != want {
			t.Errorf("%q is %s, want %s", name, got, want)
		}
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
		"but not over the limit": {Options{ImageBudget: 1 << 40, StructuredContent: StructuredNever}, "", [3]int{8_000, 1568, mostBytes}, false},
	} {
		got := box(test.options).chosen(fitOf(test.client))
		if sizes := [3]int{got.Text, got.Side, got.Bytes}; sizes != test.want || got.Record != test.record {
			t.Errorf("%s: %v, record %v", name, sizes, got.Record)
		}
	}
	if SmallestText(0) != 8_000 || SmallestText(5000) != 5000 || LargestSide(0) != 1568 || LargestSide(99) != 99 {
		t.Error("the extremes of the table are others")
	}
}

// manyLines are lines of words of which none follows itself again soon.
func manyLines(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString("considering " + strings.Repeat("almost ", i%17) + "everything\n")
	}
	return b.String()
}

// TestFitting: each kind of client, in both eras, gets as much text as suits
// it, the record or not, and always the closing line.
func TestFitting(t *testing.T) {
	for era, options := range eras {
		for _, test := range []struct {
			client, choice string
			record         bool
			text           int
		}{
			{"some-agent", StructuredAuto, true, 8_000},
			{"", StructuredAuto, true, 8_000},
			{"claude-code", StructuredAuto, false, 8_000},
			{"Visual Studio Code", StructuredAuto, false, 8_000},
			{"codex-mcp-client", StructuredAuto, false, 8_000},
			{"claude-code", StructuredAlways, true, 8_000},
			{"some-agent", StructuredNever, false, 8_000},
		} {
			t.Run(era+" "+test.client+" "+test.choice, func(t *testing.T) {
				result := ok()
				result.Stdout = manyLines(4_000)
				c := connect(t, test.client, answering(&result), Options{StructuredContent: test.choice}, options...)
				answer := call(t, c, "run_python_code", `{"code":"flood()"}`)
				if _, got := answer.StructuredContent.(map[string]any); got != test.record {
					t.Errorf("structuredContent present: %v, want %v", got, test.record)
				}
				words := text(t, answer)
				if n := utf8.RuneCountInString(words); n > test.text || n < test.text*9/10 {
					t.Errorf("%d characters, want nearly %d", n, test.text)
				}
				if !strings.HasSuffix(words, "\n[whole output] understudy://interpreters/7f3a9c/executions/3/stdout") {
					t.Errorf("the end of the text: %q", last(words, 200))
				}
			})
		}
	}
}

// numbered are so many lines, none like another.
func numbered(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintln(&b, "line", i)
	}
	return b.String()
}

// TestResultSize: Claude Code is told what the budget needs, within its bounds.
func TestResultSize(t *testing.T) {
	for chosen, want := range map[int]float64{0: 18_000, 200_000: 210_000, 3_000_000: 500_000} {
		c := connect(t, "claude-code", &fakeManager{}, Options{TextBudget: chosen})
		listed, err := c.ListTools(t.Context(), mcp.ListToolsRequest{})
		if err != nil {
			t.Fatal(err)
		}
		for _, tool := range listed.Tools {
			if got := tool.Meta.AdditionalFields[resultSizeMeta]; got != want {
				t.Errorf("%s with a budget of %d: %v, want %v", tool.Name, chosen, got, want)
			}
		}
	}
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
				answer := b.answer(t.Context(), mcp.CallToolRequest{}, result, asked{variable: "x"})
				most := b.chosen(fitOf("")).Bytes
				if size := travelling(answer); size > max(most, 40_000) || size > MessageLimit-1000 {
					t.Errorf("%d bytes, at most %d wanted", size, most)
				}
				words := text(t, answer)
				if words == "" || strings.Contains(words, "base64,") {
					t.Errorf("the end of the text: %q", last(words, 200))
				}
			})
		}
	}
}

// TestNoReplyIsTooLong: the other operations' answers, and errors.
func TestNoReplyIsTooLong(t *testing.T) {
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
	for _, o := range []Options{{}, {TextBudget: 1 << 30, ImageBudget: 1 << 40}} {
		c := connect(t, "", m, o)
		for _, operation := range []string{"list", "variables", "undo", "delete", "restart", long} {
			arguments, err := json.Marshal(map[string]string{"operation": operation, "interpreter_id": "x"})
			if err != nil {
				t.Fatal(err)
			}
			answer := call(t, c, "manage_interpreters", string(arguments))
			if size := travelling(answer); size > box(o).chosen(fitOf("")).Bytes {
				t.Errorf("%.20s: %d bytes", operation, size)
			}
		}
	}
	answer := box(Options{}).failure("x", &schemas.ArgumentError{Message: long})
	if n := utf8.RuneCountInString(text(t, answer)); n > mostError {
		t.Errorf("an error of %d characters", n)
	}
}

func TestCutBytes(t *testing.T) {
	for _, text := range []string{"", "short", strings.Repeat("a", 5000), strings.Repeat("\x00", 5000), strings.Repeat("é\u2028", 3000)} {
		for _, size := range []int{-5, 0, 2, 100, 3000, 40_000} {
			short := cutBytes(text, 4000, size)
			if travelling(short) > max(size, 40) || utf8.RuneCountInString(short) > 4000 {
				t.Errorf("%.5q in %d bytes: %d bytes", text, size, travelling(short))
			}
		}
	}
	if got := cutBytes("whole", 100, 100); got != "whole" {
		t.Errorf("%q", got)
	}
}
