package config

import (
	"strings"
	"testing"
)

// What is written is a file of settings again, and says no secret.
func TestYAML(t *testing.T) {
	c := must(t, nil, "--session-variables", "TOKEN=sk-12345;SHORT=abc", "--timeout", "90s", "--output-limit", "2MB",
		"--preload", "numpy,pandas", "--init-code", "login('sk-12345')", "--journal", "/j.db")
	text, err := c.YAML()
	if err != nil {
		t.Fatal(err)
	}
	expect(t, !strings.Contains(text, "sk-12345") && strings.Contains(text, "TOKEN: '[session variable]'") && strings.Contains(text, "login('[session variable]')"),
		"secrets:\n%s", text)
	file := fileWith(t, "config.yaml", text)
	again := must(t, nil, "--config", file)
	expect(t, again.Serve.Timeout == c.Serve.Timeout && again.Serve.OutputLimit == 2_000_000 && again.JournalPath() == "/j.db" && len(again.Serve.Preload) == 2,
		"read again: %+v", again.Serve)
	proxied := &Config{Serve: Serve{Auth: Auth{PublicURL: "https://me:secret@example.org"}}}
	text, err = proxied.YAML()
	expect(t, err == nil && !strings.Contains(text, "secret@"), "%v\n%s", err, text)
}
