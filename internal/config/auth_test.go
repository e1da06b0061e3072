package config

import (
	"slices"
	"strings"
	"testing"
)

func TestAuthSettings(t *testing.T) {
	config := must(t, map[string]string{"UNDERSTUDY_AUTH_SCOPES": "python,openid"}, "--transport", "http", "--auth-tokens", "/etc/tokens",
		"--auth-issuer", "https://login.example.org", "--auth-audience", "a,b", "--metrics-addr", ":9090")
	s := config.Serve
	expect(t, s.AuthTokens == "/etc/tokens" && slices.Equal(s.AuthAudience, []string{"a", "b"}) && slices.Equal(s.AuthScopes, []string{"python", "openid"}),
		"%+v", s.Auth)
	for words, args := range map[string][]string{
		"for --transport http":    {"--auth-tokens", "x"},
		"belong to --auth-issuer": {"--transport", "http", "--auth-scopes", "x"},
		"needs --auth-audience":   {"--transport", "http", "--auth-issuer", "https://x"},
		"write host and port":     {"--transport", "http", "--metrics-addr", "9090"},
	} {
		_, err := try(t, nil, args...)
		expect(t, err != nil && strings.Contains(err.Error(), words), "%q: %v", args, err)
	}
}

func TestTokenArguments(t *testing.T) {
	config := must(t, nil, "token", "alice", "--for", "mcp", "--expires", "90d")
	expect(t, config.Command == "token" && config.Token.Name == "alice" && config.Token.For == "mcp", "%+v", config.Token)
}
