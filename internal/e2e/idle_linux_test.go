package e2e

import (
	"errors"
	"strings"
	"syscall"
	"testing"

	"github.com/mark3labs/mcp-go/client"
)

// TestAnIdleInterpreterHasNoCopy of its state: another is made before the code of the next
// call runs, so that a crash of it costs nothing else. What kills the process meanwhile
// loses the last run, and the list says that it would.
func TestAnIdleInterpreterHasNoCopy(t *testing.T) {
	c := serve(t, "--copy-idle", "10ms", "--copy-share", "1")
	for _, code := range []string{"x = 1", "x = 2"} {
		run(t, c, code)
	}
	awaitListing(t, c, func(l map[string]any) bool { return l["uncopied_while_idle"] == true && l["recoverable"] == true })
	r, _ := run(t, c, "x = 3; import os; os.abort()")
	expect(t, r["state_restored"] == true, "%v", r)
	if r, _ := run(t, c, "print(x)"); r["stdout"] != "2\n" {
		t.Errorf("%v", r)
	}
	idle := awaitListing(t, c, func(l map[string]any) bool { return l["uncopied_while_idle"] == true })
	must(t, syscall.Kill(int(idle["pid"].(float64)), syscall.SIGKILL))
	ended := awaitListing(t, c, func(l map[string]any) bool { return l["ended"] != nil })
	if text := ended["ended"].(string); !strings.Contains(text, "as they were before execution 4; execution 4 is lost: while it is idle no copy") || ended["recoverable"] != false {
		t.Errorf("%v", ended)
	}
	if r, _ := run(t, c, "print(x)"); r["stdout"] != "2\n" || r["state_before"] != 4. {
		t.Errorf("%v", r)
	}
}

// awaitListing returns the one interpreter of the list once it is as wanted.
func awaitListing(t *testing.T, c *client.Client, wanted func(map[string]any) bool) (only map[string]any) {
	t.Helper()
	eventually(t, func() error {
		if only = interpreters(t, c)[0]; !wanted(only) {
			return errors.New("it is not as wanted")
		}
		return nil
	})
	return only
}
