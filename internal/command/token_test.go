package command

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"understudy/internal/auth"
	"understudy/internal/config"
)

func TestToken(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tokens")
	try := func(wanted config.Token) (out, hints string, err error) {
		var a, b bytes.Buffer
		err = Token(&config.Config{Token: wanted}, &a, &b)
		return a.String(), b.String(), err
	}
	out, hints, err := try(config.Token{Name: "alice", AddTo: path, For: "mcp,metrics", Expires: "90d"})
	must(t, err)
	token := strings.TrimSpace(out)
	file, err := os.ReadFile(path)
	expect(t, err == nil && !strings.Contains(string(file)+hints, token) && strings.Contains(string(file), "alice sha256:") &&
		strings.Contains(string(file), "scopes=mcp,metrics expires="),
		"%q %q %v", file, hints, err)
	if out, hints, err = try(config.Token{Name: "bob"}); err != nil || strings.Count(out, "\n") != 1 || !strings.Contains(hints, "\nbob sha256:") {
		t.Errorf("%q %q %v", out, hints, err)
	}
	redirected := filepath.Join(t.TempDir(), "tokens") // 2>tokens
	must(t, os.WriteFile(redirected, []byte(hints), 0o600))
	if known, err := auth.OpenTokens(redirected, nil); err != nil || known.Count() != 1 {
		t.Errorf("what goes to standard error is no token file: %v\n%s", err, hints)
	}
	for _, wrong := range []string{"d", "0d", "-1d", "-5h", "1d2d", "90000d"} {
		out, _, err := try(config.Token{Name: "a", Expires: wrong})
		expect(t, err != nil && out == "", "expires %q: %q %v", wrong, out, err)
	}
	for words, wrong := range map[string]config.Token{
		"nothing was added":                {Name: "alice", AddTo: path},
		"can't be a name":                  {Name: "a b"},
		"none of mcp, metrics and gateway": {Name: "a", For: "all"},
		"is not a day":                     {Name: "a", Expires: "soon"},
		"2020-01-01 is over":               {Name: "a", Expires: "2020-01-01"},
		"no such file or directory":        {Name: "a", AddTo: filepath.Join(path, "x", "y")},
	} {
		if words == "no such file or directory" {
			words = "" // systems word it differently
		}
		out, _, err := try(wrong)
		expect(t, err != nil && strings.Contains(err.Error(), words) && out == "", "%+v: %q %v", wrong, out, err)
	}
}
