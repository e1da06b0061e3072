package conformance

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// TestLockFile holds what the committed lock must be: every package with its
// checksum, and none with the address of whoever made it.
func TestLockFile(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "testdata", "conformance", "package-lock.json"))
	must(t, err)
	var lock struct {
		Packages map[string]struct{ Resolved, Integrity string }
	}
	must(t, json.Unmarshal(text, &lock))
	expect(t, len(lock.Packages) >= 10, "there are %d packages", len(lock.Packages))
	for name, one := range lock.Packages {
		if name == "" {
			continue // what the lock is for
		}
		expect(t, one.Integrity != "", "%s has no checksum", name)
		if one.Resolved != "" { // whose index it comes from is for who installs it to say
			t.Errorf("%s is from %s only", name, one.Resolved)
		}
	}
}
