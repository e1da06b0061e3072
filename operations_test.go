package main

import (
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"understudy/internal/auth"
	"understudy/internal/command"
	"understudy/internal/config"
	"understudy/internal/plugins"
	"understudy/internal/policy"
)

// TestLinks: what a document links to is there, headings too.
func TestLinks(t *testing.T) {
	files, err := filepath.Glob("docs/*.md")
	must(t, err)
	for _, file := range append(files, "README.md", "examples/experiment/README.md") {
		for _, link := range regexp.MustCompile(`\]\(([^)\s]+)\)`).FindAllStringSubmatch(readFile(t, file), -1) {
			path, anchor, _ := strings.Cut(link[1], "#")
			target := file
			if path != "" {
				target = filepath.Join(filepath.Dir(file), path)
			}
			if strings.Contains(path, "://") {
				continue
			}
			if _, err := os.Stat(target); err != nil || anchor != "" && !slices.Contains(anchors(t, target), anchor) {
				t.Errorf("%s links to %s, which is not there", file, link[1])
			}
		}
	}
}

// anchors are the names of a document's headings, as GitHub makes them.
func anchors(t *testing.T, file string) (names []string) {
	t.Helper()
	for _, heading := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(readFile(t, file), -1) {
		name := regexp.MustCompile(`[^\w\- ]`).ReplaceAllString(strings.ToLower(heading[1]), "")
		names = append(names, strings.ReplaceAll(name, " ", "-"))
	}
	return names
}

// parseCommand reads a command line as the program would, in an environment.
func parseCommand(line string, env map[string]string) (*config.Config, error) {
	return config.Parse(config.Source{
		Args: strings.Fields(line),
		Lookup: func(name string) (string, bool) {
			if name == "HOME" || name == "USERPROFILE" {
				return os.TempDir(), true
			}
			value, ok := env[name]
			return value, ok
		},
		Exit: func(int) {},
	})
}

// blocks returns the fenced parts of a document, by their language.
func blocks(t *testing.T, file string) map[string][]string {
	t.Helper()
	text := readFile(t, file)
	found := map[string][]string{}
	for _, match := range regexp.MustCompile("(?s)```([a-z-]+)\n(.*?)```").FindAllStringSubmatch(text, -1) {
		found[match[1]] = append(found[match[1]], match[2])
	}
	return found
}

// TestOperationsAreTrue: what docs/operations.md tells people to type is
// understood by this version.
func TestOperationsAreTrue(t *testing.T) {
	found := blocks(t, "docs/operations.md")
	lines := 0
	for _, block := range append(found["sh"], found["sh-root"]...) {
		for line := range strings.Lines(block) {
			_, args, ours := strings.Cut(line, "understudy ")
			if !strings.HasPrefix(line, "understudy ") || !ours {
				continue
			}
			lines++
			c, err := parseCommand(args, nil)
			if err != nil {
				t.Errorf("%s: %v", strings.TrimSpace(line), err)
				continue
			}
			// Others come by a name, of the server or of its proxy.
			others := c.Serve.PublicURL != "" || c.Serve.TLSCert != ""
			if others && !slices.Contains(c.Serve.AllowHost, "python.example.org") {
				t.Errorf("%s: clients would get 403 without --allow-host", strings.TrimSpace(line))
			}
		}
	}
	if lines < 5 || len(found["yaml"]) != 1 || len(found["tokens"]) != 1 {
		t.Fatalf("%d commands, %d YAML files, %d token files were found", lines, len(found["yaml"]), len(found["tokens"]))
	}
	dir := t.TempDir()
	yaml, tokens := filepath.Join(dir, "config.yaml"), filepath.Join(dir, "tokens")
	for path, text := range map[string]string{yaml: found["yaml"][0], tokens: found["tokens"][0]} {
		must(t, os.WriteFile(path, []byte(text), 0o600))
	}
	if c, err := parseCommand("serve --config "+yaml, nil); err != nil || c.Serve.MetricsAddr == "" {
		t.Errorf("the YAML file: %v", err)
	}
	if known, err := auth.OpenTokens(tokens, nil); err != nil || known.Count() != 3 {
		t.Errorf("the token file: %v", err)
	}
	for _, file := range []string{"nginx.conf", "Caddyfile"} {
		text := readFile(t, filepath.Join("docs", "operations", file))
		expect(t, strings.Contains(text, "127.0.0.1:8808") && strings.Count(text, "{") == strings.Count(text, "}"), "%s:\n%s", file, text)
	}
	for _, file := range []string{"README.md", "docs/operations.md", "docs/modes.md", "docs/plugins.md", "docs/reference.md"} {
		checkFlags(t, file)
	}
}

// checkFlags finds every flag that a document names among the settings.
func checkFlags(t *testing.T, file string) {
	t.Helper()
	settings, err := config.Settings()
	must(t, err)
	known := []string{"--add-to", "--for", "--expires", "--principal", "--print", "--command", "--minimal", "--shared", "--share", "--idle-exit"}
	for _, s := range settings {
		known = append(known, s.Flag)
	}
	text := readFile(t, file)
	for _, match := range regexp.MustCompile("`(--[a-z-]+)").FindAllStringSubmatch(text, -1) {
		if !slices.Contains(known, match[1]) {
			t.Errorf("%s names %s, which is no flag", file, match[1])
		}
	}
}

// TestPolicyIsTrue: what docs/policy.md tells people to type and to write is
// understood by this version.
func TestPolicyIsTrue(t *testing.T) {
	const file = "docs/policy.md"
	found := blocks(t, file)
	commands := 0
	for line := range strings.Lines(strings.Join(found["sh"], "")) {
		commands++
		if _, err := parseCommand(strings.TrimPrefix(line, "understudy "), nil); err != nil {
			t.Errorf("%s: %v", strings.TrimSpace(line), err)
		}
	}
	if commands < 5 || len(found["yaml"]) < 4 {
		t.Fatalf("%d commands and %d YAML files were found", commands, len(found["yaml"]))
	}
	for _, text := range found["yaml"] {
		path := filepath.Join(t.TempDir(), "policy.yaml")
		must(t, os.WriteFile(path, []byte(text), 0o600))
		source, err := policy.Open(path, policy.Additions{}, nil)
		if err != nil {
			t.Errorf("%v:\n%s", err, text)
			continue
		}
		expect(t, !source.Book().None(), "these are no rules:\n%s", text)
	}
	checkFlags(t, file)
	checkKeys(t, file)
}

// checkKeys finds every key of a policy in the table of the document.
func checkKeys(t *testing.T, file string) {
	t.Helper()
	text := readFile(t, file)
	for _, key := range policy.Keys() {
		expect(t, strings.Contains(text, "`"+key+"`") || strings.Contains(text, "**"+key+"**"), "%s lacks %s", file, key)
	}
}

// TestPluginsOfTheDocs: what is shown as a NAME.yaml, and what is in examples,
// makes a plugin.
func TestPluginsOfTheDocs(t *testing.T) {
	text := readFile(t, "docs/plugins.md")
	dir := t.TempDir()
	blocks := regexp.MustCompile("(?s)```yaml\n(name: (\\w+)\n.*?)```").FindAllStringSubmatch(text, -1)
	all := strings.Count(text, "```yaml")
	insist(t, all == len(blocks) && all >= 2, "%d blocks of YAML, %d of them plugins", all, len(blocks))
	var shown []string // those whose Python is there too
	for _, block := range blocks {
		source := regexp.MustCompile("(?s)```python\n([^`]*\ndef " + block[2] + "\\(.*?)```").FindStringSubmatch(text)
		code := ""
		if source != nil {
			shown, code = append(shown, block[2]), source[1]
		}
		for name, content := range map[string]string{block[2] + ".yaml": block[1], block[2] + ".py": code} {
			must(t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600))
		}
	}
	areReady(t, dir, len(blocks))
	areReady(t, "examples/plugins", 2)
	passesItsTest(t, dir, shown)
}

// areReady finds so many plugins in a directory, and nothing wrong with them.
func areReady(t *testing.T, dir string, want int) {
	t.Helper()
	registry, err := plugins.Open(dir, plugins.Options{})
	must(t, err)
	all := registry.Set().Plugins
	expect(t, len(all) == want, "%d plugins of %d in %s", len(all), want, dir)
	for _, p := range all {
		if p.State != plugins.Ready {
			t.Errorf("%s is %s: %s", p.Name, p.State, p.Reason())
		}
	}
}

// passesItsTest has Python load plugins and run the tests that come with them.
func passesItsTest(t *testing.T, dir string, names []string) {
	t.Helper()
	insist(t, len(names) != 0, "no plugin's Python is shown")
	c := &config.Config{}
	c.Python, c.DataDir = os.Getenv("UNDERSTUDY_TEST_PYTHON"), t.TempDir()
	c.Plugins.Dir, c.Plugins.Test.Names = dir, names
	var said strings.Builder
	err := command.TestPlugins(t.Context(), c, &said)
	expect(t, err == nil && strings.Count(said.String(), "passed, in ") == len(names), "%v: %v\n%s", names, err, said.String())
}

// TestUnit: the systemd unit starts what it says, and systemd understands it.
func TestUnit(t *testing.T) {
	const file = "docs/operations/understudy.service"
	text := readFile(t, file)
	start := regexp.MustCompile(`(?m)^ExecStart=(\S+) (.*)$`).FindStringSubmatch(text)
	insist(t, start != nil, "it starts nothing")
	env := map[string]string{}
	for _, match := range regexp.MustCompile(`(?m)^Environment=(\w+)=(.*)$`).FindAllStringSubmatch(text, -1) {
		env[match[1]] = match[2]
	}
	c, err := parseCommand(start[2], env)
	if err != nil || !c.Serve.Authenticates() || c.DataDir == "" {
		t.Fatalf("%s: %v", start[0], err)
	}
	checkSettings(t, env)

	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("systemd-analyze is not here")
	}
	me, err := user.Current()
	must(t, err)
	// What systemd looks for on this machine is put there.
	here := strings.ReplaceAll(text, start[1], "/bin/true")
	here = strings.ReplaceAll(here, "=understudy\n", "="+me.Username+"\n")
	unit := filepath.Join(t.TempDir(), "understudy.service")
	must(t, os.WriteFile(unit, []byte(here), 0o600))
	said, err := exec.Command(analyze, "verify", "--man=no", unit).CombinedOutput()
	for line := range strings.Lines(string(said)) {
		expect(t, !strings.Contains(line, filepath.Base(unit)) || strings.Contains(line, "Failed to create"), "systemd: %s", line)
	}
	t.Logf("systemd-analyze: %v\n%s", err, said)
}

// checkSettings finds each variable of ours among the settings.
func checkSettings(t *testing.T, env map[string]string) {
	t.Helper()
	settings, err := config.Settings()
	must(t, err)
	for name := range env {
		if !strings.HasPrefix(name, "UNDERSTUDY_") {
			continue
		}
		expect(t, slices.ContainsFunc(settings, func(s config.Setting) bool { return s.Env == name }), "%s is no setting", name)
	}
}
