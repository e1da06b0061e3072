package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"understudy/internal/command"
	"understudy/internal/config"
	"understudy/internal/plugins"
	"understudy/tools"
)

var update = flag.Bool("update", false, "rewrite the generated parts of README.md and of the pages in docs")

// TestDocsAreTrue compares the tables between the markers of the documents
// with what the code says, and rewrites them with -update.
func TestDocsAreTrue(t *testing.T) {
	schemas := parsedSchemas(t)
	for _, part := range []struct{ file, name, text string }{
		{"README.md", "tools", toolTable(schemas)},
		{"docs/reference.md", "run_python_code", argumentTable(schemas["run_python_code"])},
		{"docs/experiments.md", "trial-arguments", argumentTable(trialArguments(schemas))},
		{"docs/modes.md", "run_shell_command", argumentTable(schemas["run_shell_command"])},
		{"docs/reference.md", "manage_interpreters", argumentTable(schemas["manage_interpreters"])},
		{"docs/reference.md", "record", fieldTable(schemas["execution_record"])},
		{"docs/reference.md", "settings", settingTable(t)},
		{"docs/operations.md", "metrics", metricTable(t)},
		{"docs/policy.md", "defaults", policyDefaults(t)},
		{"docs/reference.md", "clients", clientTable()},
		{"docs/reference.md", "conversations", conversationTable(t)},
		{"docs/reference.md", "prompts", promptTable()},
		{"docs/plugins.md", "plugin-keys", pluginTable(t)},
	} {
		t.Run(part.file+"/"+part.name, func(t *testing.T) { compareGenerated(t, part.file, part.name, part.text) })
	}
}

func compareGenerated(t *testing.T, file, name, want string) {
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	pattern := regexp.MustCompile(fmt.Sprintf("(?s)(<!-- %s:begin -->\n).*?(<!-- %s:end -->)", name, name))
	if !pattern.Match(text) {
		t.Fatalf("%s has no markers for %s", file, name)
	}
	renewed := pattern.ReplaceAllString(string(text), "${1}"+strings.ReplaceAll(want, "$", "$$")+"${2}")
	if renewed == string(text) {
		return
	}
	if !*update {
		t.Fatalf("%s is not true any more; run: go test . -run TestDocsAreTrue -update", file)
	}
	if err := os.WriteFile(file, []byte(renewed), 0o644); err != nil {
		t.Fatal(err)
	}
}

// TestLinks: what a document links to is there, headings too.
func TestLinks(t *testing.T) {
	files, err := filepath.Glob("docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range append(files, "README.md", "examples/experiment/README.md") {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, link := range regexp.MustCompile(`\]\(([^)\s]+)\)`).FindAllStringSubmatch(string(text), -1) {
			path, anchor, _ := strings.Cut(link[1], "#")
			target := file
			if path != "" {
				target = filepath.Join(filepath.Dir(file), path)
			}
			if strings.Contains(path, "://") {
				continue
			}
			if _, err := os.Stat(target); err != nil || anchor != "" && !slices.Contains(anchors(t, target), anchor) {
				t.Errorf("%s links to %s, which is not there", file, link[1])
			}
		}
	}
}

// anchors are the names of a document's headings, as GitHub makes them.
func anchors(t *testing.T, file string) (names []string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, heading := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(string(text), -1) {
		name := regexp.MustCompile(`[^\w\- ]`).ReplaceAllString(strings.ToLower(heading[1]), "")
		names = append(names, strings.ReplaceAll(name, " ", "-"))
	}
	return names
}

// schema is what the tables need of a JSON schema, its properties in order.
type schema struct {
	Required   []string
	Properties []property
}

type property struct {
	Name, Type, Description string
	Enum                    []any
}

func parsedSchemas(t *testing.T) map[string]schema {
	t.Helper()
	raw, err := tools.Schemas()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]schema{}
	for name, text := range raw {
		var outer struct {
			Required   []string
			Properties json.RawMessage
		}
		if err := json.Unmarshal(text, &outer); err != nil {
			t.Fatal(err)
		}
		all[name] = schema{outer.Required, orderedProperties(t, outer.Properties)}
	}
	return all
}

func orderedProperties(t *testing.T, text json.RawMessage) []property {
	t.Helper()
	decoder := json.NewDecoder(strings.NewReader(string(text)))
	if _, err := decoder.Token(); err != nil {
		t.Fatal(err)
	}
	var list []property
	for decoder.More() {
		name, err := decoder.Token()
		if err != nil {
			t.Fatal(err)
		}
		var p struct {
			Type        any
			Description string
			Enum        []any
		}
		if err := decoder.Decode(&p); err != nil {
			t.Fatal(err)
		}
		kind := "any"
		if p.Type != nil {
			kind = fmt.Sprint(p.Type)
		}
		list = append(list, property{fmt.Sprint(name), kind, p.Description, p.Enum})
	}
	return list
}

// trialArguments are those that only trials have.
func trialArguments(all map[string]schema) schema {
	trials, usual := all["run_python_code_trials"], all["run_python_code"]
	trials.Properties = slices.DeleteFunc(trials.Properties, func(p property) bool {
		return slices.ContainsFunc(usual.Properties, func(u property) bool { return u.Name == p.Name })
	})
	return trials
}

func toolTable(all map[string]schema) string {
	var b strings.Builder
	b.WriteString("| tool | arguments |\n|---|---|\n")
	for _, tool := range []string{"run_python_code", "manage_interpreters"} {
		names := make([]string, 0, len(all[tool].Properties))
		for _, p := range all[tool].Properties {
			name := "`" + p.Name + "`"
			if len(p.Enum) > 0 {
				name += " (" + joined(p.Enum) + ")"
			}
			names = append(names, name)
		}
		fmt.Fprintf(&b, "| `%s` | %s |\n", tool, strings.Join(names, ", "))
	}
	return b.String()
}

func argumentTable(s schema) string {
	var b strings.Builder
	b.WriteString("| argument | type | |\n|---|---|---|\n")
	for _, p := range s.Properties {
		description := p.Description
		for _, required := range s.Required {
			if required == p.Name {
				description = "Required. " + description
			}
		}
		if len(p.Enum) > 0 {
			description += " One of " + joined(p.Enum) + "."
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", p.Name, p.Type, cell(description))
	}
	return b.String()
}

func fieldTable(s schema) string {
	var b strings.Builder
	b.WriteString("| field | type | always | |\n|---|---|---|---|\n")
	for _, p := range s.Properties {
		always := ""
		for _, required := range s.Required {
			if required == p.Name {
				always = "yes"
			}
		}
		description := p.Description
		if len(p.Enum) > 0 {
			description = strings.TrimPrefix(strings.TrimSuffix(description, ".")+". One of "+joined(p.Enum)+".", ". ")
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", p.Name, p.Type, always, cell(description))
	}
	return b.String()
}

func settingTable(t *testing.T) string {
	t.Helper()
	settings, err := config.Settings()
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	b.WriteString("| flag | environment | default | |\n|---|---|---|---|\n")
	groups := map[string]int{} // their places, by where they begin
	for _, s := range settings {
		if _, known := groups[s.Group]; !known {
			groups[s.Group] = len(groups)
		}
	}
	slices.SortStableFunc(settings, func(a, b config.Setting) int { return groups[a.Group] - groups[b.Group] })
	group := "" // the first is the general one
	for _, s := range settings {
		if s.Group != group {
			group = s.Group
			fmt.Fprintf(&b, "| **%s** | | | |\n", group)
		}
		if s.Key != "" && "--"+s.Key != s.Flag {
			t.Errorf("the key of %s is %s, and the reference says that they are the same", s.Flag, s.Key)
		}
		defaultText := ""
		if s.Default != "" {
			defaultText = "`" + s.Default + "`"
		}
		fmt.Fprintf(&b, "| `%s` | `%s` | %s | %s |\n", s.Flag, s.Env, defaultText, cell(s.Help))
	}
	return b.String()
}

func promptTable() string {
	var b strings.Builder
	b.WriteString("| prompt | arguments | |\n|---|---|---|\n")
	for _, p := range tools.Prompts() {
		names := make([]string, len(p.Arguments))
		for i, a := range p.Arguments {
			names[i] = "`" + a.Name + "`"
			if !a.Required {
				names[i] += " (optional)"
			}
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", p.Name, strings.Join(names, ", "), cell(p.Description))
	}
	return b.String()
}

// pluginTable lists the keys of a plugin's file, and of what is in them.
func pluginTable(t *testing.T) string {
	t.Helper()
	raw, err := plugins.Schema()
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	b.WriteString("| key | type | |\n|---|---|---|\n")
	writePluginKeys(t, &b, "", raw)
	return b.String()
}

func writePluginKeys(t *testing.T, b *strings.Builder, prefix string, raw json.RawMessage) {
	t.Helper()
	var outer struct {
		Required   []string
		Properties json.RawMessage
	}
	if err := json.Unmarshal(raw, &outer); err != nil {
		t.Fatal(err)
	}
	var inner map[string]struct{ Items, AdditionalProperties, Properties json.RawMessage }
	if err := json.Unmarshal(outer.Properties, &inner); err != nil {
		t.Fatal(err)
	}
	for _, p := range orderedProperties(t, outer.Properties) {
		description := p.Description
		if slices.Contains(outer.Required, p.Name) {
			description = strings.TrimSpace("Required. " + description)
		}
		if len(p.Enum) > 0 {
			description = strings.TrimSpace(description + " One of " + joined(p.Enum) + ".")
		}
		fmt.Fprintf(b, "| `%s%s` | %s | %s |\n", prefix, p.Name, p.Type, cell(description))
		switch in := inner[p.Name]; {
		case strings.HasPrefix(string(in.Items), "{") && strings.Contains(string(in.Items), "properties"):
			writePluginKeys(t, b, prefix+p.Name+"[].", in.Items)
		case len(in.AdditionalProperties) > len("false"):
			writePluginKeys(t, b, prefix+p.Name+".*.", in.AdditionalProperties)
		case len(in.Properties) > 0:
			writePluginKeys(t, b, prefix+p.Name+".", []byte(`{"properties":`+string(in.Properties)+`}`))
		}
	}
}

// TestPluginsOfTheDocs: what is shown as a NAME.yaml, and what is in examples,
// makes a plugin.
func TestPluginsOfTheDocs(t *testing.T) {
	text, err := os.ReadFile("docs/plugins.md")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	blocks := regexp.MustCompile("(?s)```yaml\n(name: (\\w+)\n.*?)```").FindAllStringSubmatch(string(text), -1)
	if all := strings.Count(string(text), "```yaml"); all != len(blocks) || all < 2 {
		t.Fatalf("%d blocks of YAML, %d of them plugins", all, len(blocks))
	}
	var shown []string // those whose Python is there too
	for _, block := range blocks {
		source := regexp.MustCompile("(?s)```python\n([^`]*\ndef " + block[2] + "\\(.*?)```").FindSubmatch(text)
		code := ""
		if source != nil {
			shown, code = append(shown, block[2]), string(source[1])
		}
		for name, content := range map[string]string{block[2] + ".yaml": block[1], block[2] + ".py": code} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	areReady(t, dir, len(blocks))
	areReady(t, "examples/plugins", 2)
	passesItsTest(t, dir, shown)
}

// areReady finds so many plugins in a directory, and nothing wrong with them.
func areReady(t *testing.T, dir string, want int) {
	t.Helper()
	registry, err := plugins.Open(dir, plugins.Options{})
	if err != nil {
		t.Fatal(err)
	}
	all := registry.Set().Plugins
	if len(all) != want {
		t.Errorf("%d plugins of %d in %s", len(all), want, dir)
	}
	for _, p := range all {
		if p.State != plugins.Ready {
			t.Errorf("%s is %s: %s", p.Name, p.State, p.Reason())
		}
	}
}

// passesItsTest has Python load plugins and run the tests that come with them.
func passesItsTest(t *testing.T, dir string, names []string) {
	t.Helper()
	if len(names) == 0 {
		t.Fatal("no plugin's Python is shown")
	}
	c := &config.Config{}
	c.Python, c.DataDir = os.Getenv("UNDERSTUDY_TEST_PYTHON"), t.TempDir()
	c.Plugins.Dir, c.Plugins.Test.Names = dir, names
	var said strings.Builder
	if err := command.TestPlugins(t.Context(), c, &said); err != nil || strings.Count(said.String(), "passed, in ") != len(names) {
		t.Errorf("%v: %v\n%s", names, err, said.String())
	}
}

func joined(values []any) string {
	texts := make([]string, len(values))
	for i, v := range values {
		texts[i] = fmt.Sprint(v)
	}
	return strings.Join(texts, ", ")
}

func cell(text string) string {
	return strings.ReplaceAll(strings.ReplaceAll(text, "\n", " "), "|", "\\|")
}
