package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
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
	writeFile(t, rules, "blocked_modules: [socket]\nprincipals:\n  alice: {}\n  ci-*: {allowed_modules: [math]}\n")
	s := startServer(t, "--log-level", "debug", "--preload", "none", "--auth-tokens", tokens, "--policy", rules)
	imports := func(name, module string) string {
		return s.py(token[name], "import "+module+"; secret_name = 1; 'it ran'")
	}
	for _, test := range []struct {
		name, module string
		runs         bool
	}{
		{"alice", "socket", true}, {"bob", "socket", false}, {"bob", "json", true}, {"ci-1", "json", false}, {"ci-1", "math", true},
	} {
		if text := imports(test.name, test.module); strings.HasPrefix(text, "'it ran'") != test.runs || strings.Contains(text, "Not run") == test.runs {
			t.Errorf("%s imports %s: %s", test.name, test.module, text)
		}
	}
	isBlocked := func() bool { return strings.Contains(imports("alice", "socket"), "blocked module socket") }
	writeFile(t, rules, "blocked_modules: [json]\nprincipals: {alice: {blocked_modules: [socket]}}\n")
	comesTrue(t, "alice has other rules", isBlocked)
	writeFile(t, rules, "blocked_modules: [json\n")
	comesTrue(t, "the mistake is noticed", func() bool {
		return isBlocked() && strings.Contains(s.log.String(), "the policy can't be used")
	})
	_, _, text := s.get(t, "/metrics", token["bob"])
	expect(t, strings.Contains(text, `understudy_refused_total{code="refused"}`), "the metrics have no refusals")
	must(t, s.stop())
	log := s.log.String()
	if strings.Contains(log, "secret_name") || !strings.Contains(log, `msg="code was refused" principal=ci-1 rules="module json is not allowed" violations=1`) {
		t.Errorf("the log:\n%s", log)
	}
}

// TestCheckersEndWithTheServer: asked to end or killed, it leaves no checker behind.
func TestCheckersEndWithTheServer(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("processes are found by /proc")
	}
	for name, end := range map[string]func(s *server){
		"stopped": func(s *server) { must(t, s.stop()) },
		"killed":  (*server).kill,
	} {
		t.Run(name, func(t *testing.T) {
			s := startServer(t, "--preload", "none", "--policy", "defaults")
			text := s.py("", "1")
			insist(t, strings.HasPrefix(text, "1\n"), "%v", text)
			checkers := checkersOf(t, s.cmd.Process.Pid)
			insist(t, len(checkers) != 0, "no checker was found")
			end(s)
			comesTrue(t, "the checkers are gone", func() bool { return !slices.ContainsFunc(checkers, isChecker) })
		})
	}
}

// checkersOf finds the checkers among the children of a process.
func checkersOf(t *testing.T, server int) (found []string) {
	t.Helper()
	if own, err := filepath.Glob("/proc/self/task/*/children"); err != nil || len(own) == 0 {
		t.Skip("this kernel does not list children")
	}
	lists, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", server))
	must(t, err)
	for _, list := range lists {
		text, _ := os.ReadFile(list) // a thread may end while we read
		found = append(found, strings.Fields(string(text))...)
	}
	return slices.DeleteFunc(found, func(pid string) bool { return !isChecker(pid) })
}

func isChecker(pid string) bool {
	text, _ := os.ReadFile("/proc/" + pid + "/cmdline") // empty for who has ended
	return strings.Contains(string(text), "verify.py")
}
