package upstream

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"understudy/sessions"
)

func TestPermissions(t *testing.T) {
	dir := t.TempDir()
	create := sessions.ToolRequest{Op: sessions.ToolCall, Server: "good", Name: "create", Arguments: []byte("{\"title\":\"a\\u202eb\\n\"}")}
	open := func(change func(*Options)) *Servers {
		return opened(t, func(o *Options) {
			o.Dir = dir
			if change != nil {
				change(o)
			}
		}, "good")
	}
	s := open(nil)
	for name, want := range map[string]string{"find": allowed, "create": asks} {
		for _, tool := range s.Tools("good") {
			expect(t, tool.Name != name || tool.Permission == want, "%+v", tool)
		}
	}
	consent, err := s.Permit("ann", create)
	insist(t, err == nil && consent != nil, "%v", err)
	expect(t, strings.HasPrefix(consent.Text, "The Python code wants to call create of the MCP server good, with {\"title\":") && strings.HasSuffix(consent.Text, "The server says of it: \"Makes an issue.\""), "%q", consent.Text)
	must(t, s.Allow("ann", *consent))
	again, err := open(nil).Permit("ann", create) // after a restart
	expect(t, again == nil && err == nil, "%+v %v", again, err)
	other, err := open(nil).Permit("bob", create)
	expect(t, other != nil && err == nil, "another client's: %v", err)
	info, err := os.Stat(filepath.Join(dir, "tools.json"))
	expect(t, err == nil && info.Mode().Perm() == 0o600, "%v", err)
	for _, pattern := range []string{"*", "good.*", "good.create"} {
		named, err := open(func(o *Options) { o.Allow, o.Dir = []string{pattern}, "" }).Permit("bob", create)
		expect(t, named == nil && err == nil, "%s: %+v %v", pattern, named, err)
	}
	must(t, os.WriteFile(filepath.Join(dir, "tools.json"), []byte("{"), 0o600))
	_, err = openConsents(dir)
	expect(t, err != nil && strings.Contains(err.Error(), "asked again"), "%v", err)
}

// A tool that has become another is asked for again.
func TestDigest(t *testing.T) {
	if digest("a", []byte("{}"), true) == digest("b", []byte("{}"), true) {
		t.Error("the digest tells nothing apart")
	}
}
