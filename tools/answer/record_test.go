package answer

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"understudy/sessions"
)

// recordSchema is the committed schema of the execution record.
func recordSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	file, err := os.Open("../../schemas/execution_record.json")
	must(t, err)
	defer file.Close()
	document, err := jsonschema.UnmarshalJSON(file)
	must(t, err)
	compiler := jsonschema.NewCompiler()
	must(t, compiler.AddResource("record.json", document))
	return compiler.MustCompile("record.json")
}

// TestRecordsMatchTheirSchema: what programs get is what the contract says.
func TestRecordsMatchTheirSchema(t *testing.T) {
	schema := recordSchema(t)
	for _, e := range examples {
		answer := box(Options{StructuredContent: StructuredAlways}).Answer(t.Context(), mcp.CallToolRequest{}, e.result, Call{})
		document, err := jsonschema.UnmarshalJSON(strings.NewReader(string(answer.RawStructuredContent)))
		if err != nil {
			t.Fatalf("%s: %v", e.name, err)
		}
		err = schema.Validate(document)
		expect(t, err == nil, "%s: %v", e.name, err)
	}
}

// recordOf is what a client of which nothing is known gets with --trials.
func recordOf(r *sessions.Result) *sessions.Result {
	b := box(Options{Trials: true})
	record, _ := b.record(b.chosen(profileOf("")), r, nil)
	return record
}

func TestRecord(t *testing.T) {
	given := example(func(r *sessions.Result) {
		r.TermOut = []string{"out\n", "err\n"}
		r.Figures = []sessions.Figure{{Path: "/data/1.png"}, {Path: "/data/2.png"}}
		r.FigStoragePath = []string{"/data/1.png", "/data/2.png"} // as sessions hands it out
		r.ExcStack = []sessions.StackFrame{{File: "a.py", Line: 2, Function: "f", Text: "g()"}}
	})
	before := *given
	got := recordOf(given)
	same(t, []string{"out\n", "err\n", "Execution time: 3 milliseconds (time limit is 1 hour)."}, got.TermOut)
	same(t, []string{"/data/1.png", "/data/2.png"}, got.FigStoragePath)
	once, _ := box(Options{}).record(box(Options{}).chosen(profileOf("")), given, nil)
	expect(t, once.TermOut == nil && once.Stdout == given.Stdout, "without trials the record has output as %q and once more as %q", once.Stdout, once.TermOut)
	diff := cmp.Diff(before, *given)
	expect(t, diff == "", "the result itself was changed\n%s", diff)
}

// TestRecordSaysWhatToDo: a model that is shown the record alone has what the text says.
func TestRecordSaysWhatToDo(t *testing.T) {
	for _, e := range examples {
		answer := box(Options{}).Answer(t.Context(), mcp.CallToolRequest{}, e.result, Call{NewID: true})
		for _, tag := range []string{"[running]", "[input]", "[timeout]", "[interrupted]", "[crashed]", "[restarted]", "[no interpreter]", "[state]", "[interpreter_id]"} {
			_, line, said := strings.Cut("\n"+text(t, answer), "\n"+tag+" ")
			line, _, _ = strings.Cut(line, "\n")
			expect(t, !said || strings.Contains(string(answer.RawStructuredContent), quote(t, line)), "%s: the record has not %s %s", e.name, tag, line)
		}
	}
}

// quote is a text as JSON has it, without the quotes.
func quote(t *testing.T, text string) string {
	t.Helper()
	raw, err := json.Marshal(text)
	must(t, err)
	return strings.Trim(string(raw), `"`)
}

func TestTimeLine(t *testing.T) {
	for status, want := range map[sessions.Status][]string{
		sessions.StatusOK:      {"Execution time: 3 milliseconds (time limit is 1 hour)."},
		sessions.StatusTimeout: {"TimeoutError: Execution exceeded the time limit of 1 hour."},
		sessions.StatusRunning: {},
		sessions.StatusAsking:  {},
	} {
		got := recordOf(example(func(r *sessions.Result) { r.Status = status })).TermOut
		diff := cmp.Diff(want, got)
		expect(t, diff == "", "%s: %s", status, diff)
	}
}

// TestTermOutHasTheTraceback: once, below a long output too, which is cut for itself.
func TestTermOutHasTheTraceback(t *testing.T) {
	for _, output := range []string{"before\n", strings.Repeat("line\n", 100_000)} {
		got := recordOf(example(func(r *sessions.Result) {
			r.Status, r.ExcType, r.Traceback, r.TermOut = sessions.StatusError, "ValueError", valueError, []string{output}
		}))
		all := strings.Join(got.TermOut, "")
		expect(t, strings.Count(all, valueError) == 1 && strings.HasSuffix(all, valueError+"Execution time: 3 milliseconds (time limit is 1 hour).") && strings.HasPrefix(all, output[:5]),
			"%.300q", got.TermOut)
	}
}

// TestRecordIsBounded: whatever a result holds, its record stays small, valid
// and says what it lost.
func TestRecordIsBounded(t *testing.T) {
	t.Parallel()
	schema := recordSchema(t)
	huge := example(func(r *sessions.Result) {
		r.Status = sessions.StatusError
		r.Stdout, r.Stderr = strings.Repeat("\x00", 1<<20), strings.Repeat("<", 1<<20)
		for range 50_000 {
			r.TermOut = append(r.TermOut, "a", "b")
		}
		r.Result, r.ResultEncoding = json.RawMessage("["+strings.Repeat("1,", 1<<20)+"1]"), "json"
		r.Traceback = strings.Repeat("frame\n", 1<<18)
		r.ExcInfo = &sessions.ExceptionInfo{Args: []json.RawMessage{json.RawMessage(`"` + strings.Repeat("x", 1<<20) + `"`)}, Msg: strings.Repeat("x", 1<<20)}
		for i := range 5000 {
			r.ExcStack = append(r.ExcStack, sessions.StackFrame{File: "a.py", Line: i, Function: "f", Text: strings.Repeat("g", 100)})
			r.Notes = append(r.Notes, fmt.Sprint("note ", i))
		}
		r.Variables = &sessions.VariableDiff{Added: strings.Fields(strings.Repeat("name ", 50_000))}
		r.ToolCalls = &sessions.ToolCalls{Count: 10_000, ByTool: map[string]int{}}
		for i := range r.ToolCalls.Count {
			r.ToolCalls.ByTool[fmt.Sprintf("server.%0100d", i)] = 1
		}
	})
	for _, budget := range []int{900_000, 100_000} {
		b := box(Options{ImageBudget: budget, Trials: true})
		_, raw := b.record(b.chosen(profileOf("")), huge, nil)
		if len(raw) > budget/2+2000 { // the last steps are noted after they were measured
			t.Errorf("a record of %d bytes with a budget of %d", len(raw), budget)
		}
		document, err := jsonschema.UnmarshalJSON(strings.NewReader(string(raw)))
		must(t, err)
		must(t, schema.Validate(document))
		expect(t, strings.Contains(string(raw), "left out here to keep the record small"), "nothing says what is missing")
	}
}

// TestWhatIsWholeIsNotCalledLeftOut: a step that drops nothing is not told of.
func TestWhatIsWholeIsNotCalledLeftOut(t *testing.T) {
	r := example(func(r *sessions.Result) {
		r.Result, r.ResultEncoding = json.RawMessage(`[1,2]`), "json"
		r.Variables = &sessions.VariableDiff{Added: strings.Fields(strings.Repeat("name ", 50_000))}
	})
	_, err := Shed(r, 50_000)
	expect(t, err == nil && string(r.Result) == "[1,2]" && !strings.Contains(strings.Join(r.Notes, "\n"), "most of a long result"),
		"%+v %+v %+v", err, string(r.Result), r.Notes)
}

// TestSmallRecordIsWhole: nothing is shed without need.
func TestSmallRecordIsWhole(t *testing.T) {
	given := example(func(r *sessions.Result) {
		r.Stdout, r.Result = "x", json.RawMessage(`[1,2]`)
		r.Variables = &sessions.VariableDiff{Added: []string{"x"}}
		r.ExcInfo = &sessions.ExceptionInfo{Args: []json.RawMessage{json.RawMessage("1")}}
		r.ToolCalls = &sessions.ToolCalls{Count: 1, ByTool: map[string]int{"time.now": 1}}
	})
	got := recordOf(given)
	expect(t, got.ToolCalls != nil && got.ToolCalls.ByTool["time.now"] == 1, "%+v", got.ToolCalls)
	expect(t, got.Variables != nil && len(got.ExcInfo.Args) == 1 && string(got.Result) == "[1,2]" && len(got.Notes) == 0, "%+v", got)
}
