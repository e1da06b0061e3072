package upstream

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func lookup(name string) (string, bool) {
	value, ok := map[string]string{"TOKEN": "t0p-secret", "EMPTY": ""}[name]
	return value, ok
}

func TestFile(t *testing.T) {
	all, notes, err := parse([]byte(`{
  // as clients have it
  "mcpServers": {
    "a": {"command": "x", "args": ["--key=${TOKEN}", "${NONE:-d}", "${env:EMPTY}"], "env": {"K": "${TOKEN}"}, "cwd": "/", "alwaysAllow": ["t"]},
    "b": {"url": "https://b.example/mcp?k=${TOKEN}", "headers": {"Authorization": "Bearer ${TOKEN}"}, "description": "is for b", "disabledTools": ["u"]},
    "c": {"url": "https://c.example/sse/", "disabled": true, "desciption": "x", "timeout": 60},
  },
}`), lookup)
	must(t, err)
	insist(t, len(all) == 3, "%+v", all)
	a, b, c := all[0], all[1], all[2]
	expect(t, a.transport == overStdio && strings.Join(a.args, " ") == "--key=t0p-secret d " && a.env["K"] == "t0p-secret" && a.dir == "/" && a.allow[0] == "t", "%+v", a)
	expect(t, b.transport == overHTTP && b.purpose == "is for b" && b.headers["Authorization"] == "Bearer t0p-secret" && b.deny[0] == "u", "%+v", b)
	expect(t, c.transport == overSSE && c.disabled, "%+v", c)
	expect(t, strings.Join(notes, "\n") == "desciption of server \"c\" means nothing here; did you mean description?\ntimeout of server \"c\" means nothing here", "%q", notes)
	keys := definition{env: map[string]string{"API_KEY": "a\"long key", "ROOT": "/a/directory", "TOKEN": "short"}}
	expect(t, strings.Join(keys.keysInAnswers(), " ") == `a\"long key`, "%q", keys.keysInAnswers())
	secrets := strings.Join(b.secrets(), " ")
	expect(t, strings.Contains(secrets, "Bearer t0p-secret") && strings.Contains(secrets, "k=t0p-secret"), "%q", secrets)
}

func TestMistakesInTheFile(t *testing.T) {
	for text, want := range map[string]string{
		"{\n\"a\": [":                  "line 2",
		"[]":                           ":1: it must be an object",
		"{}":                           `:1: it has no "mcpServers"`,
		"{\"mcpServers\":\n 1}":        `:2: "mcpServers" must be an object`,
		"{\"servers\": {\n\"a\": 1}}":  `:2: server "a" must have a name`,
		"{\"servers\": {\n\"a\": {}}}": `:2: server "a" has neither "command" nor "url"`,
		"{\"servers\": {\"a\": {\n\"args\": 1}}}":                                      `:2: args of server "a" must be a list of texts`,
		"{\"servers\": {\"a\": {\"command\": \"x\",\n\"env\": {\"A\": \"${NONE}\"}}}}": `:2: env of server "a": the environment variable NONE is not set`,
		"{\"servers\": {\"a\": {\"command\": \"x\", \"url\": \"https://x\"}}}":         `keep one`,
		"{\"servers\": {\"a\": {\"url\": \"ftp://x\"}}}":                               `begins with http:// or https://`,
		"{\"servers\": {\"a\": {\"url\": \"https://x\", \"type\": \"pigeon\"}}}":       `"pigeon"; write stdio, http or sse`,
		"{\"servers\": {\"a\": {\"command\": \"x\"},\n\"a\": {\"command\": \"x\"}}}":   `:2: server "a" is there twice`,
	} {
		path := filepath.Join(t.TempDir(), "servers.json")
		must(t, os.WriteFile(path, []byte(text), 0o600))
		_, _, err := read(path, lookup)
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s\ngives %v", text, err)
		}
	}
}

func TestAllowPatterns(t *testing.T) {
	all := []definition{{name: "git-hub"}}
	for pattern, ok := range map[string]bool{"*": true, "git-hub.*": true, "git-hub.create": true, "git_hub.create": true, "github.create": false, "git-hub": false} {
		if err := checkAllow([]string{pattern}, all); (err == nil) != ok {
			t.Errorf("%s: %v", pattern, err)
		}
	}
}
