package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
)

// TestPrincipalsHavePolicies: over HTTP each principal has its rules, which change
// with their file, and the operator sees what was refused.
func TestPrincipalsHavePolicies(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a process can't be asked to stop by another one there")
	}
	dir := t.TempDir()
	tokens, rules := filepath.Join(dir, "tokens"), filepath.Join(dir, "policy.yaml")
	token := map[string]string{}
	for _, name := range []string{"alice", "ci-1", "bob"} {
		token[name] = newToken(t, name, "--add-to", tokens)
	}
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(rules, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("blocked_modules: [socket]\nprincipals:\n  alice: {}\n  ci-*: {allowed_modules: [math]}\n")
	r := startGuarded(t, "--auth-tokens", tokens, "--policy", rules)
	run := func(name, module string) string {
		return r.call(token[name], "run_python_code", map[string]any{"code": "import " + module + "; secret_name = 1; 'it ran'"})
	}
	for _, test := range []struct {
		name, module string
		runs         bool
	}{
		{"alice", "socket", true}, {"bob", "socket", false}, {"bob", "json", true}, {"ci-1", "json", false}, {"ci-1", "math", true},
	} {
		if text := run(test.name, test.module); strings.HasPrefix(text, "'it ran'") != test.runs || strings.Contains(text, "Not run") == test.runs {
			t.Errorf("%s imports %s: %s", test.name, test.module, text)
		}
	}
	write("blocked_modules: [json]\nprincipals: {alice: {blocked_modules: [socket]}}\n")
	comesTrue(t, "alice has other rules", func() bool { return strings.Contains(run("alice", "socket"), "blocked module socket") })
	write("blocked_modules: [json\n")
	comesTrue(t, "the mistake is noticed", func() bool {
		return strings.Contains(run("alice", "socket"), "blocked module socket") && strings.Contains(r.said(), "the policy can't be used")
	})
	if text := r.get("/metrics", token["bob"]).body; !strings.Contains(text, `understudy_refused_total{code="refused"}`) {
		t.Error("the metrics have no refusals")
	}
	r.stop()
	if log := r.said(); strings.Contains(log, "secret_name") || !strings.Contains(log, `msg="code was refused" principal=ci-1 rules="module json is not allowed" violations=1`) {
		t.Errorf("the log:\n%s", log)
	}
}

// TestCheckersEndWithTheServer: asked to end or killed, it leaves no checker behind.
func TestCheckersEndWithTheServer(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("processes are found by /proc")
	}
	for name, end := range map[string]func(r *guarded){
		"stopped": func(r *guarded) { r.stop() },
		"killed":  func(r *guarded) { _ = r.cmd.Process.Kill(); <-r.done },
	} {
		t.Run(name, func(t *testing.T) {
			r := startGuarded(t, "--policy", "defaults")
			if text := r.call("", "run_python_code", map[string]any{"code": "1"}); !strings.HasPrefix(text, "1\n") {
				t.Fatal(text)
			}
			checkers := checkersOf(t, r.cmd.Process.Pid)
			if len(checkers) == 0 {
				t.Fatal("no checker was found")
			}
			end(r)
			comesTrue(t, "the checkers are gone", func() bool {
				for _, pid := range checkers {
					if strings.Contains(commandLine(pid), "verify.py") {
						return false
					}
				}
				return true
			})
		})
	}
}

// checkersOf finds the checkers among the children of a process.
func checkersOf(t *testing.T, server int) (found []int) {
	t.Helper()
	if own, err := filepath.Glob("/proc/self/task/*/children"); err != nil || len(own) == 0 {
		t.Skip("this kernel does not list children")
	}
	lists, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", server))
	if err != nil {
		t.Fatal(err)
	}
	for _, list := range lists {
		text, _ := os.ReadFile(list) // a thread may end while we read
		for _, field := range strings.Fields(string(text)) {
			if pid, err := strconv.Atoi(field); err == nil && strings.Contains(commandLine(pid), "verify.py") {
				found = append(found, pid)
			}
		}
	}
	return found
}

func commandLine(pid int) string {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)) // empty for who has ended
	return string(text)
}
