package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/client"
)

// TestManyClientsNeverMix: clients of every kind at once, each with variables of
// its own in a real Python, and in its list nothing but its own.
func TestManyClientsNeverMix(t *testing.T) {
	t.Parallel()
	const each = 8
	r := startRemote(t, "--history", "0")
	var all sync.WaitGroup
	for _, w := range ways[:3] {
		for i := range each {
			c := w.connect(t, r)
			all.Go(func() {
				if err := converse(w, c, fmt.Sprint(w.name, " ", i)); err != nil {
					t.Errorf("%s, client %d: %v", w.name, i, err)
				}
			})
		}
	}
	all.Wait()
}

// converse is what one client does and checks.
func converse(w way, c *client.Client, name string) error {
	id, want := "", ""
	for round := range 4 {
		arguments := map[string]any{"code": fmt.Sprintf("seen = globals().get('seen', '') + %q\nprint(seen, len(seen))", fmt.Sprint(name, round, ";"))}
		if id != "" && w.isAnonymous() {
			arguments["interpreter_id"] = id
		}
		record, text, err := callTool(c, "run_python_code", arguments)
		if err != nil {
			return err
		}
		want += fmt.Sprint(name, round, ";")
		if record["stdout"] != fmt.Sprintf("%s %d\n", want, len(want)) {
			return fmt.Errorf("it sees %q", record["stdout"])
		}
		if told := strings.Contains(text, "Pass interpreter_id"); told != (id == "") {
			return fmt.Errorf("it is told: %s", text)
		}
		id = record["interpreter_id"].(string)
		listed, text, err := callTool(c, "manage_interpreters", map[string]any{"operation": "list"})
		if err != nil {
			return err
		}
		own := listed["interpreters"].([]any)
		switch {
		case w.isAnonymous() && len(own) == 0 && strings.Contains(text, "pass the interpreter_id"):
		case !w.isAnonymous() && len(own) == 1 && own[0].(map[string]any)["id"] == id:
		default:
			return fmt.Errorf("it lists %s", text)
		}
	}
	return nil
}

// TestComingBack: code outlives the connection of the client that ran it, and
// who shows the interpreter's id can wait for it and go on, after a goodbye, too: some
// clients say it after each call.
func TestComingBack(t *testing.T) {
	t.Parallel()
	r := startRemote(t)
	sse, legacy, modern := ways[2], ways[1], ways[0]
	first, err := sse.dial(t, r)
	if err != nil {
		t.Fatal(err)
	}
	record, _ := mustCall(t, first, "run_python_code", map[string]any{
		"code": "import os, time\nprint('begun')\nwhile not os.path.exists('go'): time.sleep(0.01)\nx = 42", "wait": 0.01,
	})
	named := map[string]any{"interpreter_id": record["interpreter_id"]}
	second := modern.connect(t, r)
	if _, text := mustCall(t, second, "manage_interpreters", map[string]any{"operation": "list"}); strings.Contains(text, record["interpreter_id"].(string)) {
		t.Fatalf("another client lists it: %s", text)
	}
	_ = first.Close()
	var workdir string
	eventually(t, func() error { // the server hears of it, and the next who shows the id has it
		mustCall(t, second, "manage_interpreters", with(named, "operation", "wait", "wait", 0.01))
		list, text := mustCall(t, second, "manage_interpreters", with(named, "operation", "list"))
		own := list["interpreters"].([]any)
		if len(own) == 0 {
			return fmt.Errorf("it lists %s", text)
		}
		workdir = own[0].(map[string]any)["workdir"].(string)
		return nil
	})
	if err := os.WriteFile(filepath.Join(workdir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	record, text := mustCall(t, second, "manage_interpreters", with(named, "operation", "wait"))
	if record["status"] != "ok" || record["execution"] != 1.0 {
		t.Errorf("%s", text)
	}
	third := legacy.connect(t, r)
	if record, _ = mustCall(t, third, "run_python_code", with(named, "code", "print(x)")); record["stdout"] != "42\n" {
		t.Errorf("%v", record)
	}
	_ = third.Close() // says goodbye
	if record, _ = mustCall(t, second, "run_python_code", with(named, "code", "print(x)")); record["stdout"] != "42\n" {
		t.Errorf("%v", record)
	}
}

// with returns a copy of arguments with more, as pairs of name and value.
func with(arguments map[string]any, pairs ...any) map[string]any {
	all := map[string]any{}
	for name, value := range arguments {
		all[name] = value
	}
	for i := 0; i < len(pairs); i += 2 {
		all[pairs[i].(string)] = pairs[i+1]
	}
	return all
}

// eventually returns when check succeeds.
func eventually(t *testing.T, check func() error) {
	t.Helper()
	var err error
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		if err = check(); err == nil {
			return
		}
	}
	t.Fatal(err)
}
