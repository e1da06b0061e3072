package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"

	"understudy/internal/check"
	"understudy/internal/config"
	"understudy/internal/metrics"
	"understudy/internal/plugins"
	"understudy/internal/policy"
	"understudy/sessions"
	"understudy/tools"
	"understudy/tools/answer"
)

var must, expect, insist = check.Must, check.Expect, check.Insist

var update = flag.Bool("update", false, "rewrite the generated parts of README.md and of the pages in docs")

// TestDocsAreTrue compares the tables between the markers of the documents
// with what the code says, and rewrites them with -update.
func TestDocsAreTrue(t *testing.T) {
	schemas, err := tools.Schemas()
	must(t, err)
	arguments := func(tool string) []property { return properties(t, schemas[tool]) }
	for _, part := range []struct{ file, name, text string }{
		{"README.md", "tools", toolTable(arguments)},
		{"docs/reference.md", "run_python_code", argumentTable(arguments("run_python_code"))},
		{"docs/experiments.md", "trial-arguments", argumentTable(trialArguments(arguments))},
		{"docs/modes.md", "run_shell_command", argumentTable(arguments("run_shell_command"))},
		{"docs/reference.md", "manage_interpreters", argumentTable(arguments("manage_interpreters"))},
		{"docs/reference.md", "record", fieldTable(arguments("execution_record"))},
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
	text := readFile(t, file)
	pattern := regexp.MustCompile(fmt.Sprintf("(?s)(<!-- %s:begin -->\n).*?(<!-- %s:end -->)", name, name))
	insist(t, pattern.MatchString(text), "%s has no markers for %s", file, name)
	renewed := pattern.ReplaceAllString(text, "${1}"+strings.ReplaceAll(want, "$", "$$")+"${2}")
	if renewed == text {
		return
	}
	insist(t, *update, "%s is not true any more; run: go test . -run TestDocsAreTrue -update", file)
	must(t, os.WriteFile(file, []byte(renewed), 0o644))
}

// table is one of Markdown, with a line for each row.
func table(columns []string, rows [][]string) string {
	var b strings.Builder
	line := func(cells []string) {
		text := "| " + strings.Join(cells, " | ") + " |\n"
		if strings.Join(cells[1:], "") == "" || b.Len() == 0 { // a heading
			text = strings.ReplaceAll(strings.ReplaceAll(text, "|  |", "| |"), "|  |", "| |")
		}
		b.WriteString(text)
	}
	line(columns)
	b.WriteString(strings.Repeat("|---", len(columns)) + "|\n")
	for _, row := range rows {
		for i, text := range row {
			row[i] = strings.ReplaceAll(strings.ReplaceAll(text, "\n", " "), "|", "\\|")
		}
		line(row)
	}
	return b.String()
}

// property is what the tables need of a property in a JSON schema.
type property struct {
	Name, Description string
	Type              any
	Enum              []any
	Required          bool `json:"-"`

	Items, AdditionalProperties, Properties json.RawMessage
}

// properties are those of a schema, in its order.
func properties(t *testing.T, schema json.RawMessage) (list []property) {
	t.Helper()
	var outer struct {
		Required   []string
		Properties json.RawMessage
	}
	must(t, json.Unmarshal(schema, &outer))
	decoder := json.NewDecoder(strings.NewReader(string(outer.Properties)))
	_, err := decoder.Token()
	must(t, err)
	for decoder.More() {
		name, err := decoder.Token()
		must(t, err)
		p := property{Type: "any"}
		must(t, decoder.Decode(&p))
		p.Name = fmt.Sprint(name)
		p.Required = slices.Contains(outer.Required, p.Name)
		list = append(list, p)
	}
	return list
}

// about is what is said of a property as an argument.
func (p property) about() string {
	var parts []string
	if p.Required {
		parts = append(parts, "Required.")
	}
	if p.Description != "" {
		parts = append(parts, p.Description)
	}
	if len(p.Enum) > 0 {
		parts = append(parts, "One of "+joined(p.Enum)+".")
	}
	return strings.Join(parts, " ")
}

// trialArguments are those that only trials have.
func trialArguments(arguments func(tool string) []property) []property {
	usual := arguments("run_python_code")
	return slices.DeleteFunc(arguments("run_python_code_trials"), func(p property) bool {
		return slices.ContainsFunc(usual, func(u property) bool { return u.Name == p.Name })
	})
}

func toolTable(arguments func(tool string) []property) string {
	var rows [][]string
	for _, tool := range []string{"run_python_code", "manage_interpreters"} {
		var names []string
		for _, p := range arguments(tool) {
			name := code(p.Name)
			if len(p.Enum) > 0 {
				name += " (" + joined(p.Enum) + ")"
			}
			names = append(names, name)
		}
		rows = append(rows, []string{code(tool), strings.Join(names, ", ")})
	}
	return table([]string{"tool", "arguments"}, rows)
}

func argumentTable(arguments []property) string {
	var rows [][]string
	for _, p := range arguments {
		rows = append(rows, []string{code(p.Name), fmt.Sprint(p.Type), p.about()})
	}
	return table([]string{"argument", "type", ""}, rows)
}

func fieldTable(fields []property) string {
	var rows [][]string
	for _, p := range fields {
		always := ""
		if p.Required {
			always = "yes"
		}
		about := p.Description
		if len(p.Enum) > 0 {
			about = strings.TrimPrefix(strings.TrimSuffix(about, ".")+". One of "+joined(p.Enum)+".", ". ")
		}
		rows = append(rows, []string{code(p.Name), fmt.Sprint(p.Type), always, about})
	}
	return table([]string{"field", "type", "always", ""}, rows)
}

func settingTable(t *testing.T) string {
	t.Helper()
	settings, err := config.Settings()
	must(t, err)
	groups := map[string]int{} // their places, by where they begin
	for _, s := range settings {
		if _, known := groups[s.Group]; !known {
			groups[s.Group] = len(groups)
		}
	}
	slices.SortStableFunc(settings, func(a, b config.Setting) int { return groups[a.Group] - groups[b.Group] })
	var rows [][]string
	group := "" // the first is the general one
	for _, s := range settings {
		if s.Group != group {
			group = s.Group
			rows = append(rows, []string{"**" + group + "**", "", "", ""})
		}
		expect(t, s.Key == "" || "--"+s.Key == s.Flag, "the key of %s is %s, and the reference says that they are the same", s.Flag, s.Key)
		rows = append(rows, []string{code(s.Flag), code(s.Env), code(s.Default), s.Help})
	}
	return table([]string{"flag", "environment", "default", ""}, rows)
}

func promptTable() string {
	var rows [][]string
	for _, p := range tools.Prompts() {
		names := make([]string, len(p.Arguments))
		for i, a := range p.Arguments {
			names[i] = code(a.Name)
			if !a.Required {
				names[i] += " (optional)"
			}
		}
		rows = append(rows, []string{code(p.Name), strings.Join(names, ", "), p.Description})
	}
	return table([]string{"prompt", "arguments", ""}, rows)
}

// pluginTable lists the keys of a plugin's file, and of what is in them.
func pluginTable(t *testing.T) string {
	t.Helper()
	schema, err := plugins.Schema()
	must(t, err)
	return table([]string{"key", "type", ""}, pluginKeys(t, "", schema))
}

func pluginKeys(t *testing.T, prefix string, schema json.RawMessage) (rows [][]string) {
	t.Helper()
	for _, p := range properties(t, schema) {
		name := prefix + p.Name
		rows = append(rows, []string{code(name), fmt.Sprint(p.Type), p.about()})
		switch {
		case strings.HasPrefix(string(p.Items), "{") && strings.Contains(string(p.Items), "properties"):
			rows = append(rows, pluginKeys(t, name+"[].", p.Items)...)
		case len(p.AdditionalProperties) > len("false"):
			rows = append(rows, pluginKeys(t, name+".*.", p.AdditionalProperties)...)
		case len(p.Properties) > 0:
			rows = append(rows, pluginKeys(t, name+".", []byte(`{"properties":`+string(p.Properties)+`}`))...)
		}
	}
	return rows
}

// metricTable lists the metrics as the server tells them.
func metricTable(t *testing.T) string {
	t.Helper()
	m := metrics.New(metrics.Options{Version: "v", Stats: func(context.Context) sessions.Stats {
		return sessions.Stats{Starts: map[string]uint64{"zygote": 1}}
	}})
	restored := true
	m.Ended(sessions.Result{Status: sessions.StatusCrashed, InterpreterRestarted: true, StateRestored: &restored, ToolCalls: &sessions.ToolCalls{ByTool: map[string]int{"github.search": 1}}})
	m.Call("run_python_code", "run", "busy", time.Second)
	m.Start("zygote", time.Second)
	m.Exchange(metrics.Exchange{Route: "/mcp", Method: http.MethodPost, Status: http.StatusOK})
	answer := httptest.NewRecorder()
	m.Handler().ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/metrics", http.NoBody))

	var rows [][]string
	lines := bufio.NewScanner(answer.Body)
	name, help, kind := "", "", ""
	label := regexp.MustCompile(`([a-z]+)="`)
	for lines.Scan() {
		fields := strings.SplitN(lines.Text(), " ", 4)
		switch {
		case !strings.Contains(lines.Text(), "understudy_"):
			name = ""
		case fields[1] == "HELP":
			name, help = fields[2], fields[3]
		case fields[1] == "TYPE":
			kind = fields[3]
		case name != "": // its first value
			var labels []string
			for _, match := range label.FindAllStringSubmatch(lines.Text(), -1) {
				if match[1] != "le" {
					labels = append(labels, code(match[1]))
				}
			}
			rows = append(rows, []string{code(name), kind, strings.Join(labels, ", "), help})
			name = ""
		}
	}
	return table([]string{"metric", "kind", "labels", ""}, rows)
}

// policyDefaults are the rules that come with the program, their lists in lines.
func policyDefaults(t *testing.T) string {
	t.Helper()
	var root yaml.Node
	must(t, yaml.Unmarshal([]byte(policy.Defaults()), &root))
	var b strings.Builder
	for i, pairs := 0, root.Content[0].Content; i < len(pairs); i += 2 {
		key, value := pairs[i].Value, pairs[i+1]
		var items []string
		for n := range value.Content {
			switch {
			case value.Kind == yaml.SequenceNode:
				items = append(items, value.Content[n].Value)
			case n%2 == 1:
				items = append(items, value.Content[n-1].Value+": "+value.Content[n].Value)
			}
		}
		if value.Kind == yaml.SequenceNode {
			fmt.Fprintf(&b, "%s:\n  [%s]\n", key, inLines(items))
		} else {
			fmt.Fprintf(&b, "%s: {%s}\n", key, inLines(items))
		}
	}
	var short, whole map[string]any
	err := errors.Join(yaml.Unmarshal([]byte(b.String()), &short), yaml.Unmarshal([]byte(policy.Defaults()), &whole))
	insist(t, err == nil && reflect.DeepEqual(short, whole), "%v in\n%s", err, b.String())
	return "```yaml\n" + b.String() + "```\n"
}

// inLines joins items by commas, in lines of at most 90 characters.
func inLines(items []string) string {
	lines := []string{"  "}
	for i, item := range items {
		if i < len(items)-1 {
			item += ","
		}
		if last := len(lines) - 1; len(lines[last])+len(item) < 90 {
			lines[last] += " " + item
		} else {
			lines = append(lines, "   "+item)
		}
	}
	return strings.TrimSpace(strings.Join(lines, "\n"))
}

// triedClients are the clients that make conformance has talk with the server, by name,
// as testdata/conformance/clients.json has them: for each way that they take the
// steps that did not simply go well.
type triedClients map[string]struct {
	Version string
	Ways    map[string]map[string]string
}

// remarks say what an outcome of a step means, in the order of the notes.
var remarks = []struct{ step, outcome, text string }{
	{"state", "by handle", "Every call is a client of its own: its variables stay for who passes the `interpreter_id` that the first answer named."},
	{"state", "no", "Every call starts a server, and nothing stays. `understudy connect` in its place keeps the variables."},
	{"figure", "as text", "Its model gets figures in base64, as part of the text."},
	{"six seconds", "by wait", "It calls itself what clients do that give up after five seconds, so a call that takes longer is answered `running` before, and operation `wait` brings the rest."},
	{"cancellation", "by interrupt", "It gives up a call without telling the server: the code runs on, until operation `interrupt`."},
}

// clientTable lists what is known of clients.
func clientTable() string {
	var rows [][]string
	for _, f := range answer.Profiles() {
		names := make([]string, len(f.Names))
		for i, name := range f.Names {
			names[i] = code(name)
			if !f.Exact {
				names[i] += "…"
			}
		}
		record := "no"
		if f.Record {
			record = "yes"
		}
		rows = append(rows, []string{f.Client, strings.Join(names, ", "), record, f.Why})
	}
	return table([]string{"client", "calls itself", "record", "why"}, rows)
}

// conversationTable tells how clients got on with the server, by transport.
func conversationTable(t *testing.T) string {
	t.Helper()
	all := triedClients{}
	must(t, json.Unmarshal([]byte(readFile(t, "testdata/conformance/clients.json")), &all))
	notes := noteNumbers(t, all)
	var rows [][]string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		row := []string{name + " " + all[name].Version}
		for _, way := range []string{"stdio", "stdio modern", "http", "http modern", "sse"} {
			otherwise, takes := all[name].Ways[way]
			row = append(row, went(otherwise, takes, notes))
		}
		rows = append(rows, row)
	}
	var b strings.Builder
	b.WriteString(table([]string{"client", "stdio", "stdio, 2026-07-28", "HTTP", "HTTP, 2026-07-28", "SSE"}, rows) + "\n")
	for _, r := range remarks {
		if number := notes[r.step+" "+r.outcome]; number > 0 {
			fmt.Fprintf(&b, "- (%d) %s\n", number, r.text)
		}
	}
	return b.String()
}

// noteNumbers numbers the remarks that are needed, by step and outcome.
func noteNumbers(t *testing.T, all triedClients) map[string]int {
	t.Helper()
	needed := map[string]bool{}
	for _, one := range all {
		for _, otherwise := range one.Ways {
			for step, outcome := range otherwise {
				needed[step+" "+outcome] = true
			}
		}
	}
	numbers := map[string]int{}
	for _, r := range remarks {
		if needed[r.step+" "+r.outcome] {
			numbers[r.step+" "+r.outcome] = len(numbers) + 1
		}
	}
	expect(t, len(numbers) == len(needed), "there are remarks on %v of %v", numbers, needed)
	return numbers
}

// went is a cell: how the state was kept, and the numbers of the notes on all that
// went otherwise than it might.
func went(otherwise map[string]string, takes bool, notes map[string]int) string {
	if !takes {
		return "–"
	}
	text := "yes"
	if state, is := otherwise["state"]; is {
		text = state
	}
	var numbers []int
	for step, outcome := range otherwise {
		numbers = append(numbers, notes[step+" "+outcome])
	}
	slices.Sort(numbers)
	for _, number := range numbers {
		text += fmt.Sprintf(" (%d)", number)
	}
	return text
}

func joined(values []any) string {
	texts := make([]string, len(values))
	for i, v := range values {
		texts[i] = fmt.Sprint(v)
	}
	return strings.Join(texts, ", ")
}

// code is a text in code, nothing if it is empty.
func code(text string) string {
	if text == "" {
		return ""
	}
	return "`" + text + "`"
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	must(t, err)
	return string(text)
}
