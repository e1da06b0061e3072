package upstream

import "testing"

// A pattern names a server, and a tool of its, as the file has them or as Python does.
func TestAllowPatterns(t *testing.T) {
	of, one := &server{entry: entry{name: "git-hub"}, module: "git_hub"}, &tool{name: "create-issue", function: "create_issue"}
	for pattern, want := range map[string]string{
		"*": allowed, "git-hub.*": allowed, "git_hub.*": allowed, "git-hub.create-issue": allowed, "git-hub.create_issue": allowed,
		"git_hub.create_issue": allowed, "github.*": asks, "git-hub.create": asks, "git-hubx.*": asks,
	} {
		s := &Servers{options: Options{Allow: []string{pattern}}}
		if got := s.permission(of, one); got != want {
			t.Errorf("with %s it is %s", pattern, got)
		}
	}
}
