package pythonenv

import (
	"os"
	"slices"
	"strings"
	"testing"
)

// TestPackagesAreWhatIsPinned: requirements.in asks for the Packages and nothing else.
func TestPackagesAreWhatIsPinned(t *testing.T) {
	content, err := os.ReadFile("../../pyworker/requirements.in")
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, p := range Packages {
		names = append(names, p.Name)
	}
	if asked := strings.Fields(string(content)); !slices.Equal(asked, names) {
		t.Errorf("requirements.in has %q, Packages has %q", asked, names)
	}
}
