package conformance

import (
	"path/filepath"
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

func require(t *testing.T, suite, era, address, expected string) {
	t.Helper()
	expected, err := filepath.Abs(filepath.Join("..", "..", "testdata", "conformance", expected))
	if err != nil {
		t.Fatal(err)
	}
	said := finish(t, program(t, node(t), suite, "server", "--url", address+"/mcp",
		"--requirements", era, "--expected-failures", expected, "--timeout", "120000", "--output-dir", t.TempDir()))
	if said.status != 0 {
		t.Errorf("the suite ended with %s", said)
	}
}
