package config

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPolicySettings(t *testing.T) {
	expect(t, !must(t, nil).Serve.Policed(), "code is checked when nobody asked for it")
	c := must(t, configFile(t, "policy: defaults\nblock-modules: socket, scipy.*\n"), "--allow-modules", "pandas,os.path", "--block-functions", "os.exec*")
	g := c.Serve.Guard
	expect(t, g.Policed() && g.Policy == PolicyDefaults && slices.Equal(g.AllowModules, []string{"pandas", "os.path"}) &&
		slices.Equal(g.BlockModules, []string{"socket", "scipy.*"}) && slices.Equal(g.BlockFunctions, []string{"os.exec*"}),
		"%+v", g)
	g = must(t, nil, "--policy", "p.yaml").Serve.Guard
	expect(t, filepath.IsAbs(g.Policy) && filepath.Base(g.Policy) == "p.yaml", "the policy is %q", g.Policy)
	for flag, value := range map[string]string{"--allow-modules": "import os", "--block-modules": "a,,b", "--block-functions": "open()"} {
		_, err := try(t, nil, flag, value)
		expect(t, err != nil && strings.Contains(err.Error(), "is not the name of"), "%s %s: %v", flag, value, err)
	}
}

func TestPolicyCheckArguments(t *testing.T) {
	code := fileWith(t, "a.py", "")
	c := must(t, nil, "policy", "check", "defaults", code, "--principal", "ci")
	got := c.Policy.Check
	expect(t, c.Command == "policy check" && got.File == PolicyDefaults && slices.Equal(got.Code, []string{code}) && got.Principal == "ci" && c.DataDir != "",
		"%q %+v", c.Command, got)
	_, err := try(t, nil, "policy", "check", "defaults", code+"x")
	expect(t, err != nil, "a file that is not there was taken")
}

// TestDoctorKnowsTheServersSettings: it tries what serve would do.
func TestDoctorKnowsTheServersSettings(t *testing.T) {
	env := configFile(t, "start: spawn\npolicy: defaults\n")
	path := env["UNDERSTUDY_CONFIG"]
	s := must(t, map[string]string{"UNDERSTUDY_HISTORY": "7"}, "doctor", "--config", path).Serve
	expect(t, s.Start == "spawn" && s.Policy == PolicyDefaults && s.History == 7, "%+v", s)
	_, err := try(t, map[string]string{"UNDERSTUDY_HISTORY": "-7"}, "doctor")
	expect(t, err != nil, "doctor took what serve refuses")
}

// TestListsInTheFile: lists and mappings may be written as YAML has them.
func TestListsInTheFile(t *testing.T) {
	config := must(t, configFile(t, "allow-modules: [pandas, os.path]\npreload:\n  - json\nsession-variables:\n  customer: acme\n  both: a;b=c\n"))
	diff := cmp.Diff([]string{"pandas", "os.path"}, config.Serve.AllowModules)
	expect(t, diff == "", "%+v", diff)
	diff = cmp.Diff([]string{"json"}, config.Serve.Preload)
	expect(t, diff == "", "%+v", diff)
	diff = cmp.Diff(map[string]string{"customer": "acme", "both": "a;b=c"}, config.Serve.SessionVariables)
	expect(t, diff == "", "%+v", diff)
	for text, want := range map[string]string{
		"timeout: [1]":                "line 1: timeout: its value must be one text, number or truth value",
		"allow-modules: {a: b}":       "or a list of them",
		"session-variables: [a]":      "or a mapping of names to them",
		"allow-modules: ['a,b']":      `"a,b" is not the name of`,
		"session-variables: {a: [b]}": "session-variables: a: its value must be one text",
		"no-such: 1":                  "unknown setting",
	} {
		_, err := try(t, configFile(t, text))
		expect(t, err != nil && strings.Contains(err.Error(), want) && !strings.Contains(err.Error(), "--python"), "%s: %v", text, err)
	}
}
