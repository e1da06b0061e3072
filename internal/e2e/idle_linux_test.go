package e2e

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/client"
)

// TestAnIdleInterpreterHasNoCopy of its state: another is made before the code of the next
// call runs, so that a crash of it costs nothing else. What kills the process meanwhile
// loses the last run, and the list says that it would.
func TestAnIdleInterpreterHasNoCopy(t *testing.T) {
	c, _ := serve(t, "--copy-idle", "10ms", "--copy-share", "1")
	for _, code := range []string{"x = 1", "x = 2"} {
		mustRun(t, c, code)
	}
	awaitListing(t, c, func(l map[string]any) bool { return l["uncopied_while_idle"] == true && l["recoverable"] == true })
	if r := mustRun(t, c, "x = 3; import os; os.abort()"); r["state_restored"] != true {
		t.Errorf("%v", r)
	}
	if r := mustRun(t, c, "print(x)"); r["stdout"] != "2\n" {
		t.Errorf("%v", r)
	}
	idle := awaitListing(t, c, func(l map[string]any) bool { return l["uncopied_while_idle"] == true })
	if err := syscall.Kill(int(idle["pid"].(float64)), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	ended := awaitListing(t, c, func(l map[string]any) bool { return l["ended"] != nil })
	if text := ended["ended"].(string); !strings.Contains(text, "as they were before execution 4; execution 4 is lost: while it is idle no copy") || ended["recoverable"] != false {
		t.Errorf("%v", ended)
	}
	if r := mustRun(t, c, "print(x)"); r["stdout"] != "2\n" || r["state_before"] != 4. {
		t.Errorf("%v", r)
	}
}

func mustRun(t *testing.T, c *client.Client, code string) map[string]any {
	t.Helper()
	a, err := call(t.Context(), c, "run_python_code", map[string]any{"code": code})
	if err != nil || a.record == nil {
		t.Fatalf("%s: %v %s", code, err, a.text)
	}
	return a.record
}

// awaitListing returns the one interpreter of the list once it is as wanted.
func awaitListing(t *testing.T, c *client.Client, wanted func(map[string]any) bool) map[string]any {
	t.Helper()
	for {
		a, err := call(t.Context(), c, "manage_interpreters", map[string]any{"operation": "list"})
		if err != nil {
			t.Fatal(err)
		}
		only := a.record["interpreters"].([]any)[0].(map[string]any)
		if wanted(only) {
			return only
		}
		time.Sleep(5 * time.Millisecond)
	}
}
