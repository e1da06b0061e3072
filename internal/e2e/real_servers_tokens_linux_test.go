package e2e

import (
	"database/sql"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/tiktoken-go/tokenizer"
)

var update = flag.Bool("update", false, "rewrite the table of tokens in docs/mcptools.md")

// tokens are what a model reads and writes for a job, by what they are for.
type tokens struct {
	t             *testing.T
	codec         tokenizer.Codec
	tools, number int
	found, calls  []int // one for each call, with its result
}

func sum(counts []int) (all int) {
	for _, n := range counts {
		all += n
	}
	return all
}

// inAll is what is read when each request to the model has all that was before, and brings
// one call.
func (k *tokens) inAll() (read int) {
	context := k.tools
	for _, n := range append(slices.Clone(k.found), k.calls...) {
		read += context
		context += n
	}
	return read + context
}

func (k *tokens) of(values ...any) (all int) {
	k.t.Helper()
	for _, value := range values {
		text, isText := value.(string)
		if !isText {
			written, err := json.Marshal(value)
			must(k.t, err)
			text = string(written)
		}
		n, err := k.codec.Count(text)
		must(k.t, err)
		all += n
	}
	return all
}

// offered counts the tools that a client passes on: name, description and schema.
func (k *tokens) offered(c *client.Client) {
	k.t.Helper()
	all, err := c.ListTools(k.t.Context(), mcp.ListToolsRequest{})
	must(k.t, err)
	for _, tool := range all.Tools {
		k.number++
		k.tools += k.of(map[string]any{"name": tool.Name, "description": tool.Description, "input_schema": tool.InputSchema})
	}
}

// TestRealServersTakeTokens counts the tokens of the job of thirty calls: by plain tools, and
// in one run after two that look for the tools and read of those that are called. The
// table in docs/mcptools.md may differ by a tenth, as paths, dates and words of help do; -update
// writes it anew.
func TestRealServersTakeTokens(t *testing.T) {
	codec, err := tokenizer.Get(tokenizer.Cl100kBase)
	must(t, err)
	r := openRealServers(t, nil, "--mcp-allow", "memory.create_entities,sqlite.read_query")
	ours, plain := &tokens{t: t, codec: codec}, &tokens{t: t, codec: codec}
	for _, argv := range r.servers {
		plain.offered(spawn(t, commandOf(t, argv)))
	}
	said := func(code string) int {
		_, text := run(t, r.c, code)
		return ours.of(map[string]any{"name": "run_python_code", "arguments": map[string]any{"code": code}}, text)
	}
	code, err := os.ReadFile("testdata/mcp/thirty_calls.py")
	must(t, err)
	ours.found = []int{said(searches), said(helps)}
	ours.calls = []int{said(string(code))}
	ours.offered(r.c) // the servers have started
	must(t, r.c.Close())
	plain.calls = r.plainCalls(plain)
	compareTokens(t, plain, ours)
}

const (
	searches = `import mcptools
for words in "read text files", "time in a zone", "weather of a city", "sum", "entities of the graph", "query":
    print(mcptools.search(words))`
	helps = `from mcptools import everything, filesystem, memory, sqlite, time as clock
for tool in filesystem.search_files, filesystem.read_text_file, everything.get_structured_content, clock.convert_time:
    help(tool)`
)

// plainCalls counts what the calls that the journal has take as calls of plain tools: each
// with its arguments, and the texts of its result.
func (r *realServers) plainCalls(k *tokens) (counts []int) {
	r.t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(r.data, "journal.db"))
	must(r.t, err)
	defer db.Close()
	rows, err := db.Query(`SELECT tool, arguments, result FROM tool_calls ORDER BY ordinal`)
	must(r.t, err)
	defer rows.Close()
	for rows.Next() {
		var tool, arguments, result string
		must(r.t, rows.Scan(&tool, &arguments, &result))
		var answer struct{ Content []struct{ Text string } }
		must(r.t, json.Unmarshal([]byte(result), &answer))
		n := k.of(map[string]any{"name": tool, "arguments": json.RawMessage(arguments)})
		for _, part := range answer.Content {
			n += k.of(part.Text)
		}
		counts = append(counts, n)
	}
	must(r.t, rows.Err())
	return counts
}

var tokenTable = regexp.MustCompile(`(?s)(<!-- tokens:begin -->\n).*?(<!-- tokens:end -->)`)

// compareTokens compares the table in the docs with what was counted.
func compareTokens(t *testing.T, plain, ours *tokens) {
	t.Helper()
	want := fmt.Sprintf("| tokens for | %d plain tools | %d tools and `mcptools` |\n|---|---|---|\n", plain.number, ours.number)
	for _, row := range []struct {
		about       string
		plain, ours int
	}{
		{"the descriptions of the tools", plain.tools, ours.tools},
		{"finding tools, and reading of four", sum(plain.found), sum(ours.found)},
		{"30 calls and their results, or the code and what it prints", sum(plain.calls), sum(ours.calls)},
		{"all of this, as it is in the context in the end", plain.tools + sum(plain.calls), ours.tools + sum(ours.found) + sum(ours.calls)},
		{"all that the model reads, when each of its requests makes one call", plain.inAll(), ours.inAll()},
	} {
		want += fmt.Sprintf("| %s | %d | %d |\n", row.about, row.plain, row.ours)
	}
	path := filepath.Join(root, "docs", "mcptools.md")
	text, err := os.ReadFile(path)
	must(t, err)
	if *update {
		must(t, os.WriteFile(path, tokenTable.ReplaceAll(text, []byte("${1}"+want+"${2}")), 0o644))
		return
	}
	if got := tokenTable.FindString(string(text)); !alike(got, "<!-- tokens:begin -->\n"+want+"<!-- tokens:end -->") {
		t.Errorf("docs/mcptools.md has\n%s\nand this was counted; run make conformance UPDATE=1\n%s", got, want)
	}
}

var digits = regexp.MustCompile(`\d+`)

// alike reports whether texts differ in numbers only, and these by a tenth at most.
func alike(a, b string) bool {
	as, bs := digits.FindAllString(a, -1), digits.FindAllString(b, -1)
	if digits.ReplaceAllString(a, "0") != digits.ReplaceAllString(b, "0") || len(as) != len(bs) {
		return false
	}
	for i := range as {
		x, errX := strconv.ParseFloat(as[i], 64)
		y, errY := strconv.ParseFloat(bs[i], 64)
		if errX != nil || errY != nil || math.Abs(x-y) > math.Max(x, y)/10 {
			return false
		}
	}
	return strings.Contains(a, "|")
}
