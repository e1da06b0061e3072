package tools

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp/cmpopts"

	"understudy/sessions"
)

// installing answers each installation with a result.
func installing(change func(*sessions.Result)) (*fakeManager, *sessions.RunRequest) {
	var asked sessions.RunRequest
	return &fakeManager{run: func(_ context.Context, _ sessions.Client, r sessions.RunRequest) (*sessions.Result, error) {
		asked = r
		return example(func(r *sessions.Result) {
			r.Kind = sessions.RunsInstall
			change(r)
		}), nil
	}}, &asked
}

func TestAnInstallIsAsked(t *testing.T) {
	m, asked := installing(func(r *sessions.Result) {
		r.ExitCode, r.Stdout = exit(0), "Collecting polars\nSuccessfully installed polars-1.2\n"
		r.Result = json.RawMessage(`{"installed": [{"name": "numpy", "version": "2.1", "before": "2.0"}, {"name": "polars", "version": "1.2"}]}`)
	})
	for hosts, o := range map[string]InstallOptions{
		"": {}, `,"hosts":[]`: {Restricted: true}, `,"hosts":["pypi.org"]`: {Restricted: true, Hosts: []string{"pypi.org"}},
	} {
		c := connect(t, "tester", m, Options{Install: &o})
		answer := call(t, c, "manage_interpreters", `{"operation": "install", "packages": ["polars>=1", " ./it's.whl "], "interpreter_id": "x", "wait":0.01}`)
		want := sessions.RunRequest{
			Kind: sessions.RunsInstall, Code: `%pip install 'polars>=1' './it'"'"'s.whl'`, InterpreterID: "x", Wait: 10 * time.Millisecond,
			Arguments: json.RawMessage(`{"packages":["polars\u003e=1","./it's.whl"]` + hosts + `}`),
		}
		same(t, want, *asked, cmpopts.IgnoreFields(sessions.RunRequest{}, "Progress", "Asking"))
		got := text(t, answer)
		expect(t, !answer.IsError && strings.HasPrefix(got, "Installed numpy 2.1 (was 2.0), polars 1.2."), "%+v", got)
		record := answer.StructuredContent.(map[string]any)
		expect(t, record["stdout"] == "Collecting polars\nSuccessfully installed polars-1.2\n", "the record: %v", record)
	}
}

func TestInstallsThatComeToNothing(t *testing.T) {
	for want, change := range map[string]func(*sessions.Result){
		"Nothing was installed: what was asked for is there already.": func(r *sessions.Result) {
			r.ExitCode, r.Stdout, r.Result = exit(0), "Requirement already satisfied\n", json.RawMessage(`{"installed": []}`)
		},
		"…line\nERROR: no\n[note] no network\n[exit code] 1": func(r *sessions.Result) {
			r.Status, r.ExitCode, r.Stdout, r.Result = sessions.StatusError, exit(1), strings.Repeat("line\n", 2000)+"ERROR: no\n", json.RawMessage(`{"installed": []}`)
			r.Notes = []string{"no network"}
		},
		"[timeout] The installation was stopped at its time limit of 1 hour; install fewer packages at a time, or ask the user to raise --timeout.": func(r *sessions.Result) {
			r.Status, r.Stdout = sessions.StatusTimeout, ""
		},
		"Collecting polars\n[running]": func(r *sessions.Result) { r.Status, r.Stdout = sessions.StatusRunning, "Collecting polars\n" },
	} {
		m, _ := installing(change)
		c := connect(t, "tester", m, Options{Install: &InstallOptions{}})
		answer := call(t, c, "manage_interpreters", `{"operation": "install", "packages": ["polars"]}`)
		got := text(t, answer)
		for _, part := range strings.SplitAfter(want, "\n") {
			expect(t, strings.Contains(got+"\n", part), "%q is not in:\n%s", part, got)
		}
	}
}

func TestInstallsThatAreRefused(t *testing.T) {
	options := map[string]Options{
		"free":   {Install: &InstallOptions{}},
		"off":    {},
		"cli":    {Mode: ModeCLIOnly, Install: &InstallOptions{}},
		"policy": {Rules: &Rules{NoPip: true}, Install: &InstallOptions{}},
	}
	for name, cases := range map[string]map[string]string{
		"free": {
			`[]`:                          `argument "packages" is required for install operation`,
			`null`:                        `argument "packages" is required`,
			`["a", " "]`:                  "empty item",
			`["--index-url=https://x.y"]`: `takes none`,
			`["-r needs.txt"]`:            `takes none`,
			`["a\nb"]`:                    "control character",
			`["http://x.y/a.whl"]`:        "only those with https://",
			`["a @ file:///etc/a.whl"]`:   "give its path",
			`["git+https://x.y/a"]`:       "only those with https://",
			`["git+ssh://git@x.y/a"]`:     "only those with https://",
			`["` + strings.Repeat("a", longestPackage+1) + `"]`: `argument "packages" has an item of 1001 bytes`,
			`["a"` + strings.Repeat(`,"a"`, mostPackages) + `]`: "51 items, and at most 50",
			`"polars"`:      `argument "packages" must be an array of strings, not the string "polars"`,
			`["a", 3]`:      `argument "packages" must hold strings only`,
			`{"polars": 1}`: `an array of strings`,
		},
		"off":    {`null`: "without --allow-install"},
		"cli":    {`null`: "--mode cli-only"},
		"policy": {`null`: "policy of this server"},
	} {
		c := connect(t, "tester", &fakeManager{}, options[name])
		for packages, want := range cases {
			answer := call(t, c, "manage_interpreters", `{"operation": "install", "packages": `+packages+`}`)
			expect(t, answer.IsError && strings.Contains(text(t, answer), want), "%s %.60s: %s", name, packages, text(t, answer))
		}
	}
}

func TestWhatMayBeInstalled(t *testing.T) {
	for _, each := range []string{
		"polars", "polars[all]>=1,<2; python_version>'3'", "./a.whl", "sub/b.whl", `C:\a.whl`, "a~=1.0", "a @ ./b.whl",
		"https://pypi.org/a.whl", "a@https://PyPI.org:443/a.whl", "https://x.example.com:8443/a.whl",
	} {
		err := check(each)
		expect(t, err == nil, "%s: %v", each, err)
	}
}

func TestInstallIsAdvertisedWhereItIsAllowed(t *testing.T) {
	for name, o := range map[string]Options{
		"yes": {Install: &InstallOptions{}}, "no": {}, "not by the policy": {Install: &InstallOptions{}, Rules: &Rules{NoPip: true}},
		"not for commands": {Install: &InstallOptions{}, Mode: ModeCLIOnly},
	} {
		tool := newToolbox(nil, nil, o).manageInterpretersTool().Tool
		told := strings.Contains(tool.Description, "- install: ")
		expect(t, told == (name == "yes") && strings.Contains(string(tool.RawInputSchema), `"packages"`) == told,
			"%s: %s\n%s", name, tool.Description, tool.RawInputSchema)
	}
}
