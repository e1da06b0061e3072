package conformance

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// eras are the revisions of the specification whose requirements are tested.
var eras = []string{"2025-11-25", "2026-07-28"}

// TestSuite runs what each revision requires against the fixture and the real
// server. What may fail is listed in testdata/conformance, with the reasons; a
// listed check that passes fails the test, too. Nothing runs beside it, as some
// of the checks allow an answer half a second.
func TestSuite(t *testing.T) {
	installed(t, suitePath)
	for _, era := range eras {
		t.Run("fixture "+era, func(t *testing.T) {
			require(t, era, serveFixture(t), "fixture-"+era)
		})
		t.Run("understudy "+era, func(t *testing.T) {
			require(t, era, serve(t, "--transport", "http"), "understudy-"+era)
		})
	}
}

const suitePath = "node_modules/@modelcontextprotocol/conformance/dist/index.js"

// attempts is how often the suite may be run when it found nothing but that an
// answer was late.
const attempts = 4

// require fails the test unless exactly the expected checks fail, and at least as
// many pass as did when that was last written down. Both are in
// testdata/conformance under the name.
func require(t *testing.T, era, address, name string) {
	t.Helper()
	for attempt := 1; ; attempt++ {
		v := runSuite(t, era, address, name+".yaml")
		if v.passed {
			v.atLeast(t, name)
			return
		}
		if attempt == attempts || !v.isLate() {
			t.Errorf("of %s:\n%s", name, v.text())
			return
		}
		t.Logf("again, as this machine is slow:\n%s", v.text())
	}
}

// verdict is what the suite found.
type verdict struct {
	passed     bool
	stale      []string // expected failures that pass
	unexpected []string // failures that are not expected
	complaints []check  // that failed unexpectedly
	successes  map[string]int
}

// check is one that the suite has made.
type check struct{ Scenario, ID, Status, ErrorMessage string }

// runSuite runs the suite once.
func runSuite(t *testing.T, era, address, expected string) verdict {
	t.Helper()
	expected, err := filepath.Abs(testdata(expected))
	must(t, err)
	results := t.TempDir()
	said := finish(t, program(t, node(t), installed(t, suitePath), "server", "--url", address+"/mcp",
		"--requirements", era, "--expected-failures", expected, "--timeout", "120000", "--output-dir", results))
	_, found, summed := strings.Cut(said.stdout, "Total:")
	insist(t, summed, "the suite ended with %s", said)
	all := readChecks(t, results)
	v := verdict{
		passed: said.status == 0, successes: successes(all),
		stale: marked(found, "✓", "Stale baseline"), unexpected: marked(found, "✗", "Unexpected failures"),
	}
	v.complaints = v.explained(all)
	return v
}

func testdata(name string) string {
	return filepath.Join("..", "..", "testdata", "conformance", name)
}

// marked returns the lines with the mark that follow a heading.
func marked(text, mark, heading string) (lines []string) {
	_, text, _ = strings.Cut(text, heading)
	for line := range strings.Lines(text) {
		if entry, ok := strings.CutPrefix(strings.TrimSpace(line), mark+" "); ok {
			lines = append(lines, entry)
		}
	}
	return lines
}

// resultDir is the name of a directory of results: server-SCENARIO-TIME.
var resultDir = regexp.MustCompile(`^server-(.+)-\d{4}-\d\d-\d\dT`)

// readChecks returns the checks of every scenario that was run.
func readChecks(t *testing.T, results string) map[string][]check {
	t.Helper()
	all := map[string][]check{}
	files, err := filepath.Glob(filepath.Join(results, "*", "checks.json"))
	must(t, err)
	for _, file := range files {
		text, err := os.ReadFile(file)
		must(t, err)
		var checks []check
		if err := json.Unmarshal(text, &checks); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		name := resultDir.FindStringSubmatch(filepath.Base(filepath.Dir(file)))
		insist(t, name != nil, "%s is of no scenario", file)
		for i := range checks {
			checks[i].Scenario = name[1]
		}
		all[name[1]] = append(all[name[1]], checks...)
	}
	return all
}

// explained returns the checks that failed unexpectedly.
func (v verdict) explained(all map[string][]check) (found []check) {
	for _, c := range slices.Concat(slices.Collect(maps.Values(all))...) {
		if c.Status != "FAILURE" && c.Status != "WARNING" {
			continue
		}
		if slices.Contains(v.unexpected, c.Scenario) || slices.Contains(v.unexpected, c.Scenario+":"+c.ID) {
			found = append(found, c)
		}
	}
	return found
}

func (v verdict) text() string {
	var text strings.Builder
	for _, entry := range v.stale {
		fmt.Fprintf(&text, "%s passes: take it out of the file\n", entry)
	}
	for _, c := range v.complaints {
		fmt.Fprintf(&text, "%s:%s: %s: %s\n", c.Scenario, c.ID, c.Status, c.ErrorMessage)
	}
	if text.Len() == 0 {
		fmt.Fprintf(&text, "%v\n", v.unexpected)
	}
	return text.String()
}

// late are the beginnings of what the suite says when nothing at all came in the
// time that it allows, which is between half a second and one and a half.
var late = []string{
	"Failed to receive progressive stream chunk",
	"Logging target endpoint context dropped",
	"Failed to open or receive frames",
	"Failed to open stream line",
	"Strict subscription filtering line failed",
	"Mutated the prompt list but no",
	"Mutated the tool list but no",
}

// isLate reports whether everything that was wrong is that answers were late.
func (v verdict) isLate() bool {
	return len(v.stale) == 0 && len(v.complaints) > 0 && !slices.ContainsFunc(v.complaints, func(c check) bool {
		return !slices.ContainsFunc(late, func(beginning string) bool { return strings.HasPrefix(c.ErrorMessage, beginning) })
	})
}
