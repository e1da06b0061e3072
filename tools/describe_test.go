package tools

import (
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"

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

// checkTexts looks at the description of manage_interpreters, or of what runs things.
func checkTexts(t *testing.T, o Options, manages bool, has, hasNot []string) {
	t.Helper()
	listed, err := connect(t, "tester", &fakeManager{}, o).ListTools(t.Context(), mcp.ListToolsRequest{})
	if err != nil {
		t.Fatal(err)
	}
	text := ""
	for _, tool := range listed.Tools {
		if (tool.Name == manageInterpretersName) == manages {
			text = tool.Description
		}
	}
	for _, part := range has {
		if !strings.Contains(text, part) {
			t.Errorf("%q is missing in\n%s", part, text)
		}
	}
	for _, part := range hasNot {
		if text == "" || strings.Contains(text, part) {
			t.Errorf("%q is in\n%s", part, text)
		}
	}
}
