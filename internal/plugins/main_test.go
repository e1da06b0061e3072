package plugins

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"understudy/internal/check"
)

var must, expect, insist = check.Must, check.Expect, check.Insist

// update rewrites the committed schema.
var update = flag.Bool("update", false, "rewrite schemas/plugin.json")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestSchema compares the committed contract with what the struct says.
func TestSchema(t *testing.T) {
	raw, err := Schema()
	must(t, err)
	var indented bytes.Buffer
	must(t, json.Indent(&indented, raw, "", "  "))
	indented.WriteByte('\n')
	path := filepath.Join("..", "..", "schemas", "plugin.json")
	if *update {
		must(t, os.WriteFile(path, indented.Bytes(), 0o644))
	}
	committed, err := os.ReadFile(path)
	must(t, err)
	diff := cmp.Diff(string(committed), indented.String())
	expect(t, diff == "", "%s is not what the code says; run go test ./internal/plugins -update\n%s", path, diff)
}

// write makes a directory of files by name.
func write(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		must(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	return dir
}

// open returns the plugins of such a directory.
func open(t *testing.T, files map[string]string) []Plugin {
	t.Helper()
	r, err := Open(write(t, files), Options{})
	must(t, err)
	return r.Set().Plugins
}
