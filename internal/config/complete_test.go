package config

import (
	"strings"
	"testing"
)

func TestComplete(t *testing.T) {
	for line, want := range map[string]string{
		"ins":                               "install",
		"plugins ":                          "list check test",
		"plugins --plugins d ch":            "check",
		"--log-level ":                      "debug info warn error",
		"--log-level info sch":              "schema",
		"--transpo":                         "--transport", // of serve, which is meant without a command
		"serve --transpo":                   "--transport",
		"install --clie":                    "--client",
		"install --transpo":                 "",
		"install --client g":                "gemini-cli goose",
		"install --client=g":                "--client=gemini-cli --client=goose",
		"install --client = g":              "gemini-cli goose", // as bash parts it
		"install --client =":                "claude-desktop claude-code vscode cursor codex gemini-cli windsurf zed goose",
		"install --print --scope p":         "project",
		"install --client zed -- --log-lev": "",
		"install --name inst":               "",
		"serve --no-allow-unauth":           "--no-allow-unauthenticated-network",
		"report --out ":                     "",
		"completion f":                      "fish",
	} {
		found, err := Complete(strings.Split(line, " "))
		if err != nil {
			t.Fatal(err)
		}
		var words []string
		for _, candidate := range found {
			words = append(words, candidate.Word)
		}
		if got := strings.Join(words, " "); got != want {
			t.Errorf("%q gives %q, want %q", line, got, want)
		}
	}
}
