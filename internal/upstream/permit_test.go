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

// Two servers on one data directory lose none of one another's consents.
func TestConsentsOfTwoServers(t *testing.T) {
	dir := t.TempDir()
	one, err := openConsents(dir)
	must(t, err)
	other, err := openConsents(dir)
	must(t, err)
	must(t, one.add("ann", "s.a@1"))
	must(t, other.add("ann", "s.b@1"))
	later, err := openConsents(dir)
	must(t, err)
	for key, want := range map[string]bool{"s.a@1": true, "s.b@1": true, "s.a@2": false} {
		if later.has("ann", key) != want || later.has("bob", key) {
			t.Errorf("%s: %v", key, later.by)
		}
	}
}

// A secret that a cut goes through is masked all the same.
func TestTellMasksBeforeItCuts(t *testing.T) {
	s := &secrets{}
	s.add("hush-hush-hush")
	if got := s.tell("key hush-hush-hush", 9); got != "key ***" {
		t.Errorf("got %q", got)
	}
}
