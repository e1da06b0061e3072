package pythonenv

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestDirectories makes an environment, which needs its own directory and that of the
// Python it was made from.
func TestDirectories(t *testing.T) {
	base, extra := realPython(t), t.TempDir()
	environment := filepath.Join(t.TempDir(), "env")
	if out, err := exec.CommandContext(t.Context(), base, "-m", "venv", "--without-pip", environment).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Setenv("PYTHONPATH", extra)
	found, err := Directories(t.Context(), interpreter(environment))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{environment, extra, base} {
		want, err := filepath.EvalSymlinks(want)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.ContainsFunc(found, func(d string) bool { return want == d || strings.HasPrefix(want, d+string(filepath.Separator)) }) {
			t.Errorf("%s is not in %q", want, found)
		}
	}
	if slices.Contains(found, "/") || slices.Contains(found, "") {
		t.Errorf("more than Python needs: %q", found)
	}
	// What code has left where the server works is not run.
	work := t.TempDir()
	if err := os.WriteFile(filepath.Join(work, "json.py"), []byte("raise SystemExit('run outside')\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Chdir(work)
	t.Setenv("PYTHONPATH", work)
	if _, err := Directories(t.Context(), base); err != nil {
		t.Error(err)
	}
	if _, err := Versions(t.Context(), base); err != nil {
		t.Error(err)
	}
	if _, err := Directories(t.Context(), "/nowhere/python"); err == nil {
		t.Error("a Python that is not there has directories")
	}
}
