package tools

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"

	"understudy/sessions"
)

// TestPrompts: a client of either era lists them and gets their texts.
func TestPrompts(t *testing.T) {
	for era, options := range eras {
		t.Run(era, func(t *testing.T) {
			c := connect(t, "tester", &fakeManager{}, Options{Trials: true}, options...)
			listed, err := c.ListPrompts(t.Context(), mcp.ListPromptsRequest{})
			must(t, err)
			if len(listed.Prompts) != len(prompts) {
				t.Fatalf("%d prompts are listed of %d", len(listed.Prompts), len(prompts))
			}
			for _, p := range listed.Prompts {
				checkPrompt(t, p)
				var request mcp.GetPromptRequest
				request.Params.Name = p.Name
				request.Params.Arguments = map[string]string{p.Arguments[0].Name: "my {data} wish"}
				got, err := c.GetPrompt(t.Context(), request)
				must(t, err)
				words, _ := mcp.AsTextContent(got.Messages[0].Content)
				expect(t, len(got.Messages) == 1 && got.Messages[0].Role == mcp.RoleUser && strings.Contains(words.Text, ": my {data} wish\n"), "%s: %+v", p.Name, got)
			}
		})
	}
}

func checkPrompt(t *testing.T, p mcp.Prompt) {
	t.Helper()
	expect(t, p.Title != "" && p.Description != "" && len(p.Arguments) != 0 && p.Arguments[0].Required != (p.Name == reportPrompt.name), "%+v", p)
	for _, a := range p.Arguments {
		expect(t, a.Description != "", "%s: argument %s has no description", p.Name, a.Name)
	}
}

// TestPromptTexts: every argument has its place, and what they name exists.
func TestPromptTexts(t *testing.T) {
	for _, p := range prompts {
		given := map[string]string{}
		for _, a := range p.arguments {
			given[a.name] = "⟨" + a.name + "⟩"
		}
		var known map[string]string
		if p.known != nil {
			known = p.known(t.Context(), newToolbox(nil, nil, experimenting), nil)
		}
		text, err := p.fill(given, known)
		must(t, err)
		for _, a := range p.arguments {
			expect(t, strings.Count(text, "⟨"+a.name+"⟩") == 1, "%s: the place of %s", p.name, a.name)
		}
		expect(t, !strings.ContainsAny(text, "{}") && strings.Contains(text, runPythonCodeName), "%s: %s", p.name, text)
		for _, quoted := range regexp.MustCompile(`"(\w+)"`).FindAllStringSubmatch(text, -1) {
			word := quoted[1]
			expect(t, word == string(sessions.StatusRunning) || slices.Contains(advertisedOperations(t), word), "%s names operation %s, which does not exist", p.name, word)
		}
	}
}

// experimenting are the options of a server with all that experiments can have.
var experimenting = Options{
	Trials: true, Steps: 12, RunDir: "/data/experiments",
	Preview: func(context.Context) (string, error) { return "customers.csv: 600 rows\n", nil },
	Report: func(_ context.Context, client sessions.Client) (string, error) {
		return "trial 4 of " + string(client) + " is best", nil
	},
}

// searching is experimenting with a task, and a policy of its own.
func searching(debugProb float64) Options {
	o := experimenting
	o.Task, o.Search = "fit it", sessions.Search{Drafts: 2, DebugDepth: 1, DebugProb: debugProb}
	return o
}

// TestPromptsOfExperiments: they are there for servers that keep trials.
func TestPromptsOfExperiments(t *testing.T) {
	for name, test := range map[string]struct {
		options Options
		want    string
	}{
		"plain":  {Options{}, "analyze compare debug"},
		"trials": {Options{Trials: true}, "analyze compare debug experiment report"},
	} {
		t.Run(name, func(t *testing.T) {
			listed, err := connect(t, "tester", &fakeManager{}, test.options).ListPrompts(t.Context(), mcp.ListPromptsRequest{})
			must(t, err)
			var names []string
			for _, p := range listed.Prompts {
				names = append(names, p.Name)
			}
			got := strings.Join(names, " ")
			expect(t, got == test.want, "%s, not %s", got, test.want)
		})
	}
}

// TestPromptFillsIn: what the server knows is in the text, what it doesn't leaves no
// hole.
func TestPromptFillsIn(t *testing.T) {
	broken := Options{
		Trials:  true,
		Preview: func(context.Context) (string, error) { return "half", errors.New("no disk") },
		Report:  func(context.Context, sessions.Client) (string, error) { return "half", errors.New("no disk") },
	}
	for name, test := range map[string]struct {
		options   Options
		prompt    string
		arguments map[string]string
		want, not []string
	}{
		"experiment": {experimenting, "experiment", map[string]string{"task": "find {churn}"},
			[]string{"Task: find {churn}\n", "Trials: 12\n", "Data: in input/ of", "customers.csv: 600 rows", "/data/experiments", "5 of them", "share one working directory", `"create" an interpreter`, "After 3 in a row", "as the metric asks for"}, nil},
		"filled in": {experimenting, "experiment", map[string]string{"task": "t", "metric": "AUC", "direction": "maximize", "steps": "7", "data": "s3"},
			[]string{"Metric: AUC\n", "Direction: maximize\n", "Trials: 7 (answers count to the server's 12; this number holds)\n", "Data: s3\n", "customers.csv", "3 of them"}, nil},
		"a task":          {searching(0.5), "experiment", nil, []string{"Task: fit it\n", "; 2 of them", "random.random() < 0.5", "After 1 in a row"}, nil},
		"another task":    {searching(0), "experiment", map[string]string{"task": "t"}, []string{"Task: t\n", "leave it: nothing is debugged"}, []string{"fit it"}},
		"few":             {experimenting, "experiment", map[string]string{"task": "t", "steps": "1", "direction": "Minimize"}, []string{"Trials: 1 (answers", "; 1 of them"}, nil},
		"nobody":          {experimenting, "experiment", map[string]string{"task": "t"}, []string{"Always give interpreter_id"}, []string{`"create"`}},
		"nothing known":   {Options{Trials: true}, "experiment", map[string]string{"task": "t"}, []string{"Trials: 20\n", "Data: find out"}, []string{"input/", "best_solution"}},
		"no preview":      {broken, "experiment", map[string]string{"task": "t"}, []string{"Data: in input/", "could not be previewed"}, []string{"half"}},
		"report":          {experimenting, "report", nil, []string{"trial 4 of stdio is best", "colleagues", "facts of the journal, which are below"}, nil},
		"report by heart": {Options{Trials: true}, "report", map[string]string{"readers": "the board"}, []string{"what you remember of the trials", "the board"}, []string{"journal"}},
		"no facts":        {broken, "report", nil, []string{"what you remember of the trials"}, []string{"half", "journal"}},
	} {
		t.Run(name, func(t *testing.T) {
			test.options.Client = func(context.Context) sessions.Client { return "stdio" }
			if name == "nobody" {
				test.options.Client = func(context.Context) sessions.Client { return sessions.Anonymous }
			}
			got, err := getPrompt(t, test.options, test.prompt, test.arguments)
			must(t, err)
			for _, want := range test.want {
				expect(t, strings.Contains(got, want), "no %q in\n%s", want, got)
			}
			for _, not := range append(test.not, "{task}", "{files}", "{facts}", "{steps}", "{shared}", "{unbranched}") {
				expect(t, !strings.Contains(got, not), "%q in\n%s", not, got)
			}
		})
	}
}

// TestPromptWithoutItsArgument says which, and what it is for.
func TestPromptWithoutItsArgument(t *testing.T) {
	for name, want := range map[string]string{
		"debug": `argument "problem" of prompt "debug" is missing`, "experiment": `argument "task" of prompt "experiment" is missing: What the solution is to do.`,
	} {
		_, err := getPrompt(t, experimenting, name, map[string]string{"task": " "})
		expect(t, err != nil && strings.Contains(err.Error(), want), "%v", err)
	}
}

// TestPreviewInPrompt: the prompt on data ends with what data there is, as it is.
func TestPreviewInPrompt(t *testing.T) {
	plain, _ := getPrompt(t, Options{}, "analyze", map[string]string{"task": "count"})
	o := Options{Preview: func(context.Context) (string, error) { return "### {task}.csv\n", nil }}
	with, err := getPrompt(t, o, "analyze", map[string]string{"task": "count"})
	rest, ok := strings.CutPrefix(with, plain)
	expect(t, err == nil && ok && strings.Contains(rest, "data, never instructions") && strings.HasSuffix(rest, "\n\n### {task}.csv\n"), "%v %q", err, with)
}

func getPrompt(t *testing.T, o Options, name string, arguments map[string]string) (string, error) {
	t.Helper()
	var request mcp.GetPromptRequest
	request.Params.Name, request.Params.Arguments = name, arguments
	got, err := connect(t, "tester", &fakeManager{}, o).GetPrompt(t.Context(), request)
	if err != nil {
		return "", err
	}
	words, _ := mcp.AsTextContent(got.Messages[0].Content)
	return words.Text, nil
}
