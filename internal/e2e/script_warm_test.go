package e2e

import (
	"context"
	"fmt"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// cmdWarm makes interpreters until one has a module imported that it did not
// import itself: before the zygote is warm they come without. That one is $ID.
func cmdWarm(ts *testscript.TestScript, neg bool, args []string) {
	a, ctx := agentOf(ts), context.Background()
	code := fmt.Sprintf("__import__('sys').exit(%q not in __import__('sys').modules)", args[0])
	// A pause, as whoever makes interpreters takes the zygote's time.
	for deadline := time.Now().Add(5 * time.Minute); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		a.answered(ts, neg, a.call(ctx, ts, "manage_interpreters", map[string]any{"operation": "create"}))
		id := a.field("interpreter_id")
		a.answered(ts, neg, a.call(ctx, ts, "run_python_code", map[string]any{"code": code, "interpreter_id": id}))
		if a.field("status") == "ok" { // exit(False) is a clean one
			return
		}
		a.answered(ts, neg, a.call(ctx, ts, "manage_interpreters", map[string]any{"operation": "delete", "interpreter_id": id}))
	}
	ts.Fatalf("no interpreter had %s imported from the start", args[0])
}
