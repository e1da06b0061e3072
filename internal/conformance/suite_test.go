package conformance

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// eras are the revisions of the specification whose requirements are tested.
var eras = []string{"2025-11-25", "2026-07-28"}

// TestSuite runs what each revision requires against the fixture and the real
// server. What may fail is listed in testdata/conformance, with the reasons; a
// listed check that passes fails the test, too.
func TestSuite(t *testing.T) {
	suite := installed(t, "node_modules/@modelcontextprotocol/conformance/dist/index.js")
	for _, era := range eras {
		t.Run("fixture "+era, func(t *testing.T) {
			t.Parallel()
			require(t, suite, era, serveFixture(t), "fixture-"+era+".yaml")
		})
		t.Run("understudy "+era, func(t *testing.T) {
			t.Parallel()
			require(t, suite, era, serve(t, "--transport", "http"), "understudy-"+era+".yaml")
		})
	}
}

// require fails the test unless exactly the expected checks fail. The file of
// the expected ones is in testdata/conformance.
func require(t *testing.T, suite, era, address, expected string) {
	t.Helper()
	expected, err := filepath.Abs(filepath.Join("..", "..", "testdata", "conformance", expected))
	if err != nil {
		t.Fatal(err)
	}
	results := t.TempDir()
	said := finish(t, program(t, node(t), suite, "server", "--url", address+"/mcp",
		"--requirements", era, "--expected-failures", expected, "--timeout", "120000", "--output-dir", results))
	_, verdict, summed := strings.Cut(said.stdout, "Total:")
	if !summed {
		t.Fatalf("the suite ended with %s", said)
	}
	if said.status != 0 {
		verdict = unexpected(verdict)
		t.Errorf("of %s:\n%s\n%s", filepath.Base(expected), verdict, complaints(t, results, verdict))
	}
}

// unexpected leaves out of a verdict what was expected, which comes first.
func unexpected(verdict string) string {
	for _, heading := range []string{"Stale baseline", "Unexpected failures"} {
		if at := strings.Index(verdict, heading); at >= 0 {
			return verdict[at:]
		}
	}
	return verdict
}

// complaints returns what was wrong in the scenarios that verdict names.
func complaints(t *testing.T, results, verdict string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(results, "*", "checks.json"))
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var checks []struct{ ID, Status, ErrorMessage string }
		if err := json.Unmarshal(text, &checks); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		// The directory is called server-<scenario>-<time>.
		scenario, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(filepath.Dir(file)), "server-"), "-202")
		for _, check := range checks {
			if check.ErrorMessage != "" && strings.Contains(verdict, scenario) {
				fmt.Fprintf(&all, "%s:%s: %s: %s\n", scenario, check.ID, check.Status, check.ErrorMessage)
			}
		}
	}
	return all.String()
}
