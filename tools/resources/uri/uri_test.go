package uri

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"understudy/sessions"
)

func TestAddresses(t *testing.T) {
	const root = "understudy://interpreters/"
	for uri, want := range map[string]Address{
		root + "7f":                                           {Interpreter: "7f"},
		root + "7f/executions/12":                             {Kind: Execution, Interpreter: "7f", Execution: 12},
		root + "7f/executions/12/stdout":                      {Kind: Output, Interpreter: "7f", Execution: 12},
		root + "7f/executions/1/stderr?from=-20":              {Kind: Output, Interpreter: "7f", Execution: 1, Stream: sessions.Stderr, Lines: sessions.Range{From: -20}},
		root + "7f/executions/1/stdout?lines=5&match=a%2Bb+c": {Kind: Output, Interpreter: "7f", Execution: 1, Lines: sessions.Range{Lines: 5, Match: "a+b c"}},
		root + "7f/figures/a%2Fb.png":                         {Kind: Figure, Interpreter: "7f", Name: "a/b.png"},
		root + "7f/files":                                     {Kind: Directory, Interpreter: "7f"},
		root + "7f/files?path=a%2Fb":                          {Kind: Directory, Interpreter: "7f", Name: "a/b"},
		root + "7f/files/a/%C3%A9%3Fb.csv?from=2":             {Kind: File, Interpreter: "7f", Name: "a/é?b.csv", Lines: sessions.Range{From: 2}},
		root + "7f/files//etc/passwd":                         {Kind: File, Interpreter: "7f", Name: "/etc/passwd"},
		root + "7f/files/../x":                                {Kind: File, Interpreter: "7f", Name: "../x"},
	} {
		got, err := Parse(uri)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v\n%s", uri, err, diff)
		}
	}
}

func TestAddressesOfNothing(t *testing.T) {
	const root = "understudy://interpreters/"
	for uri, code := range map[string]sessions.Code{
		"": sessions.CodeNotFound, "file:///etc/passwd": sessions.CodeNotFound, root: sessions.CodeNotFound, "understudy://other/7f": sessions.CodeNotFound,
		root + "7f/": sessions.CodeNotFound, root + "7f/executions": sessions.CodeNotFound, root + "7f/executions/x": sessions.CodeNotFound,
		root + "7f/executions/1/stdin": sessions.CodeNotFound, root + "7f/executions/1/stdout/x": sessions.CodeNotFound,
		root + "7f/figures": sessions.CodeNotFound, root + "7f/figures/a/b": sessions.CodeNotFound, root + strings.Repeat("x", 20_000): sessions.CodeNotFound,
		root + "%zz": sessions.CodeInvalid, root + "7f?x=1": sessions.CodeInvalid, root + "7f/files?from=1": sessions.CodeInvalid,
		root + "7f/files/a?form=1": sessions.CodeInvalid, root + "7f/executions/1/stdout?lines=0": sessions.CodeInvalid,
		root + "7f/executions/1/stdout?from=x": sessions.CodeInvalid, root + "7f/executions/1/stdout?from=1;x": sessions.CodeInvalid, "understudy:read": sessions.CodeNotFound,
	} {
		if a, err := Parse(uri); sessions.CodeOf(err) != code {
			t.Errorf("%.100s: %+v %v", uri, a, err)
		}
	}
}

// FuzzAddresses: what we write, we read.
func FuzzAddresses(f *testing.F) {
	f.Add("7f", "a b/é?.csv", 3, -2, 5, "x&y=#")
	f.Fuzz(func(t *testing.T, id, name string, execution, from, lines int, match string) {
		r := sessions.Range{From: from, Lines: max(0, lines), Match: match}
		uris := map[string]Address{
			OfOutput(id, execution, sessions.Stderr): {Kind: Output, Execution: execution, Stream: sessions.Stderr},
			WithLines(OfFile(id, name), r):           {Kind: File, Name: name, Lines: r},
			OfArtifact(id, name):                     {Kind: Artifact, Name: name},
		}
		if name != "." {
			uris[OfDirectory(id, name)] = Address{Kind: Directory, Name: name}
		}
		for uri, want := range uris {
			want.Interpreter = id
			if got, err := Parse(uri); id != "" && len(uri) < 16<<10 && (err != nil || got != want) {
				t.Errorf("%s: %+v %v", uri, got, err)
			}
		}
	})
}
