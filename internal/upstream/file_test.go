package upstream

import (
	"strings"
	"testing"
)

func TestFile(t *testing.T) {
	t.Setenv("UPSTREAM_TEST_KEY", "secret-key-1")
	var log logged
	entries, err := readFile(writeFile(t, `{
  // what clients have
  "mcpServers": {
    "one": {"command": "${UPSTREAM_TEST_NONE:-run}", "args": ["-k", "${env:UPSTREAM_TEST_KEY}", "$HOME"], "env": {"N": 3}, "cwd": "sub", "comand": "x", "icon": "y"},
    "off": {"disabled": true, "command": "${UPSTREAM_TEST_NONE}"},
    "two": {"type": "streamable-http", "url": "https://h.example/mcp?key=${UPSTREAM_TEST_KEY}", "headers": {"Authorization": "Bearer ${UPSTREAM_TEST_KEY}"}, "alwaysAllow": ["a"], "autoApprove": ["b"],},
  },
}`), log.logger())
	must(t, err)
	one, two := entries[0], entries[2]
	expect(t, one.command == "run" && one.args[1] == "secret-key-1" && one.args[2] == "$HOME" && one.env["N"] == "3" && one.kind == "stdio", "one is %+v", one)
	expect(t, strings.HasSuffix(one.cwd, "/sub") && len(one.cwd) > 5, "it starts in %s", one.cwd)
	expect(t, two.kind == "http" && two.headers["Authorization"] == "Bearer secret-key-1" && len(two.allow) == 2, "two is %+v", two)
	expect(t, !strings.Contains(one.identity+two.identity, "secret-key"), "identities have secrets: %s%s", one.identity, two.identity)
	expect(t, strings.Contains(log.String(), `did you mean \"command\"?`) && strings.Contains(log.String(), "icon"), "the log is %s", log.String())
	said := two.secrets.mask(`Get "https://u:p@h.example/mcp?key=secret-key-1": Bearer secret-key-1, secret-key-1`)
	expect(t, said == `Get "https://***@h.example/mcp?***": ***, ***`, "masked: %s", said)
}

func TestFileFaults(t *testing.T) {
	for text, want := range map[string]string{
		"{\n\"mcpServers\": {\n\"a\": {\"command\": \"${UPSTREAM_TEST_NONE}\"}}}":  ":3: server a: command: the variable UPSTREAM_TEST_NONE is not set; set it",
		"{\"mcpServers\": {\"a\": {\n\"command\": \"x\", \"args\": \"y\"}}}":       ":2: server a: args: must be an array of texts",
		"{\"mcpServers\": {\"a\": {\"command\": \"x\",\n\"env\": {\"A\": null}}}}": ":2: server a: env.A: must be a text",
		`{"mcpServers": {"a": {}}}`:                                                     ":1: server a: has neither command nor url",
		`{"mcpServers": {"a": {"command": "x", "url": "http://h"}}}`:                    "has both command and url",
		`{"mcpServers": {"a": {"url": "ftp://h"}}}`:                                     "must be a URL with http or https",
		`{"mcpServers": {"a": {"url": "http://h", "type": "carrier-pigeon"}}}`:          "must be stdio, http, streamable-http or sse",
		`{"mcpServers": {"a": {"command": "${input:key}"}}}`:                            "${input:key} is not known here; write ${NAME}",
		"{\"mcpServers\": {\"a\": {\"command\": \"x\"},\n\"a\": {\"command\": \"y\"}}}": ":2: server a: is there twice",
		"{\n\n{":          ":3: is not JSON",
		`{"servers": []}`: "must be an object of servers by name",
		`{"other": 1}`:    `has no "mcpServers"`,
		`[]`:              "must be an object with mcpServers",
	} {
		_, err := readFile(writeFile(t, text), (&logged{}).logger())
		expect(t, err != nil && strings.Contains(err.Error(), want), "%s\nis refused by: %v\nnot by: %s", text, err, want)
	}
	_, err := Open(Options{File: writeFile(t, `{"mcpServers": {"github": {"command": "x", "disabled": true}}}`), Allow: []string{"gihub.*"}})
	expect(t, err != nil && strings.Contains(err.Error(), `did you mean the server "github"`), "a wrong pattern: %v", err)
}
