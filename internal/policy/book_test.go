package policy

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const wholeFile = `
# What everybody may do.
extends: lenient
blocked_modules: [..., requests]
pip_packages: [numpy, scikit-learn]
policies:
  lenient:
    blocked_modules: [socket, ctypes]
    blocked_functions: [eval, os.system]
    blocked_attributes: [__globals__]
    allowed_variables: [x, df_*]
    magics: {pip: allow, shell: refuse}
    commands: [ls, git]
principals:
  ci: {extends: base, allowed_modules: [pandas.*], magics: {shell: allow}, commands: all}
  "https://issuer.example|*": {allowed_modules: []}
  "https://issuer.example|admin":
`

func parse(t *testing.T, text string) *Book {
	t.Helper()
	book, err := Parse("policy.yaml", []byte(text), Additions{BlockModules: []string{"telnetlib"}})
	must(t, err)
	return book
}

func TestWholeFile(t *testing.T) {
	b := parse(t, wholeFile)
	base := Rules{
		BlockedModules:   []string{"socket", "ctypes", "requests", "telnetlib"},
		BlockedFunctions: []string{"eval", "os.system"}, BlockedAttributes: []string{"__globals__"},
		AllowedVariables: []string{"x", "df_*"}, PipPackages: []string{"numpy", "scikit-learn"},
		Magics: map[string]string{"pip": Allowed, "shell": Refused}, Commands: []string{"ls", "git"},
	}
	ci := base
	ci.AllowedModules, ci.Commands = []string{"pandas.*"}, nil
	ci.Magics = map[string]string{"pip": Allowed, "shell": Allowed}
	for principal, want := range map[string]Rules{
		"": base, "alice": base, "ci": ci,
		"https://issuer.example|bob":   {AllowedModules: []string{}},
		"https://issuer.example|admin": {},
		"https://issuer.example":       base,
	} {
		diff := cmp.Diff(want, b.Rules(principal))
		expect(t, diff == "", "%q (-want +got):\n%s", principal, diff)
	}
	if b.None() || b.Principals() != 3 {
		t.Error(b.None(), b.Principals())
	}
	text := string(b.of("https://issuer.example|bob").encoded)
	expect(t, text == `{"allowed_modules":[],"magics":{"pip":"refuse","shell":"refuse"}}`, "an empty list of what is allowed is encoded as %s", text)
}

func TestTheMostSpecificPatternWins(t *testing.T) {
	b := parse(t, `
principals:
  "*": {allowed_modules: [star]}
  "a*": {allowed_modules: [a]}
  "*z": {allowed_modules: [z]}
  "a*m*z": {allowed_modules: [amz]}
  "a*z": {allowed_modules: [az]}
  "ab*": {allowed_modules: [ab]}
  "a**": {allowed_modules: [exact]}
`)
	for principal, want := range map[string]string{
		"q": "star", "aq": "a", "qz": "z", "az": "az", "acz": "az", "amz": "amz", "a-m-z": "amz", "abz": "az", "abq": "ab",
		"a": "a", "a**": "exact", "ab": "ab",
	} {
		got := b.Rules(principal).AllowedModules
		expect(t, len(got) == 1 && got[0] == want, "%q has the rules of %q, not %q", principal, got, want)
	}
	got := b.Rules("").AllowedModules
	expect(t, got == nil, "a caller without a name has those of a principal: %v", got)
}

// TestShellAndPipFollowTheRulesForCode: "!curl" must not be the way around a blocked
// module, unless the operator says so.
func TestShellAndPipFollowTheRulesForCode(t *testing.T) {
	refused, allowed := map[string]string{"pip": Refused, "shell": Refused}, map[string]string{"pip": Allowed, "shell": Refused}
	for text, want := range map[string]map[string]string{
		"blocked_modules: [socket]":                                          refused,
		"allowed_modules: []":                                                refused,
		"blocked_functions: [open]\nmagics: {pip: allow}":                    allowed,
		"blocked_attributes: [x]\npip_packages: [numpy]":                     {"shell": Refused},
		"blocked_modules: [socket]\ncommands: [ls]":                          {"pip": Refused},
		"blocked_modules: [socket]\ncommands: [ls]\nmagics: {shell: refuse}": refused,
		"allowed_variables: [x]":                                             nil,
		"blocked_modules: []":                                                nil,
	} {
		b, err := Parse("policy.yaml", []byte(text), Additions{})
		must(t, err)
		diff := cmp.Diff(want, b.base.rules.sealed().Magics)
		expect(t, diff == "", "%s (-want +got):\n%s", text, diff)
	}
}

func TestMatches(t *testing.T) {
	for _, test := range []struct {
		pattern, name string
		want          bool
	}{
		{"a", "a", true}, {"a", "ab", false}, {"a*", "a", true}, {"*a", "ba", true}, {"a*a", "a", false}, {"a*a", "aa", true},
		{"a*b*c", "a-b-b-c", true}, {"a*b*c", "a-c", false}, {"**", "x", true}, {"a*bc*c", "abc", false}, {"*.example|*", "https://x.example|é", true},
	} {
		got := matches(test.pattern, test.name)
		expect(t, got == test.want, "%q, %q: %t", test.pattern, test.name, got)
	}
}

func TestFilesThatAreEmpty(t *testing.T) {
	for _, text := range []string{"", "# nothing\n", "---\n", "{}", "null"} {
		b, err := Parse("policy.yaml", []byte(text), Additions{})
		expect(t, err == nil && b.None(), "%q: %v", text, err)
	}
	b := parse(t, "extends: defaults\nblocked_modules: []")
	expect(t, b.Rules("").BlockedFunctions != nil, "the defaults block no functions")
}

// TestMistakes: each error names file, line and key, and says what to write.
func TestMistakes(t *testing.T) {
	for name, test := range map[string]struct {
		text string
		want []string
	}{
		"unknown key":         {"\nblocked_module: [a]", []string{"policy.yaml, line 2: blocked_module", "unknown key", "blocked_modules"}},
		"unknown key below":   {"principals:\n  ci:\n    policies: {}", []string{"line 3: policies", "unknown key"}},
		"twice":               {"commands: [a]\ncommands: [b]", []string{"line 2: commands", "twice"}},
		"principal twice":     {"principals:\n  a: {}\n  a: {}", []string{"line 3: a", "twice"}},
		"no list":             {"blocked_modules: os", []string{"line 1: blocked_modules", "a list"}},
		"no list, or all":     {"allowed_modules: pandas", []string{"line 1: allowed_modules", "[pandas], or all"}},
		"all is no block":     {"blocked_modules: all", []string{"must be a list"}},
		"no value":            {"allowed_modules:", []string{"line 1: allowed_modules", "no value", "[]"}},
		"list in a list":      {"commands:\n- [ls]", []string{"line 2: commands", "one text"}},
		"null in a list":      {"commands:\n- ls\n-", []string{"line 3: commands", "one text"}},
		"no module":           {"blocked_modules:\n- os\n- import os", []string{"line 3: blocked_modules", `"import os"`, "pandas.*"}},
		"no function":         {"blocked_functions: [os..system]", []string{`"os..system"`, "os.exec*"}},
		"a call":              {"blocked_functions: [eval(x)]", []string{`"eval(x)"`}},
		"no attribute":        {"blocked_attributes: [a.b]", []string{`"a.b"`, "bare name"}},
		"no variable":         {"allowed_variables: [df-*]", []string{`"df-*"`, "df_*"}},
		"a version":           {"pip_packages: [numpy>=2]", []string{`"numpy>=2"`, "without a version"}},
		"a whole command":     {"commands: [git status]", []string{`"git status"`, "first word"}},
		"magics":              {"magics: allow", []string{"line 1: magics", "mapping"}},
		"a kind of magic":     {"magics:\n  conda: allow", []string{"line 2: magics: conda", "pip and shell"}},
		"neither":             {"magics: {pip: yes}", []string{"magics: pip", "allow or refuse"}},
		"extends nobody":      {"\nextends: default", []string{"line 2: extends", `no policy "default"`, "defaults, base"}},
		"extends two":         {"extends: [a, b]", []string{"line 1: extends", "one policy"}},
		"itself":              {"extends: base", []string{"line 1: extends", "circle: base → base"}},
		"a circle":            {"policies:\n  a: {extends: b}\n  b: {extends: a}", []string{"line 3: extends", "a → b → a"}},
		"a circle by base":    {"extends: a\npolicies: {a: {extends: base}}", []string{"circle", "a → base → a"}},
		"nothing inherited":   {"commands: [..., ls]", []string{"line 1: commands", `"..."`, "no extends"}},
		"all inherited":       {"extends: a\nallowed_modules: [..., os]\npolicies: {a: {}}", []string{"line 2: allowed_modules", "allows all"}},
		"a name that is ours": {"policies:\n  defaults: {}", []string{"line 2: policies: defaults", "taken"}},
		"no mapping":          {"- os", []string{"policy.yaml", "mapping"}},
		"no mapping below":    {"principals:\n  ci: strict", []string{"principals: ci", "mapping"}},
		"no YAML":             {"a: b: c", []string{"policy.yaml", "yaml"}},
		"two documents":       {"{}\n---\n{}", []string{"one YAML document"}},
		"merge":               {"policies:\n  a: &a {}\n  b: {<<: *a}", []string{"line 3", "plain name"}},
		"a list as key":       {"[a]: b", []string{"line 1", "plain name"}},
		"an alias of itself":  {"commands: &a [*a]", []string{"line 1: commands", "one text"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Parse("policy.yaml", []byte(test.text), Additions{})
			insist(t, err != nil, "it was taken")
			for _, want := range test.want {
				expect(t, strings.Contains(err.Error(), want), "%q lacks %q", err, want)
			}
		})
	}
}

func FuzzParse(f *testing.F) {
	f.Add(wholeFile)
	f.Add("commands: &a [*a]")
	f.Fuzz(func(t *testing.T, text string) {
		book, err := Parse("policy.yaml", []byte(text), Additions{})
		expect(t, (book == nil) != (err == nil), "%v, %v", book, err)
	})
}
