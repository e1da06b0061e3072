package tools

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/tiktoken-go/tokenizer"

	"understudy/sessions"
)

// TestDescriptionsFollowTheRules: a model hears of lines that the policy refuses
// neither as offered nor for the first time by a refusal.
func TestDescriptionsFollowTheRules(t *testing.T) {
	const (
		shell = "!commands with Python's $names, name?"
		lines = " %magics, %pip install, " + shell
		child = " %magics, %pip install (a pip in a subprocess can't), " + shell
		ruled = "\n- A policy may not allow some modules and functions; a refusal names them, and nothing has run.\n"
	)
	for name, c := range map[string]struct {
		options Options
		has     []string
		hasNot  []string
	}{
		"none":       {Options{}, []string{lines}, []string{"allow", "{"}},
		"all":        {Options{Rules: &Rules{NoShell: true, NoPip: true}}, []string{ruled}, []string{"!command", "%pip", "{"}},
		"no shell":   {Options{Rules: &Rules{NoShell: true}}, []string{ruled, " %magics, %pip install, name?"}, []string{"!command"}},
		"no pip":     {Options{Rules: &Rules{NoPip: true}}, []string{ruled, " %magics, " + shell}, []string{"%pip"}},
		"permissive": {Options{Rules: &Rules{}}, []string{lines, ruled}, nil},
		"commands":   {Options{Mode: ModeCLIOnly, Rules: &Rules{}}, []string{"\n- Some commands are not allowed here"}, []string{"{"}},
		"offline":    {Options{Walls: &Walls{}}, []string{" %magics, " + shell, "\n- There is no network; files can be written only in the working and the temporary directory.\n"}, []string{"%pip", "{"}},
		"hosts":      {Options{Walls: &Walls{Network: []string{"pypi.org", "*.a.org"}, Write: []string{"/data"}}}, []string{child, "\n- The network reaches only pypi.org, *.a.org; files can", "directory, and in /data.\n"}, nil},
		"secrets":    {Options{Walls: &Walls{Secrets: []Secret{{"TOKEN", []string{"a.org", "b.org"}}}}}, []string{" Environment variable TOKEN works in requests to a.org, b.org; its value is a placeholder.\n"}, nil},
		"many hosts": {Options{Walls: &Walls{Network: strings.Split("a,b,c,d,e,f,g", ",")}}, []string{"only a, b, c, d, e and 2 more;"}, nil},
		"online":     {Options{Walls: &Walls{Network: []string{sessions.NetworkAll}}}, []string{child, "\n- The network can be used; files can"}, nil},
		"behind":     {Options{Mode: ModeCLIOnly, Walls: &Walls{}}, []string{"\n- There is no network; files"}, []string{"{"}},
		"free":       {Options{Mode: ModeCLIOnly}, nil, []string{"allow", "{"}},
	} {
		t.Run(name, func(t *testing.T) { checkTexts(t, c.options, false, c.has, c.hasNot) })
	}
}

// TestSetVariablesIsForPlugins: where there are none it is not told of.
func TestSetVariablesIsForPlugins(t *testing.T) {
	const told = "\n- set_variables: "
	checkTexts(t, Options{}, true, nil, []string{told, "{"})
	checkTexts(t, Options{PluginSummary: func() string { return "" }}, true, []string{told}, []string{"{set"})
	checkTexts(t, Options{Mode: ModePluginOnly, PluginTools: func() []PluginTool { return nil }}, true, []string{told}, []string{"{"})
}

// TestOtherServersAreToldOf: in the description and the instructions, and in the list those
// that can't be reached; without them nothing is.
func TestOtherServersAreToldOf(t *testing.T) {
	const line = "- mcptools.github: issues (23 tools)"
	o := Options{ServerSummary: func() string { return line }}
	checkTexts(t, o, false, []string{"\n" + line}, nil)
	checkTexts(t, Options{}, false, nil, []string{"MCP", "mcptools"})
	expect(t, strings.Contains(o.Instructions(), "other MCP servers") && !strings.Contains(Options{}.Instructions(), "MCP"), "%s", o.Instructions())

	const problem = "MCP server github (mcptools.github): starting"
	o.ServerProblems = func() []string { return []string{problem} }
	m := &fakeManager{list: func(context.Context, sessions.Client) ([]sessions.Listing, error) { return nil, nil }}
	got := text(t, call(t, connect(t, "tester", m, o), manageInterpretersName, `{"operation":"list"}`))
	expect(t, strings.HasSuffix(got, "default one.\n"+problem), "%s", got)
}

// checkTexts looks at the description of manage_interpreters, or of what runs things.
func checkTexts(t *testing.T, o Options, manages bool, has, hasNot []string) {
	t.Helper()
	listed, err := connect(t, "tester", &fakeManager{}, o).ListTools(t.Context(), mcp.ListToolsRequest{})
	must(t, err)
	text := ""
	for _, tool := range listed.Tools {
		if (tool.Name == manageInterpretersName) == manages {
			text = tool.Description
		}
	}
	for _, part := range has {
		expect(t, strings.Contains(text, part), "%q is missing in\n%s", part, text)
	}
	for _, part := range hasNot {
		expect(t, text != "" && !strings.Contains(text, part), "%q is in\n%s", part, text)
	}
}

// What may be spent of a model's context before it has done anything: both
// tools as tools/list gives them, whole, with the instructions. It is counted
// with cl100k; other models' tokenizers differ from it by a quarter or so.
const (
	mostTokens       = 1200
	mostPromptTokens = 350
	// Trials are asked for, and so are the prompts about them.
	mostTrialTokens      = 250
	mostExperimentTokens = 650
)

// TestTokenCost keeps the tools and the instructions within their bound.
func TestTokenCost(t *testing.T) {
	codec, err := tokenizer.Get(tokenizer.Cl100kBase)
	must(t, err)
	count := func(text string) int {
		t.Helper()
		n, err := codec.Count(text)
		must(t, err)
		return n
	}

	for name, test := range map[string]struct {
		options Options
		most    int
	}{
		// As serve starts over stdio.
		ModeFull:    {Options{History: 1, SharedFiles: true}, mostTokens},
		ModeCLIOnly: {Options{History: 1, Mode: ModeCLIOnly}, mostTokens},
		"sandbox":   {Options{History: 1, Walls: &Walls{Network: []string{"pypi.org", "*.pythonhosted.org"}}}, mostTokens},
		"install":   {Options{History: 1, Install: &InstallOptions{}}, mostTokens},
		"trials":    {Options{History: 1, Trials: true}, mostTokens + mostTrialTokens},
	} {
		c := connect(t, "tester", &fakeManager{}, test.options)
		listed, err := c.ListTools(t.Context(), mcp.ListToolsRequest{})
		must(t, err)
		sum := count(test.options.Instructions())
		t.Logf("%s: instructions: %d tokens", name, sum)
		for _, tool := range listed.Tools {
			encoded, err := json.Marshal(tool)
			must(t, err)
			n := count(string(encoded))
			t.Logf("%s: %d tokens", tool.Name, n)
			sum += n
		}
		t.Logf("together: %d of %d", sum, test.most)
		expect(t, sum <= test.most && sum >= 300, "%s: tools and instructions cost %d tokens, at most %d wanted", name, sum, test.most)
	}
	for _, p := range prompts {
		most := mostPromptTokens
		if p.experiments {
			most = mostExperimentTokens
		}
		if n := count(p.text); n > most {
			t.Errorf("prompt %s costs %d tokens, at most %d wanted", p.name, n, most)
		} else {
			t.Logf("prompt %s: %d tokens", p.name, n)
		}
	}
}
