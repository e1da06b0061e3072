package main

import (
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"understudy/internal/auth"
	"understudy/internal/command"
)

// image is what a Dockerfile makes, in its last stage.
type image struct {
	env                         map[string]string
	user, group, command, entry string
	from, run                   []string // of all stages
}

// dockerfile reads the Dockerfile, and checks what it copies.
func dockerfile(t *testing.T) image {
	t.Helper()
	var made image
	var stages []string
	for line := range strings.Lines(strings.ReplaceAll(readFile(t, "Dockerfile"), "\\\n", "")) {
		name, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		rest = strings.TrimSpace(rest)
		switch name {
		case "FROM":
			fields := strings.Fields(rest)
			if len(fields) == 3 {
				stages = append(stages, fields[2])
			}
			made = image{env: map[string]string{}, user: "root", from: append(made.from, fields[0]), run: made.run}
		case "RUN":
			made.run = append(made.run, rest)
		case "COPY":
			checkCopy(t, rest, stages)
		case "ENV":
			for _, pair := range strings.Fields(rest) {
				name, value, _ := strings.Cut(pair, "=")
				made.env[name] = value
			}
		case "USER":
			made.user, made.group, _ = strings.Cut(rest, ":")
		case "CMD":
			made.command = strings.Trim(rest, `[]"`)
		case "ENTRYPOINT":
			made.entry = rest
		}
	}
	return made
}

// TestDockerfile checks what can be checked without an engine.
func TestDockerfile(t *testing.T) {
	made := dockerfile(t)
	for _, from := range made.from {
		expect(t, strings.Contains(from, ":") && !strings.HasSuffix(from, ":latest"), "%s names no version", from)
	}
	expect(t, made.user != "" && made.user != "root" && made.user != "0", "it runs as %q", made.user)
	expect(t, made.entry == `["/usr/local/bin/understudy"]`, "it starts %s", made.entry)
	checkSettings(t, made.env)
	c, err := parseCommand(made.command, made.env)
	if err != nil || c.Serve.AuthTokens == "" || c.Serve.AllowUnauthenticatedNetwork || !c.Serve.OverNetwork() {
		t.Errorf("%s with %v: %+v %v", made.command, made.env, c, err)
	}
	steps := strings.Join(made.run, "\n")
	for _, step := range []string{"groupadd .*--gid " + made.group + " understudy", "useradd .*--uid " + made.user + " --gid understudy "} {
		expect(t, regexp.MustCompile(step).MatchString(steps), "nothing does %q in\n%s", step, steps)
	}
	linked := regexp.MustCompile(`-X (\S+)=`)
	expect(t, linked.FindStringSubmatch(steps)[1] == linked.FindStringSubmatch(readFile(t, "Makefile"))[1], "the version is set elsewhere than by make:\n%s", steps)
	version := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindStringSubmatch(readFile(t, "go.mod"))[1]
	if !strings.HasPrefix(made.from[0], "golang:"+version+"-") {
		t.Errorf("go.mod wants Go %s, and the image is built by %s", version, made.from[0])
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
	made := dockerfile(t)
	env := made.env
	runs := dockerRuns(t, "docs/operations.md")
	insist(t, len(runs) == 2 && runs[0].args != "" && runs[1].args == "", "%+v", runs)
	dir := t.TempDir()
	c, err := parseCommand(runs[0].args, env)
	must(t, err)
	c.Token.AddTo = runs[0].outside(t, c.Token.AddTo, dir)
	must(t, command.Token(c, io.Discard, io.Discard))
	checkSettings(t, runs[1].env)
	maps.Copy(env, runs[1].env)
	if c, err = parseCommand("serve", env); err != nil || len(c.Serve.AllowHost) == 0 {
		t.Fatalf("%v, hosts %v", err, c.Serve.AllowHost)
	}
	if known, err := auth.OpenTokens(runs[1].outside(t, c.Serve.AuthTokens, dir), nil); err != nil || known.Count() != 1 {
		t.Errorf("the server finds %v", err)
	}
	install := "install -d -m 0700 -o " + made.user + " -g " + made.user + " " + strings.TrimPrefix(runs[0].mounts["/etc/understudy"], "./") + "\n"
	expect(t, strings.Contains(strings.Join(blocks(t, "docs/operations.md")["sh-root"], ""), install), "there is no %s", install)
}

// checkCopy finds what is copied into the image: from a stage before, or among
// the files that .dockerignore lets through.
func checkCopy(t *testing.T, rest string, stages []string) {
	t.Helper()
	fields := strings.Fields(rest)
	if from, isStage := strings.CutPrefix(fields[0], "--from="); isStage {
		expect(t, slices.Contains(stages, from), "there is no stage %s before", from)
		return
	}
	ignored := readFile(t, ".dockerignore")
	for _, source := range fields[:len(fields)-1] {
		_, err := os.Stat(source)
		expect(t, err == nil, "%v", err)
		for line := range strings.Lines(ignored) {
			expect(t, strings.Trim(strings.TrimSpace(line), "/") != strings.Trim(source, "/"), "%s is in .dockerignore", source)
		}
	}
}
