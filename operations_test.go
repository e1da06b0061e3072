package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"understudy/internal/command"
	"understudy/internal/auth"
	"understudy/internal/config"
	"understudy/internal/metrics"
	"understudy/sessions"
)

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
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string][]string{}
	for _, match := range regexp.MustCompile("(?s)```([a-z-]+)\n(.*?)```").FindAllStringSubmatch(string(text), -1) {
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
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if c, err := parseCommand("serve --config "+yaml, nil); err != nil || c.Serve.MetricsAddr == "" {
		t.Errorf("the YAML file: %v", err)
	}
	if known, err := auth.OpenTokens(tokens, nil); err != nil || known.Count() != 3 {
		t.Errorf("the token file: %v", err)
	}
	for _, file := range []string{"nginx.conf", "Caddyfile"} {
		text, err := os.ReadFile(filepath.Join("docs", "operations", file))
		if err != nil || !strings.Contains(string(text), "127.0.0.1:8808") || strings.Count(string(text), "{") != strings.Count(string(text), "}") {
			t.Errorf("%s: %v\n%s", file, err, text)
		}
	}
	for _, file := range []string{"README.md", "docs/operations.md", "docs/modes.md", "docs/plugins.md", "docs/reference.md"} {
		checkFlags(t, file)
	}
}

// checkFlags finds every flag that a document names among the settings.
func checkFlags(t *testing.T, file string) {
	t.Helper()
	settings, err := config.Settings()
	if err != nil {
		t.Fatal(err)
	}
	known := []string{"--add-to", "--for", "--expires", "--principal", "--print", "--command", "--minimal", "--shared", "--share", "--idle-exit"}
	for _, s := range settings {
		known = append(known, s.Flag)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, match := range regexp.MustCompile("`(--[a-z-]+)").FindAllStringSubmatch(string(text), -1) {
		if !slices.Contains(known, match[1]) {
			t.Errorf("%s names %s, which is no flag", file, match[1])
		}
	}
}

// metricTable lists the metrics as the server tells them.
func metricTable(t *testing.T) string {
	t.Helper()
	m := metrics.New(metrics.Options{Version: "v", Stats: func(context.Context) sessions.Stats {
		return sessions.Stats{Starts: map[string]uint64{"zygote": 1}}
	}})
	restored := true
	m.Ended(sessions.Result{Status: sessions.StatusCrashed, InterpreterRestarted: true, StateRestored: &restored})
	m.Call("run_python_code", "run", "busy", time.Second)
	m.Start("zygote", time.Second)
	m.Exchange(metrics.Exchange{Route: "/mcp", Method: http.MethodPost, Status: http.StatusOK})
	answer := httptest.NewRecorder()
	m.Handler().ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/metrics", http.NoBody))

	var b strings.Builder
	b.WriteString("| metric | kind | labels | |\n|---|---|---|---|\n")
	lines := bufio.NewScanner(answer.Body)
	name, help, kind := "", "", ""
	label := regexp.MustCompile(`([a-z]+)="`)
	for lines.Scan() {
		fields := strings.SplitN(lines.Text(), " ", 4)
		switch {
		case !strings.Contains(lines.Text(), "understudy_"):
			name = ""
		case fields[1] == "HELP":
			name, help = fields[2], fields[3]
		case fields[1] == "TYPE":
			kind = fields[3]
		case name != "": // its first value
			var labels []string
			for _, match := range label.FindAllStringSubmatch(lines.Text(), -1) {
				if match[1] != "le" {
					labels = append(labels, "`"+match[1]+"`")
				}
			}
			fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", name, kind, strings.Join(labels, ", "), cell(help))
			name = ""
		}
	}
	return b.String()
}

// TestUnit: the systemd unit starts what it says, and systemd understands it.
func TestUnit(t *testing.T) {
	const file = "docs/operations/understudy.service"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	start := regexp.MustCompile(`(?m)^ExecStart=(\S+) (.*)$`).FindStringSubmatch(string(text))
	if start == nil {
		t.Fatal("it starts nothing")
	}
	env := map[string]string{}
	for _, match := range regexp.MustCompile(`(?m)^Environment=(\w+)=(.*)$`).FindAllStringSubmatch(string(text), -1) {
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
	if err != nil {
		t.Fatal(err)
	}
	// What systemd looks for on this machine is put there.
	here := strings.ReplaceAll(string(text), start[1], "/bin/true")
	here = strings.ReplaceAll(here, "=understudy\n", "="+me.Username+"\n")
	unit := filepath.Join(t.TempDir(), "understudy.service")
	if err := os.WriteFile(unit, []byte(here), 0o600); err != nil {
		t.Fatal(err)
	}
	said, err := exec.Command(analyze, "verify", "--man=no", unit).CombinedOutput()
	for line := range strings.Lines(string(said)) {
		if strings.Contains(line, filepath.Base(unit)) && !strings.Contains(line, "Failed to create") {
			t.Errorf("systemd: %s", line)
		}
	}
	t.Logf("systemd-analyze: %v\n%s", err, said)
}

// checkSettings finds each variable of ours among the settings.
func checkSettings(t *testing.T, env map[string]string) {
	t.Helper()
	settings, err := config.Settings()
	if err != nil {
		t.Fatal(err)
	}
	for name := range env {
		if !strings.HasPrefix(name, "UNDERSTUDY_") {
			continue
		}
		if !slices.ContainsFunc(settings, func(s config.Setting) bool { return s.Env == name }) {
			t.Errorf("%s is no setting", name)
		}
	}
}

// instruction is one of a Dockerfile, its lines joined.
type instruction struct{ name, rest string }

func dockerfile(t *testing.T) []instruction {
	t.Helper()
	text, err := os.ReadFile("Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	var all []instruction
	joined := strings.ReplaceAll(string(text), "\\\n", "")
	for line := range strings.Lines(joined) {
		name, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		if name != "" && !strings.HasPrefix(name, "#") {
			all = append(all, instruction{name, strings.TrimSpace(rest)})
		}
	}
	return all
}

// TestDockerfile checks what can be checked without an engine.
func TestDockerfile(t *testing.T) {
	stages, env, user, command, entry := []string{}, map[string]string{}, "", "", ""
	for _, i := range dockerfile(t) {
		switch i.name {
		case "FROM":
			fields := strings.Fields(i.rest)
			if !strings.Contains(fields[0], ":") || strings.HasSuffix(fields[0], ":latest") {
				t.Errorf("%s names no version", fields[0])
			}
			if len(fields) == 3 {
				stages = append(stages, fields[2])
			}
			env, user = map[string]string{}, "root" // a new stage
		case "COPY":
			checkCopy(t, i.rest, stages)
		case "ENV":
			for _, pair := range strings.Fields(i.rest) {
				name, value, _ := strings.Cut(pair, "=")
				env[name] = value
			}
		case "USER":
			user = i.rest
		case "CMD":
			command = strings.Trim(i.rest, `[]"`)
		case "ENTRYPOINT":
			entry = i.rest
		}
	}
	if uid, _, _ := strings.Cut(user, ":"); uid == "" || uid == "root" || uid == "0" {
		t.Errorf("it runs as %q", user)
	}
	if entry != `["/usr/local/bin/understudy"]` {
		t.Errorf("it starts %s", entry)
	}
	checkSettings(t, env)
	c, err := parseCommand(command, env)
	if err != nil || c.Serve.AuthTokens == "" || c.Serve.AllowUnauthenticatedNetwork || !c.Serve.OverNetwork() {
		t.Errorf("%s with %v: %+v %v", command, env, c, err)
	}
	mod, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	version := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindStringSubmatch(string(mod))[1]
	if !strings.HasPrefix(dockerfile(t)[0].rest, "golang:"+version+"-") {
		t.Errorf("go.mod wants Go %s, and the image is built by %s", version, dockerfile(t)[0].rest)
	}
}

// dockerRun is a command that runs the image.
type dockerRun struct {
	env    map[string]string
	mounts map[string]string // host by container
	args   string            // of understudy, "" for the image's own
}

// dockerRuns finds the commands of a document that run the image.
func dockerRuns(t *testing.T, file string) (runs []dockerRun) {
	t.Helper()
	for _, block := range blocks(t, file)["sh-root"] {
		for line := range strings.Lines(strings.ReplaceAll(block, "\\\n", "")) {
			words := strings.Fields(line)
			if len(words) < 2 || words[0] != "docker" || words[1] != "run" {
				continue
			}
			run := dockerRun{env: map[string]string{}, mounts: map[string]string{}}
			for i, word := range words {
				switch {
				case word == "-v":
					place := strings.Split(words[i+1], ":")
					run.mounts[place[1]] = place[0]
				case word == "-e":
					name, value, _ := strings.Cut(words[i+1], "=")
					run.env[name] = value
				case word == "understudy" && words[i-1] != "--name":
					run.args, _, _ = strings.Cut(strings.Join(words[i+1:], " "), " >")
				}
			}
			runs = append(runs, run)
		}
	}
	return runs
}

// outside is where a container's path is on a host whose ./ is dir.
func (r dockerRun) outside(t *testing.T, path, dir string) string {
	t.Helper()
	for inside, host := range r.mounts {
		if rest, below := strings.CutPrefix(path, inside); below {
			return filepath.Join(dir, host) + rest
		}
	}
	t.Fatalf("%s is not mounted by %+v", path, r)
	return ""
}

// TestContainerRecipe follows docs/operations.md without an engine: what the
// first command writes is what the second one reads, as the image's user.
func TestContainerRecipe(t *testing.T) {
	env, user := map[string]string{}, ""
	for _, i := range dockerfile(t) {
		if i.name == "USER" {
			user, _, _ = strings.Cut(i.rest, ":")
		}
		for _, pair := range strings.Fields(i.rest) {
			if name, value, is := strings.Cut(pair, "="); is && i.name == "ENV" {
				env[name] = value
			}
		}
	}
	runs := dockerRuns(t, "docs/operations.md")
	if len(runs) != 2 || runs[0].args == "" || runs[1].args != "" {
		t.Fatalf("%+v", runs)
	}
	dir := t.TempDir()
	c, err := parseCommand(runs[0].args, env)
	if err != nil {
		t.Fatal(err)
	}
	c.Token.AddTo = runs[0].outside(t, c.Token.AddTo, dir)
	if err := command.Token(c, io.Discard, io.Discard); err != nil {
		t.Fatal(err)
	}
	checkSettings(t, runs[1].env)
	maps.Copy(env, runs[1].env)
	if c, err = parseCommand("serve", env); err != nil || len(c.Serve.AllowHost) == 0 {
		t.Fatalf("%v, hosts %v", err, c.Serve.AllowHost)
	}
	if known, err := auth.OpenTokens(runs[1].outside(t, c.Serve.AuthTokens, dir), nil); err != nil || known.Count() != 1 {
		t.Errorf("the server finds %v", err)
	}
	made := "install -d -m 0700 -o " + user + " -g " + user + " " + strings.TrimPrefix(runs[0].mounts["/etc/understudy"], "./") + "\n"
	if !strings.Contains(strings.Join(blocks(t, "docs/operations.md")["sh-root"], ""), made) {
		t.Errorf("there is no %s", made)
	}
}

// checkCopy finds what is copied into the image: from a stage before, or among
// the files that .dockerignore lets through.
func checkCopy(t *testing.T, rest string, stages []string) {
	t.Helper()
	fields := strings.Fields(rest)
	if from, isStage := strings.CutPrefix(fields[0], "--from="); isStage {
		if !slices.Contains(stages, from) {
			t.Errorf("there is no stage %s before", from)
		}
		return
	}
	ignored, err := os.ReadFile(".dockerignore")
	if err != nil {
		t.Fatal(err)
	}
	for _, source := range fields[:len(fields)-1] {
		if _, err := os.Stat(source); err != nil {
			t.Error(err)
		}
		for line := range strings.Lines(string(ignored)) {
			if strings.Trim(strings.TrimSpace(line), "/") == strings.Trim(source, "/") {
				t.Errorf("%s is in .dockerignore", source)
			}
		}
	}
}
