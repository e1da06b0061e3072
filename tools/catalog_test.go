package tools

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/mcp"
)

// TestSchemas compares the committed contract with what the structs say.
func TestSchemas(t *testing.T) {
	all, err := Schemas()
	must(t, err)
	for name, schema := range all {
		var indented bytes.Buffer
		must(t, json.Indent(&indented, schema, "", "  "))
		indented.WriteByte('\n')
		path := filepath.Join("..", "schemas", name+".json")
		if *update {
			must(t, os.WriteFile(path, indented.Bytes(), 0o644))
		}
		committed, err := os.ReadFile(path)
		must(t, err)
		diff := cmp.Diff(string(committed), indented.String())
		expect(t, diff == "", "%s is not what the code says; run go test ./tools -update\n%s", path, diff)
	}
	committed, err := filepath.Glob("../schemas/*.json")
	ours := slices.DeleteFunc(committed, func(path string) bool { return filepath.Base(path) == "plugin.json" }) // internal/plugins keeps it
	expect(t, err == nil && len(ours) == len(all), "%d files in schemas, %d schemas in the code (%v)", len(ours), len(all), err)
}

// TestEveryTool looks at the tools as a client of either era gets them.
func TestEveryTool(t *testing.T) {
	for era, options := range eras {
		t.Run(era, func(t *testing.T) {
			checkCatalog(t, Options{Mode: ModeFull}, []string{"manage_interpreters", "run_python_code"}, options...)
			checkCatalog(t, Options{Mode: ModeFull, Trials: true}, []string{"manage_interpreters", "run_python_code"}, options...)
			checkCatalog(t, Options{Mode: ModeFull, Install: &InstallOptions{}}, []string{"manage_interpreters", "run_python_code"}, options...)
			checkCatalog(t, Options{Mode: ModeCLIOnly}, []string{"manage_interpreters", "run_shell_command"}, options...)
		})
	}
}

func checkCatalog(t *testing.T, o Options, want []string, options ...client.ClientOption) {
	t.Helper()
	c := connect(t, "tester", &fakeManager{}, o, options...)
	listed, err := c.ListTools(t.Context(), mcp.ListToolsRequest{})
	must(t, err)
	var names []string
	for _, tool := range listed.Tools {
		names = append(names, tool.Name)
		checkTool(t, o, tool)
	}
	same(t, want, names)
}

func checkTool(t *testing.T, o Options, tool mcp.Tool) {
	t.Helper()
	expect(t, len(tool.Name) <= 60, "%s: some clients take names up to 60 characters", tool.Name)
	d := tool.Description
	expect(t, d != "" && len(d) <= 2000 && !strings.ContainsAny(d, "{}"), "%s: description of %d characters: %s", tool.Name, len(d), d)
	a := tool.Annotations
	expect(t, a.Title != "" && a.ReadOnlyHint != nil && !(*a.ReadOnlyHint) && a.DestructiveHint != nil && *a.DestructiveHint &&
		a.IdempotentHint != nil && !(*a.IdempotentHint) && a.OpenWorldHint != nil && *a.OpenWorldHint,
		"%s: annotations %+v", tool.Name, a)
	expect(t, tool.OutputSchema.Type == "" && tool.RawOutputSchema == nil, "%s declares an output schema: some clients then ignore text and images", tool.Name)
	committed := tool.Name
	switch {
	case o.Mode == ModeCLIOnly && committed == manageInterpretersName:
		committed += "_cli"
	case o.Install != nil && committed == manageInterpretersName:
		committed += "_install"
	case o.Trials && committed == runPythonCodeName:
		committed += "_trials"
	}
	checkSchema(t, committed, tool)
}

// checkSchema compares the schema that a client got with the committed one.
func checkSchema(t *testing.T, name string, tool mcp.Tool) {
	t.Helper()
	encoded, err := json.Marshal(tool)
	must(t, err)
	var seen struct {
		InputSchema map[string]any `json:"inputSchema"`
	}
	var committed map[string]any
	file, err := os.ReadFile(filepath.Join("..", "schemas", name+".json"))
	must(t, err)
	for raw, into := range map[*[]byte]any{&encoded: &seen, &file: &committed} {
		must(t, json.Unmarshal(*raw, into))
	}
	diff := cmp.Diff(committed, seen.InputSchema)
	expect(t, diff == "", "%s: the client's schema is not the committed one\n%s", tool.Name, diff)
	expect(t, committed["type"] == "object", "%s: the schema must be an object", tool.Name)
	for name, property := range committed["properties"].(map[string]any) {
		expect(t, property.(map[string]any)["description"] != nil, "%s: argument %s has no description", tool.Name, name)
	}
}

func TestInstructions(t *testing.T) {
	// Some clients pass on the first 512 characters only.
	for _, mode := range []string{ModeFull, ModeCLIOnly, ModePluginOnly} {
		o := Options{Mode: mode, PluginTools: func() []PluginTool { return []PluginTool{sqlQuery()} }}
		text := o.Instructions()
		expect(t, len(text) >= 100 && len(text) <= 512, "%s: instructions of %d characters", mode, len(text))
	}
}

// TestTheOperatorsWords come last, in every mode.
func TestTheOperatorsWords(t *testing.T) {
	for _, mode := range []string{ModeFull, ModeCLIOnly, ModePluginOnly} {
		own := (Options{Mode: mode}).Instructions()
		got := (Options{Mode: mode, OperatorsWords: "\nYou analyse sales.\n"}).Instructions()
		expect(t, got == own+"\n\nYou analyse sales.", "%s: %q", mode, got)
	}
}
