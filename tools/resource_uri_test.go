package tools

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"understudy/sessions"
)

func TestAddresses(t *testing.T) {
	const root = "understudy://interpreters/"
	for uri, want := range map[string]address{
		root + "7f":                                           {interpreter: "7f"},
		root + "7f/executions/12":                             {kind: anExecution, interpreter: "7f", execution: 12},
		root + "7f/executions/12/stdout":                      {kind: anOutput, interpreter: "7f", execution: 12},
		root + "7f/executions/1/stderr?from=-20":              {kind: anOutput, interpreter: "7f", execution: 1, stream: sessions.Stderr, lines: sessions.Range{From: -20}},
		root + "7f/executions/1/stdout?lines=5&match=a%2Bb+c": {kind: anOutput, interpreter: "7f", execution: 1, lines: sessions.Range{Lines: 5, Match: "a+b c"}},
		root + "7f/figures/a%2Fb.png":                         {kind: aFigure, interpreter: "7f", name: "a/b.png"},
		root + "7f/files":                                     {kind: aDirectory, interpreter: "7f"},
		root + "7f/files?path=a%2Fb":                          {kind: aDirectory, interpreter: "7f", name: "a/b"},
		root + "7f/files/a/%C3%A9%3Fb.csv?from=2":             {kind: aFile, interpreter: "7f", name: "a/é?b.csv", lines: sessions.Range{From: 2}},
		root + "7f/files//etc/passwd":                         {kind: aFile, interpreter: "7f", name: "/etc/passwd"},
		root + "7f/files/../x":                                {kind: aFile, interpreter: "7f", name: "../x"},
	} {
		got, err := parseAddress(uri)
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(address{})); diff != "" || err != nil {
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
		root + "7f/executions/1/stdout?from=x": sessions.CodeInvalid, root + "7f/executions/1/stdout?from=1;x": sessions.CodeInvalid, readURI: sessions.CodeNotFound,
	} {
		if a, err := parseAddress(uri); sessions.CodeOf(err) != code {
			t.Errorf("%.100s: %+v %v", uri, a, err)
		}
	}
}

// FuzzAddresses: what we write, we read.
func FuzzAddresses(f *testing.F) {
	f.Add("7f", "a b/é?.csv", 3, -2, 5, "x&y=#")
	f.Fuzz(func(t *testing.T, id, name string, execution, from, lines int, match string) {
		r := sessions.Range{From: from, Lines: max(0, lines), Match: match}
		uris := map[string]address{
			outputURI(id, execution, sessions.Stderr): {kind: anOutput, execution: execution, stream: sessions.Stderr},
			withLines(fileURI(id, name), r):           {kind: aFile, name: name, lines: r},
			figureURI(id, name):                       {kind: aFigure, name: name},
		}
		if name != "." {
			uris[directoryURI(id, name)] = address{kind: aDirectory, name: name}
		}
		for uri, want := range uris {
			want.interpreter = id
			if got, err := parseAddress(uri); id != "" && len(uri) < 16<<10 && (err != nil || got != want) {
				t.Errorf("%s: %+v %v", uri, got, err)
			}
		}
	})
}
